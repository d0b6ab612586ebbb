"""Every mechanism has a proof note, and every note proves today's code."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from crestline.mechanisms.catalogue import CATALOGUE, Entry

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
def test_every_mechanism_has_a_note(line: Entry) -> None:
    module = f"src/crestline/mechanisms/{line.module.replace('.', '/')}.py"
    notes = [note for note in NOTES if f"Fingerprint: {module} " in note.read_text()]
    assert notes, f"no note in docs/proofs/ has a line 'Fingerprint: {module} …'"
    for heading in HEADINGS:
        assert heading in notes[0].read_text(), f"{notes[0].name} lacks {heading!r}"


@pytest.mark.parametrize("line", CATALOGUE, ids=lambda line: line.name)
def test_every_mechanism_has_the_five_header_lines(line: Entry) -> None:
    text = (ROOT / "src" / "crestline" / "mechanisms" / f"{line.module.replace('.', '/')}.py").read_text()
    places = [text.find(f"\n{word}") for word in ("Seed ", "Guarantee ", "Assumes ", "Numerics ", "Proof note ")]
    assert -1 not in places
    assert places == sorted(places)


@pytest.mark.parametrize("line", CATALOGUE, ids=lambda line: line.name)
def test_every_mechanism_has_a_reference_page(line: Entry) -> None:
    pages = (ROOT / "docs" / "reference" / "mechanisms").glob("*.md")
    headings = [page.read_text().splitlines()[0].removeprefix("# ").split(", ") for page in pages]
    assert any(line.name in names for names in headings), f"no page in docs/reference/mechanisms/ is headed {line.name}"


def test_a_change_of_code_makes_a_note_stale(tmp_path: Path) -> None:
    module = tmp_path / "m.py"
    module.write_text('"""Doc."""\nX = 1  # why\n')
    before = _tool.fingerprint(module)
    module.write_text('"""Other words."""\n\nX = 1\n')
    assert _tool.fingerprint(module) == before
    module.write_text('"""Doc."""\nX = 2\n')
    assert _tool.fingerprint(module) != before


def test_a_change_of_imports_alone_leaves_a_note_fresh(tmp_path: Path) -> None:
    module = tmp_path / "m.py"
    module.write_text("from a.b import c, d\n\ndef f():\n    import e\n    return c\n\ndef g():\n    import h\n")
    before = _tool.fingerprint(module)
    module.write_text("from a import c\nfrom b.a import d\n\ndef f():\n    return c\n\ndef g():\n    import i\n")
    assert _tool.fingerprint(module) == before
    module.write_text("from a.b import c, d\n\ndef f():\n    import e\n    return d\n\ndef g():\n    import h\n")
    assert _tool.fingerprint(module) != before
