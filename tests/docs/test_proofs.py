"""Every mechanism has a proof note, and every note proves today's code."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from crestline.mechanisms.catalogue import CATALOGUE, CatalogueEntry

ROOT = Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("fingerprint", ROOT / "scripts" / "fingerprint.py")
assert _spec is not None
assert _spec.loader is not None
_tool = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_tool)

NOTES = sorted(note for note in (ROOT / "docs" / "proofs").glob("*.md") if note.stem != "README")
HEADINGS = ("## Claim", "## Preconditions", "## Pseudocode", "## Proof", "## Numerics")


@pytest.mark.parametrize("note", NOTES, ids=lambda note: note.stem)
def test_a_note_proves_the_code_of_today(note: Path) -> None:
    assert not _tool.stale(note), f"read {note.name} again, then: python scripts/fingerprint.py --renew {note}"


def test_the_first_page_of_the_proofs_names_every_note() -> None:
    page = (ROOT / "docs" / "proofs" / "README.md").read_text()
    assert [note.name for note in NOTES if f"]({note.name})" not in page] == []


@pytest.mark.parametrize("line", CATALOGUE, ids=lambda line: line.name)
def test_every_mechanism_has_a_note(line: CatalogueEntry) -> None:
    module = f"src/crestline/mechanisms/{line.module.replace('.', '/')}.py"
    notes = [note for note in NOTES if f"Proves: {module}\n" in note.read_text()]
    assert notes, f"no note in docs/proofs/ has a line 'Proves: {module}'"
    for heading in HEADINGS:
        assert heading in notes[0].read_text(), f"{notes[0].name} lacks {heading!r}"


@pytest.mark.parametrize("line", CATALOGUE, ids=lambda line: line.name)
def test_every_mechanism_has_the_five_header_lines(line: CatalogueEntry) -> None:
    text = (ROOT / "src" / "crestline" / "mechanisms" / f"{line.module.replace('.', '/')}.py").read_text()
    places = [text.find(f"\n{word}") for word in ("Seed ", "Guarantee ", "Assumes ", "Numerics ", "Proof note ")]
    assert -1 not in places
    assert places == sorted(places)


@pytest.mark.parametrize("line", CATALOGUE, ids=lambda line: line.name)
def test_every_mechanism_has_a_reference_page(line: CatalogueEntry) -> None:
    pages = (ROOT / "docs" / "reference" / "mechanisms").glob("*.md")
    headings = [page.read_text().splitlines()[0].removeprefix("# ").split(", ") for page in pages]
    assert any(line.name in names for names in headings), f"no page in docs/reference/mechanisms/ is headed {line.name}"


BEFORE = (
    '"""Doc."""\nfrom a.b import c, d\n\nX = 1  # why\n\n'
    "def f():\n    import e\n    return c\n\ndef g():\n    return 2\n"
)


def package(folder: Path, **modules: str) -> None:
    for name, text in modules.items():
        (folder / "src").mkdir(exist_ok=True)
        (folder / "src" / f"{name}.py").write_text(text)
    _tool._elsewhere.cache_clear()


@pytest.fixture
def note(tmp_path: Path) -> Path:
    """A note that was read with the module `m` as it is in BEFORE."""
    package(tmp_path, m=BEFORE)
    note = tmp_path / "note.md"
    note.write_text("# A note\n\nProves: src/m.py\n\n## Claim\n")
    _tool.renew(note, tmp_path)
    assert _tool.stale(note, tmp_path) == []
    return note


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""Doc."""', '"""Other words."""\n'),
        ("  # why", ""),
        ("from a.b import c, d", "from a import c\nfrom b.a import d"),
        ("    import e\n", '    """Says more."""\n'),
    ],
)
def test_a_change_of_words_or_imports_leaves_a_note_fresh(note: Path, old: str, new: str) -> None:
    package(note.parent, m=BEFORE.replace(old, new))
    assert _tool.stale(note, note.parent) == []


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ("return c", "return d", ["f"]),
        ("X = 1", "X = 2", ["X"]),
        ("def g", "def h", ["g", "h"]),
        ("def g():\n    return 2\n", "", ["g"]),
        ("return 2\n", "return 2\n\nf = g\n", ["f"]),
    ],
)
def test_a_change_of_code_makes_a_note_stale(note: Path, old: str, new: str, names: list[str]) -> None:
    package(note.parent, m=BEFORE.replace(old, new))
    assert _tool.stale(note, note.parent) == names


def test_a_definition_that_moves_leaves_a_note_fresh_until_it_changes(note: Path) -> None:
    moved = "def g():\n    return 2\n"
    package(note.parent, m=BEFORE.replace(moved, ""), n=moved)
    assert _tool.stale(note, note.parent) == []
    package(note.parent, n=moved.replace("2", "3"))
    assert _tool.stale(note, note.parent) == ["g"]


def test_a_note_follows_its_module_to_another_name(note: Path) -> None:
    (note.parent / "src" / "m.py").unlink()
    package(note.parent, other=BEFORE)
    assert _tool.stale(note, note.parent) == []
    _tool.renew(note, note.parent)
    assert "Proves: src/other.py\n" in note.read_text()
    assert _tool.stale(note, note.parent) == []
