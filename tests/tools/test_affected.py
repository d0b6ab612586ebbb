"""What a change reaches: tests by imports, strings and folders; and the suites of engines on a branch."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools.affected import ENGINES, EVERYTHING, ROOT, Graph, changed_since, start_of_branch

FILES = {
    "src/crestline/__init__.py": "HOMES = {'top': 'crestline.session'}\n"
    "if TYPE_CHECKING:\n    from crestline.session import top",
    "src/crestline/session.py": "from crestline.ledger import charge",
    "src/crestline/ledger.py": "charge = 1",
    "src/crestline/guarantee.py": "if TYPE_CHECKING:\n    from crestline.ledger import charge",
    "src/crestline/web.py": "STYLE = 'look.css'",
    "src/crestline/cli/__init__.py": "",
    "src/crestline/cli/main.py": "COMMANDS = ['ask']",
    "src/crestline/cli/ask.py": "import crestline.session",
    "tests/conftest.py": "pytest_plugins = ['tests.servers']",
    "tests/servers.py": "",
    "tests/ledger/conftest.py": "import crestline.ledger",
    "tests/ledger/test_sums.py": "",
    "tests/test_names.py": "import crestline as cl\ncl.top",
    "tests/test_guarantee.py": "from crestline.guarantee import pure",
    "tests/test_commands.py": "run(['-m', 'crestline'])",
    "tests/test_pages.py": "def test(): from crestline.web import STYLE",
    "tests/test_docs.py": "DOCS = ROOT / 'docs'",
    "tests/test_house.py": "SOURCE = ROOT / 'src'",
}


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return Graph(tmp_path)


@pytest.mark.parametrize(
    ("changed", "reached"),
    [
        ("src/crestline/guarantee.py", "test_guarantee"),
        ("src/crestline/ledger.py", "ledger/test_sums test_commands test_names"),
        ("src/crestline/cli/ask.py", "test_commands"),
        ("src/crestline/look.css", "test_pages"),
        ("docs/proofs/one.md", "test_docs"),
        ("tests/ledger/conftest.py", "ledger/test_sums"),
        ("tests/test_names.py", "test_names"),
        ("CITATION.cff", ""),
    ],
)
def test_a_change_reaches_tests(graph: Graph, changed: str, reached: str) -> None:
    by_source = {"tests/test_house.py"} if changed.startswith("src/") else set()
    assert set(graph.affected([changed])) == by_source | {f"tests/{name}.py" for name in reached.split()}


@pytest.mark.parametrize("changed", [EVERYTHING, "tests/conftest.py", "tests/servers.py"])
def test_what_all_tests_share_reaches_them_all(graph: Graph, changed: str) -> None:
    assert len(graph.affected([changed])) == 7


def test_the_suites_of_engines_are_there_and_are_reached_by_their_sources() -> None:
    assert all((ROOT / name).is_file() for name in ENGINES)
    graph = Graph()
    assert set(ENGINES) <= set(graph.affected(["src/crestline/sources/table.py"]))
    assert not set(ENGINES) & set(graph.affected(["src/crestline/web/app.py"]))


def test_a_branch_is_what_differs_from_where_it_left_main(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        names = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        subprocess.run(["git", "-C", str(tmp_path), *names, *arguments], check=True, capture_output=True)

    git("init", "--initial-branch=main")
    git("commit", "--allow-empty", "--message=one")
    assert start_of_branch(tmp_path) is None
    git("checkout", "-b", "other")
    (tmp_path / "a.py").touch()
    (tmp_path / "pyproject.toml").write_text("[tool.ruff]\nline-length = 120\n")
    git("add", "a.py", "pyproject.toml")
    git("commit", "--message=two")
    (tmp_path / "b.py").touch()
    base = start_of_branch(tmp_path)
    assert base is not None
    assert changed_since(base, tmp_path) == {"a.py", "b.py", "pyproject.toml"}
    (tmp_path / "pyproject.toml").write_text("[tool.pytest]\naddopts = '-q'\n")
    assert EVERYTHING in changed_since(base, tmp_path)
