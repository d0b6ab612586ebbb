"""All sets of one size together: doubles and balls against a sum over every set, one by one."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from crestline.guarantees.rounding import precision
from crestline.histogram.count_levels import count_levels
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.canonical.log_weights_by_size import ClassTotal, LowestTotals
from crestline.mechanisms.canonical.subset_classes import RowWeights, subset_classes

GAPS = [5, 3, 3, 0, -2, -7]
RATE = Fraction(2, 5)


@pytest.mark.parametrize("cells", [None, 6])
def test_a_total_is_that_of_every_set_by_its_lowest_rank(cells: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if cells is not None:
        monkeypatch.setattr("crestline.mechanisms.canonical.log_weights_by_size._CELLS", cells)
    totals = LowestTotals((1, 2, 4, 6), np.array(GAPS), RATE)
    for place, size in enumerate(totals.sizes):
        exact = math.log(math.fsum(math.exp(0.4 * GAPS[max(one)]) for one in combinations(range(6), size)))
        assert totals.approx[place] == pytest.approx(exact, abs=1e-13)
        with precision(120):
            ball = totals.ball(0, place)
            assert float(ball.mid()) == pytest.approx(exact, abs=1e-13)
            assert abs(float(ball.mid()) - float(totals.approx[place])) <= totals.error < 1e-12
            assert ball.rad() < 1e-30


@pytest.mark.parametrize("best", [Fraction(0), Fraction(-7), Fraction(900)])
def test_the_error_of_all_subsets_covers_its_terms(best: Fraction) -> None:
    """That of the rows, one rounding for each of them, and those of the best score and of the total itself."""
    groups = count_levels(Histogram.over_domain(dict(zip("abcdef", (9, 7, 7, 4, 2, 0), strict=True))))
    classes = subset_classes(groups, 3, Fraction(2, 3), RATE)
    total = ClassTotal(classes, best)
    (approx,) = total.approx.tolist()
    expected = RowWeights(classes).error + 2.0**-50 * (classes.rows + abs(float(best)) + abs(approx))
    assert total.error == pytest.approx(expected, rel=1e-12, abs=0)
    with precision(120):
        assert abs(float(total.ball(0, 0).mid()) - approx) <= total.error


@pytest.mark.parametrize("slots", [1, 6, 40])
def test_the_error_of_a_total_covers_its_terms(slots: int) -> None:
    """Four roundings of `ln slots!` and of the largest score, and one for each slot."""
    gaps = np.arange(slots, 0, -1)
    largest = math.log(math.factorial(slots))
    expected = 2.0**-50 * (4 * largest + 4 * 0.4 * slots + slots)
    assert LowestTotals((1,), gaps, RATE).error == pytest.approx(expected, rel=1e-12, abs=0)
