"""Sizes of classes: logarithms against whole numbers, sums against plain sums, and ranks far beyond the doubles."""

from __future__ import annotations

import math
from bisect import bisect_right
from itertools import pairwise
from statistics import fmean

import numpy as np
import pytest
from flint import arb, ctx, fmpz

from crestline.mechanisms.canonical import sizes as canonical_sizes
from crestline.mechanisms.canonical.sizes import (
    _least_rank_above,
    log_factorials,
    log_size_of_last,
    log_sizes,
    log_sum,
    log_sum_groups,
    size,
)
from crestline.randomness.entropy import replay


def exact_log(number: int) -> float:
    with ctx.workprec(200):
        return float(arb(fmpz(number)).log().mid())


@pytest.mark.parametrize("k", [1, 2, 7, 40])
def test_logarithms_of_sizes_are_those_of_the_whole_numbers(k: int) -> None:
    """From the first rank and from far down, one rank and many: `log_size_of_last` is the last column of
    `log_sizes`."""
    a = np.array([0, 0, 1, 5, 5, 1000, 10**9])
    b = np.array([0, 9, 1, 5, 60, 10**9 - 1, 10**12])
    table = log_sizes(a, b, k)
    for row, (first, last) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        for m in range(k):
            assert table[row, m] == pytest.approx(exact_log(size(first, last, m)), rel=1e-13, abs=1e-13)
    assert log_size_of_last(a, b, k) == pytest.approx(table[:, -1], rel=1e-14, abs=1e-14)


def test_log_factorials_end_where_they_are_asked_to() -> None:
    """Small ones from a table, the others from a series; the last that are kept, and the first that are not."""
    for n in (0, 1, 15, 16, 17, 40, 159, 160, 161, 300, 2**16 - 1, 2**16, 2**16 + 1, 2**16 + 2):
        assert len(log_factorials(n)) == n + 1
        with ctx.workprec(200):
            exact = float(arb(n + 1).lgamma().mid())
        assert log_factorials(n)[-1] == pytest.approx(exact, rel=4e-16, abs=1e-15)


def test_log_factorials_that_are_kept_cannot_be_written_to() -> None:
    with pytest.raises(ValueError, match="read-only"):
        log_factorials(5)[0] = 1.0


def test_sums_of_exponentials_do_not_overflow() -> None:
    values = np.array([[1.0, 2.0, 3.0], [-900.0, 900.0, 900.0]])
    assert log_sum(values) == pytest.approx([math.log(sum(map(math.exp, (1, 2, 3)))), 900 + math.log(2)], rel=1e-15)
    runs = log_sum_groups(np.array([5.0, 1.0, 1.0, -900.0, 900.0]), np.array([0, 1, 3]))
    assert runs == pytest.approx([5.0, 1 + math.log(2), 900.0], rel=1e-15)


@pytest.mark.long
@pytest.mark.parametrize("m", [1, 2, 5, 50, 1_000])
@pytest.mark.parametrize("last", [3, 1_000, 10**6, 10**10, 10**12])
def test_a_rank_is_found_however_far_doubles_are_off(m: int, last: int) -> None:
    """Whole numbers have the last word, from above and from below: doubles miss by up to 10^8 ranks here."""
    ranks = {0, 1, last // 2, last - 1, last, *(replay(f"{m} {last}").words(4) % (last + 1)).tolist()}
    for q in map(int, ranks):
        number = int(fmpz.bin_uiui(q + m, m))
        for first in {0, q // 3, q}:
            assert _least_rank_above(number - 1, first, last, m) == q
            assert _least_rank_above(number, first, last, m) == min(q + 1, last)


def test_few_whole_numbers_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three where doubles are right, both ends and one between; twice the logarithm of how far they are off."""
    asked: list[int] = []
    monkeypatch.setattr(canonical_sizes, "_binomial", lambda n, k: asked.append(n) or int(fmpz.bin_uiui(n, k)))

    def rough(q: int) -> float:
        return math.lgamma(q + 1_001) - math.lgamma(q + 1) - math.lgamma(1_001)

    def needed(wanted: int, m: int, first: int) -> int:
        asked.clear()
        _least_rank_above(wanted, first, 10**12, m)
        return len(asked)

    for m in (1, 3, 20):
        numbers = [int(fmpz.bin_uiui(q + m, m)) for q in range(12, 70)]
        between = [(low + high) // 2 for low, high in pairwise(numbers) if high - low > 1]
        for first in (0, 9):
            assert max((needed(number, m, first) for number in between), default=0) <= 3
            assert fmean(needed(number, m, first) for number in numbers) < 4  # doubles may say either
    for q in (10**8, 2 * 10**9, 10**10, 10**11):  # too high, much too high, too low, much too low
        number = int(fmpz.bin_uiui(q + 1_000, 1_000))
        off = abs(bisect_right(range(10**12), math.log(number), key=rough) - q)
        assert max(needed(number - 1, 1_000, 0), needed(number, 1_000, 0)) <= 2 * math.log2(1 + off) + 4
