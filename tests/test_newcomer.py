"""A newcomer's first minutes, in a virtual environment of their own: install, tour, ask, keep books, pipe.

What is installed there is the wheel of this checkout (tools/newcomer/fresh.py).
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools.newcomer.__main__ import typed_in
from tools.newcomer.fresh import environment, run
from tools.newcomer.pages import ROOT, blocks, pages, silent

pytestmark = pytest.mark.engines

QUICK = ("docs/tutorial/first-question.md", "docs/tutorial/budgets.md", "docs/how-to/sums.md")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of a fresh environment that holds the wheel."""
    return environment(tmp_path_factory.mktemp("newcomer"))


@pytest.mark.slow
@pytest.mark.parametrize("page", QUICK)
def test_a_page_can_be_typed_in(page: str, installed: Path, tmp_path: Path) -> None:
    """`scripts/newcomer` does so with all of them."""
    assert typed_in(ROOT / page, installed, tmp_path) == len(blocks((ROOT / page).read_text()))


def test_what_is_not_typed_in_says_why() -> None:
    assert {page.name: silent(page.read_text()) for page in pages() if silent(page.read_text())} == {}


def test_commands_are_told_from_what_they_print() -> None:
    page = """
```console
$ cat > a.txt <<'END'
> one
> END
$ crestline top a.csv \\
    -k 3
nothing
```

Not here:

```console no-run
$ rm -rf /
```

```python
x = 1
```
"""
    typed = blocks(page)
    assert [block.kind for block in typed] == ["console", "python"]
    assert typed[0].code == "cat > a.txt <<'END'\none\nEND\ncrestline top a.csv \\\n    -k 3\n"
    assert silent(page) == []
    assert silent("# Title\n\n```console no-run\n$ x\n```\n") == ["```console no-run"]


@pytest.mark.slow
def test_a_newcomers_first_minutes(installed: Path, tmp_path: Path) -> None:
    crestline, python = str(installed / "crestline"), str(installed / "python")
    where = run([python, "-c", "import crestline; print(crestline.__file__)"], tmp_path).stdout
    assert str(installed.parent) in where, "the installed package is used, not the source tree"

    assert "Living with Fabry disease" in run([crestline, "demo"], tmp_path).stdout

    rows = "".join(f"u{n},tea\nu{n},coffee\n" for n in range(800))
    (tmp_path / "drinks.csv").write_text("person,drink\n" + rows)
    ask = [crestline, "top", "drinks.csv", "--user", "person", "--item", "drink", "-k", "2"]
    ask += ["--epsilon", "1", "--delta", "1e-6"]
    first = json.loads(run(ask, tmp_path).stdout)
    assert sorted(first["items"]) == ["coffee", "tea"]

    run([crestline, "ledger", "create", "ledger.db", "--epsilon", "2", "--delta", "1e-5"], tmp_path)
    paid = json.loads(run([*ask, "--ledger", "ledger.db"], tmp_path).stdout)
    again = json.loads(run([*ask, "--ledger", "ledger.db"], tmp_path).stdout)
    assert (paid["stored"], again["stored"]) == (False, True)
    assert paid["items"] == again["items"]
    run([crestline, "ledger", "verify", "ledger.db"], tmp_path)

    with pytest.raises(RuntimeError, match="git clone"):  # the experiments are not in the wheel
        run([crestline, "reproduce", "--list"], tmp_path)

    piped = run([python, "-m", "json.tool"], tmp_path, text=run(ask, tmp_path).stdout)
    assert json.loads(piped.stdout)["question"]["k"] == 2
