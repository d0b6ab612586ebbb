"""Every Python example of the docs runs, page by page, in an empty folder; `scripts/newcomer` types in the rest.

A fence that says `python no-run` is left alone; the page must say why on the line above it. A fence that shows how a
mechanism is made (`Name(k, k_bar, …)`) is held against the real signature instead.
"""

from __future__ import annotations

import inspect
import re
from fractions import Fraction
from pathlib import Path

import pytest

from crestline import mechanisms
from crestline.mechanisms.catalogue import CATALOGUE

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^```python *(?P<mark>[^\n]*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


MAKERS = (*(f"{line.name}(" for line in CATALOGUE), "NoisyCounts(")


def blocks(page: Path) -> list[tuple[str, str]]:
    """The kind of each fence (run, no-run, signature) and its code."""
    found = []
    for match in FENCE.finditer(page.read_text()):
        kind = "signature" if match["code"].startswith(MAKERS) else match["mark"].strip() or "run"
        found.append((kind, match["code"]))
    return found


def parameters(text: str) -> list[tuple[str, object]]:
    """Parameters of `Name(a, b=1, *, c)` as text, each with what it is unless given."""
    written = text[text.index("(") + 1 : text.rindex(")")].rstrip().rstrip(",")
    made = eval(f"lambda {' '.join(written.split())}: None")  # of our own pages
    return [(one.name, one.default) for one in inspect.signature(made).parameters.values()]


def told(default: object) -> object:
    """A default as a page writes it: numbers are numbers, however the code holds them."""
    try:
        return default if default is inspect.Parameter.empty or isinstance(default, bool) else float(str(default))
    except ValueError:
        return float(Fraction(str(default))) if isinstance(default, Fraction) else default


WITH_CODE = [page for page in PAGES if any(kind == "run" for kind, _ in blocks(page))]
SIGNATURES = [
    (page, line)
    for page in PAGES
    for kind, code in blocks(page)
    if kind == "signature"
    for line in re.findall(r"^\w+\(.*?\)$", code, re.MULTILINE | re.DOTALL)
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder: a page makes the data that it speaks of (`cl.examples`)."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.long
@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_examples_of_a_page_run(page: Path, folder: Path) -> None:
    names: dict[str, object] = {"__name__": "__main__"}
    for mark, code in blocks(page):
        if mark != "run":
            continue
        exec(compile(code, str(page.relative_to(ROOT)), "exec"), names)


@pytest.mark.parametrize(("page", "line"), SIGNATURES, ids=lambda value: getattr(value, "stem", None))
def test_a_shown_signature_is_the_real_one(page: Path, line: str) -> None:
    name = line[: line.index("(")]
    real = inspect.signature(getattr(mechanisms, name))
    shown = [(name, told(default)) for name, default in parameters(line)]
    assert shown == [(one.name, told(one.default)) for one in real.parameters.values()]


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} links to {target}"
