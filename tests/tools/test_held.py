"""Functions and cases that a gate holds no more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.held import main


@pytest.mark.parametrize(
    ("now", "options", "last"),
    [
        (["a.py::test_one[2]", "a.py::test_new"], [], "0 of 3 cases, in 0 names, are held no more"),
        (["a.py::test_one[2]", "a.py::test_new"], ["--cases"], "1 of 3 cases, in 1 names, are held no more"),
        (["a.py::test_new"], [], "2 of 3 cases, in 1 names, are held no more"),
    ],
)
def test_functions_are_held_by_one_case_and_under_a_new_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], now: list[str], options: list[str], last: str
) -> None:
    before = ["a.py::test_one[1]", "a.py::test_one[2]", "a.py::test_old"]
    files = [tmp_path / name for name in ("before.txt", "now.txt", "renamed.csv")]
    for path, tests in zip(files, (before, now), strict=False):
        path.write_text("".join(f"tests/{test}\n" for test in tests) + "\n3 tests collected\n")
    files[2].write_text("tests/a.py::test_old,tests/a.py::test_new\n")
    assert main([*map(str, files), *options]) == int(not last.startswith("0"))
    assert capsys.readouterr().out.splitlines()[-1] == last
