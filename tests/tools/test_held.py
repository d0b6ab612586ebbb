"""Functions and cases that a gate holds no more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.held import RENAMED, main, read_map

BEFORE = ["a.py::test_one[1]", "a.py::test_one[2]", "a.py::test_old", "a.py::test_gone"]
MAP = """tests/a.py,tests/b.py,moved
tests/b.py::test_old,tests/b.py::test_new,plain words
tests/b.py::test_gone,,a rule that is gone
"""


@pytest.mark.parametrize(
    ("now", "options", "last"),
    [
        (["b.py::test_one[2]", "b.py::test_new"], [], "0 of 4 cases, in 0 names"),
        (["b.py::test_one[2]", "b.py::test_new"], ["--cases"], "1 of 4 cases, in 1 names"),
        (["b.py::test_one[2]", "b.py::test_one[3]", "b.py::test_new"], ["--cases"], "0 of 4 cases, in 0 names"),
        (["b.py::test_one[2]", "a.py::test_old"], [], "0 of 4 cases, in 0 names"),
        (["b.py::test_new"], [], "2 of 4 cases, in 1 names"),
    ],
)
def test_functions_are_held_by_one_case_and_under_a_new_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], now: list[str], options: list[str], last: str
) -> None:
    files = [tmp_path / name for name in ("before.txt", "now.txt", "renamed.csv")]
    for path, tests in zip(files, (BEFORE, now), strict=False):
        path.write_text("".join(f"tests/{test}\n" for test in tests) + "\n3 tests collected\n")
    files[2].write_text(MAP)
    assert main([*map(str, files), *options]) == int(not last.startswith("0"))
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == f"{last}, are held no more"
    assert "    1  tests/a.py::test_gone: a rule that is gone" in lines


def test_the_map_names_tests_that_are_there() -> None:
    root = RENAMED.parents[1]
    renamed = read_map(RENAMED)
    for old, (new, reason) in renamed.items():
        assert reason, old
        file = new.partition("::")[0]
        moved = any(other.partition("::")[0] == file for other in renamed)  # once more, as a whole or one by one
        assert not file or (root / file).is_file() or moved, new
