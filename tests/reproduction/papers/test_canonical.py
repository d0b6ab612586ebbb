from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pyarrow
import pyarrow.parquet as parquet
import pytest

from reproduction.data import Shelf
from reproduction.experiment import Estimate, Results, cell
from reproduction.papers.canonical import CURVES, NEEDED, PAPER, ZIPF, contests, measure, measure_needed
from reproduction.papers.canonical_lines import ALL, CANONICAL, OURS, PEELING, PEELING_OURS, RATIO
from reproduction.published import Published


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    counts = [900, 850, 700, 600, 400, 390, 200, 100, 90, 80, 5, 0]
    table = pyarrow.table({"element": [str(place) for place in range(len(counts))], "count": counts})
    parquet.write_table(table, tmp_path / "MADE.counts.parquet")
    return Shelf(tmp_path)


@pytest.mark.parametrize("label", ALL)
def test_every_line_is_measured(shelf: Shelf, label: str) -> None:
    found = measure(cell("MADE", label, k=3, epsilon="0.1"), shelf)
    assert 0 < found["TOP"].value <= found["GREAT"].value <= found["GOOD"].value <= 1


def test_composed_peeling_needs_less_canonical_still_less_and_ours_least(shelf: Shelf) -> None:
    needed = {
        label: measure_needed(cell("MADE", label, k=8, epsilon=0, wanted="0.99"), shelf)["epsilon"].value
        for label in (CANONICAL, OURS, PEELING, PEELING_OURS)
    }
    assert needed[OURS] < needed[CANONICAL] < needed[PEELING_OURS] < needed[PEELING]


def test_the_drawn_ratio_is_smaller_than_the_true_one(shelf: Shelf) -> None:
    found = measure_needed(cell("MADE", RATIO, k=8, epsilon=0, wanted="0.999"), shelf)
    assert 1 < found["drawn"].value < found["ratio"].value
    assert found["printed"].value == int(found["drawn"].value)


def test_a_flat_zipf_law_gives_no_hold(shelf: Shelf) -> None:
    found = measure(cell("ZIPF", PEELING, k=10, epsilon=1, s="0"), shelf)
    assert found["GOOD"].value < 1e-9
    steep = measure(cell("ZIPF", CANONICAL, k=10, epsilon=1, s="1"), shelf)
    assert steep["TOP"].value > 0.999


def test_page_and_contests_of_made_up_results() -> None:
    same = {name: Estimate(0.5) for name in ("TOP", "GREAT", "GOOD")}
    epsilons = {name: Estimate(0.5) for name in ("epsilon", "ratio", "drawn", "printed")}
    results = Results({(one.name, cell.key): same for one in (CURVES, ZIPF) for cell in one.cells})
    results |= {(NEEDED.name, cell.key): epsilons for cell in NEEDED.cells}
    page = PAPER.page(results, Published(None))
    assert "| NETFLIX | 1000 | 0.500 / 0.500 / 0.500 |" in page.text
    assert len(page.pictures) == 8
    assert "NETFLIX" in json.dumps(page.pictures["canonical-netflix"].chart.to_dict())
    assert all(one.ours.value == 0.5 and len(one.others) == 7 for one in contests(results))


def test_epsilon_is_not_part_of_what_is_needed() -> None:
    assert {one.epsilon for one in NEEDED.cells} == {Fraction(0)}
