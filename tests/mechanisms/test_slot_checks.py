"""Numbers of slots, and how many of them one user can swap: P0.8, with every kind of histogram."""

from __future__ import annotations

from fractions import Fraction

import pytest

from crestline.errors import HistogramError, ParameterError
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.slot_checks import (
    check_contribution,
    check_k,
    check_k_bar,
    check_k_bar_not_below_k,
    check_k_bar_or_none,
    check_slots,
    ordered_choices,
    unit_rate,
    unstable_slots,
)


def test_numbers_of_slots() -> None:
    assert (check_k(2), check_k_bar(3), check_k_bar_or_none(None), check_k_bar_not_below_k(2, 2)) == (2, 3, None, 2)
    for refused in (check_k, check_k_bar, check_k_bar_or_none):
        for number in (0, 10**9, 1.5):
            with pytest.raises(ParameterError, match=r"^k"):
                refused(number)  # type: ignore[arg-type] # one is no whole number: that is the test
    with pytest.raises(ParameterError, match="k is 3, k_bar is 2"):
        check_k_bar_not_below_k(3, 2)
    assert check_contribution(None) is None
    assert check_contribution(1) == 1
    with pytest.raises(ParameterError, match="contribution"):
        check_contribution(0)


@pytest.mark.parametrize(
    ("domain", "bound", "unstable"),
    [
        (None, None, 3),  # an unknown domain: every slot
        (None, 2, 2),
        (None, 9, 3),
        (5, None, 2),  # two items of the public list were left out
        (5, 1, 1),
        (3, None, 0),  # nothing was left out
        (3, 2, 0),
    ],
)
def test_how_many_slots_one_user_can_swap(domain: int | None, bound: int | None, unstable: int) -> None:
    counts = {letter: 9 - place for place, letter in enumerate("abcde"[: domain or 5])}
    histogram = Histogram.from_counts(counts, 3) if domain is None else Histogram.over_domain(counts, 3)
    assert unstable_slots(histogram, 3, bound) == unstable


def test_a_histogram_must_be_cut_for_the_mechanism() -> None:
    counts = {"a": 3, "b": 1}
    check_slots(Histogram.from_counts(counts, 4), 4)
    check_slots(Histogram.over_domain(counts), 4)  # a public list of two has no more slots
    check_slots(Histogram.from_counts(counts, 4, pad=False), 4, raw_rows=True)
    for histogram, words in (
        (Histogram.from_counts(counts, 3), "make both with the same k_bar"),
        (Histogram.from_counts(counts, 5), "make both with the same k_bar"),
        (Histogram.over_domain(counts, 1), "make both with the same k_bar"),
        (Histogram.from_counts(counts, 4, pad=False), "raw rows"),
        (Histogram.from_multiplicities({3: 1}), "by rank"),
    ):
        with pytest.raises(HistogramError, match=words):
            check_slots(histogram, 4)
    with pytest.raises(HistogramError, match="by rank"):
        check_slots(Histogram.from_multiplicities({3: 1}), 4, raw_rows=True)


def test_a_rate_is_for_one_unit_of_a_count() -> None:
    assert unit_rate(Fraction(1, 2), Histogram.from_counts({"a": 3}, 1)) == Fraction(1, 2)
    assert unit_rate(Fraction(1, 2), Histogram.from_counts({"a": 3}, 1, unit=3)) == Fraction(1, 6)


def test_orders_are_listed_only_where_there_are_few() -> None:
    assert list(ordered_choices(range(3), 2)) == [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]
    assert len(list(ordered_choices(range(3), 2, most=6))) == 6
    with pytest.raises(ParameterError, match="more than 5 outcomes"):
        ordered_choices(range(3), 2, most=5)
