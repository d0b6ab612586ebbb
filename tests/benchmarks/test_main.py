"""The benchmarks run, keep their figures, and make their page from them alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.__main__ import main
from benchmarks.measuring import Row
from benchmarks.page import TABLES

QUICK = ("restricted", "full_domain", "canonical", "scaling")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    assert main(["--quick", "--folder", str(folder), "--only", *QUICK]) == 0
    return folder


@pytest.mark.parametrize("name", QUICK)
def test_a_table_keeps_its_figures_and_stands_on_the_page(results: Path, name: str) -> None:
    kept = json.loads((results / "performance" / f"{name}.json").read_text())
    page = (results / "performance.md").read_text()
    assert all(row["median"] > 0 and row["low"] <= row["median"] <= row["high"] for row in kept["rows"])
    assert f"## {TABLES[name].TITLE}" in page
    assert kept["command"] in page
    assert kept["machine"] in page
    assert all(row["who"] in page for row in kept["rows"])


def test_every_row_says_how_it_draws(results: Path) -> None:
    for name in QUICK:
        rows = json.loads((results / "performance" / f"{name}.json").read_text())["rows"]
        assert all(row["exact"] == row["cryptographic"] == ("NumPy" not in row["who"]) for row in rows)


def test_the_page_is_made_again_from_the_figures_alone(results: Path) -> None:
    page = results / "performance.md"
    before = page.read_text()
    page.unlink()
    assert main(["--render", "--folder", str(results)]) == 0
    assert page.read_text() == before


def test_a_table_that_fails_does_not_cost_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(quick: bool) -> Iterator[Row]:
        yield Row("the first engine", {}, 1.0, 1.0, 1.0, 1)
        raise OSError("no such engine")

    monkeypatch.setattr(TABLES["sources"], "measure", broken)
    assert main(["--quick", "--folder", str(tmp_path), "--only", "sources", "full_domain"]) == 1
    assert "no such engine" in capsys.readouterr().err
    page = (tmp_path / "performance.md").read_text()
    assert TABLES["full_domain"].TITLE in page
    assert "the first engine | 1 s (once)" in page
