from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow
import pyarrow.parquet as parquet
import pytest

from reproduction.data import Shelf
from reproduction.experiment import Cell, Estimate, Results
from reproduction.papers.practice import (
    CHOICE,
    FILES,
    PAPER,
    PRACTICE,
    contests,
    measure,
    measure_files,
    measure_single,
)
from reproduction.papers.practice_page import (
    AUTO_BOUND,
    AUTO_FREE,
    MISSING_MASS,
    OPENDP,
    PIPELINEDP,
    SIEVE,
    SINGLE,
    hits,
)
from reproduction.peers import pipelinedp, thresholds
from reproduction.published import Published


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    """400 · (40 - i) users hold item i, and the next two with it."""
    users, items, last = [], [], 0
    for item in range(40):
        for user in range(last, last + 100 * (40 - item)):
            users += [user] * 2
            items += [item, (item + 1) % 40]
        last += 100 * (40 - item)
    parquet.write_table(pyarrow.table({"user": users, "item": items}), tmp_path / "MADE.events.parquet")
    return Shelf(tmp_path)


def _cell(label: str, k: int = 10) -> Cell:
    found = next(
        one for one in PRACTICE.cells if one.label == label and one.epsilon == 1 and "50" not in dict(one.more)
    )
    return replace(found, data="MADE", k=k, trials=min(found.trials, 40))


@pytest.mark.parametrize("label", [SIEVE, AUTO_FREE, AUTO_BOUND])
def test_ours_finds_most_of_a_clear_top(shelf: Shelf, label: str) -> None:
    found = measure(_cell(label), shelf)[hits(10)]
    assert found.value > 0.5
    assert found.error < 0.2


@pytest.mark.skipif(not thresholds.available(), reason="OpenDP is not installed")
def test_a_library_answers_for_every_k(shelf: Shelf) -> None:
    found = measure(_cell(next(iter(OPENDP)), k=100), shelf)
    assert set(found) == {hits(10), hits(50), hits(100)}
    assert found[hits(10)].value > 0.5


def test_a_library_that_is_not_there_leaves_a_hole(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipelinedp, "available", lambda: False)
    assert measure(_cell(PIPELINEDP, k=100), shelf) == {}


def test_the_rival_that_discovers_first_answers_for_every_k(shelf: Shelf) -> None:
    found = measure(replace(_cell(MISSING_MASS, k=100), trials=2), shelf)
    assert set(found) == {hits(10), hits(50), hits(100)}
    assert found[hits(10)].value > 0.5


def test_a_file_is_asked_by_the_public_interface(shelf: Shelf) -> None:
    found = measure_files(replace(FILES.cells[0], data="MADE", k=10, trials=2), shelf)
    assert found[hits(10)].value > 0.5


def test_single_mechanisms_are_measured(shelf: Shelf) -> None:
    for one in CHOICE.cells[: len(SINGLE)]:
        assert 0 <= measure_single(replace(one, data="MADE", trials=20), shelf)[hits(one.k)].value <= 1


def test_page_and_contests_of_made_up_results() -> None:
    same = {hits(k): Estimate(0.5, 0.01) for k in (10, 50, 100)}
    results = Results({(one.name, cell.key): same for one in PAPER.experiments for cell in one.cells})
    page = PAPER.page(results, Published(None))
    assert "| MOVIELENS_1M | 1 | 10 | 0.50 | 0.50 | 0.50 (1) |" in page.text
    assert "| GOWALLA_10CORE | 0.1 | 100 | 0.50 | 0.50 | 0.50 (1) | 0.50 (1) | 0.50 (1) |" in page.text
    assert "| BMS_WEBVIEW1 | 1 | 50 | 0.500 ± 0.010 | 0.500 ± 0.010 |" in page.text
    assert "| Sieve, against the libraries | 30 | 30 | 0 | 0.500 | 0.500 |" in page.text
    assert "| Sieve, against all others | 54 | 54 | 0 | 0.500 | 0.500 |" in page.text
    assert set(page.pictures) == {"practice-1", "practice-0.1"}
    found = list(contests(results))
    assert len(found) == 5 * 2 * 3 * 4
    assert all(len(one.others) == 3 for one in found)
