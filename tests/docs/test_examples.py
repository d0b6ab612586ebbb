"""Every Python example of the docs runs, page by page, in an empty folder; `scripts/newcomer` types in the rest.

A fence that says `python no-run` is left alone; the page must say why on the line above it. A fence that shows how a
mechanism is made (`Name(k, k_bar, …)`) is held against the real signature instead.
"""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
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
        for statement in ast.parse(code).body:
            text = ast.unparse(statement)
            stated = stated_value(statement, code)
            if stated is None:
                exec(compile(text, str(page.relative_to(ROOT)), "exec"), names)
            else:
                assert eval(text, names) == ast.literal_eval(stated), f"{text}  # {stated}"


def stated_value(statement: ast.stmt, code: str) -> str | None:
    """The value that a comment after an expression states, such as `True` or `10`; None where it states none."""
    if not isinstance(statement, ast.Expr) or statement.end_lineno is None:
        return None
    rest = code.splitlines()[statement.end_lineno - 1].encode()[statement.end_col_offset :].decode()
    found = re.match(r"\s*# (True|False|None|-?\d+)(?=$|[:;,.])", rest)
    is_print = ast.unparse(statement).startswith("print(")
    return None if found is None or is_print else found[1]


def test_what_a_comment_states_is_found() -> None:
    found = {"a.b  # True: because": "True", "len(a)  # 10": "10", "a  # 10 of them": None, "print(a)  # 1": None}
    for code, stated in found.items():
        assert stated_value(ast.parse(code).body[0], code) == stated, code


def test_the_readme_lists_every_extra() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"].keys() - {"dev"}
    table = (ROOT / "README.md").read_text().partition("## Extras")[2].partition("\n## ")[0]
    assert set(re.findall(r"`([a-z0-9-]+)`", table.partition("In a checkout")[0])) == extras


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
