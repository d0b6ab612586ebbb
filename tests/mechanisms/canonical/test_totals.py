"""All sets of one size together: doubles and balls against a sum over every set, one by one."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from crestline.guarantees.rounding import precision
from crestline.mechanisms.canonical.totals import LowestTotals

GAPS = [5, 3, 3, 0, -2, -7]
RATE = Fraction(2, 5)


@pytest.mark.parametrize("cells", [None, 6])
def test_a_total_is_that_of_every_set_by_its_lowest_rank(cells: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if cells is not None:
        monkeypatch.setattr("crestline.mechanisms.canonical.totals._CELLS", cells)
    totals = LowestTotals((1, 2, 4, 6), np.array(GAPS), RATE)
    for place, size in enumerate(totals.sizes):
        exact = math.log(math.fsum(math.exp(0.4 * GAPS[max(one)]) for one in combinations(range(6), size)))
        assert totals.approx[place] == pytest.approx(exact, abs=1e-13)
        with precision(120):
            ball = totals.ball(0, place)
            assert float(ball.mid()) == pytest.approx(exact, abs=1e-13)
            assert abs(float(ball.mid()) - float(totals.approx[place])) <= totals.error < 1e-12
            assert ball.rad() < 1e-30
