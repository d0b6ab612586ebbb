"""P10.4: what a search returns was tried, fits, and is nearly the last to do so."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crestline.guarantees.search import largest, largest_within, smallest

limits = st.fractions(min_value=Fraction(1, 10**9), max_value=Fraction(10**6))


@given(limits)
def test_the_largest_below_a_limit(limit: Fraction) -> None:
    found = largest(lambda number: number <= limit)
    assert limit * (1 - Fraction(2, 10**11)) <= found <= limit


@given(limits)
def test_the_smallest_above_a_limit(limit: Fraction) -> None:
    found = smallest(lambda number: number >= limit)
    assert limit <= found <= limit * (1 + Fraction(2, 10**11))


@given(limits, st.integers(1, 3), limits)
def test_the_largest_whose_total_fits(budget: Fraction, power: int, scale: Fraction) -> None:
    found = largest_within(lambda number: scale * number**power + number, budget)
    assert scale * found**power + found <= budget
    more = found * (1 + Fraction(1, 10**8))
    assert scale * more**power + more > budget


def test_an_upper_end_that_fits_is_the_answer() -> None:
    assert largest(lambda number: True, high=Fraction(5)) == 5
    assert largest(lambda number: number <= 3, high=Fraction(4)) == 3


def test_nothing_fits_but_zero() -> None:
    assert largest(lambda number: number == 0) == 0
    assert smallest(lambda number: True) == 0


def test_a_search_without_end_is_refused() -> None:
    with pytest.raises(ArithmeticError):
        largest(lambda number: True)


def test_few_totals_are_computed() -> None:
    tried: list[Fraction] = []

    def total(number: Fraction) -> Fraction:
        tried.append(number)
        return 3 * number + number**2 / 7

    found = largest_within(total, Fraction(1), start=Fraction(1, 100))
    assert found in tried
    assert len(tried) <= 9


def test_a_total_that_starts_flat() -> None:
    found = largest_within(lambda number: max(Fraction(0), number - 1), Fraction(1, 2), start=Fraction(1, 10))
    assert float(found) == pytest.approx(1.5, rel=1e-8)


def test_a_hole_at_the_answer_is_stepped_around() -> None:
    """The decimal that is returned is tried, even where `fits` breaks its promise to be monotone."""
    hole = Fraction("0.333333333333")
    below = largest(lambda number: number <= Fraction(1, 3) and number != hole)
    assert below < hole < below * (1 + Fraction(1, 10**10))
    hole = Fraction("0.666666666667")
    above = smallest(lambda number: number >= Fraction(2, 3) and number != hole)
    assert hole < above < hole * (1 + Fraction(1, 10**10))


def test_a_budget_that_nothing_fits() -> None:
    assert largest_within(lambda number: Fraction(2), Fraction(1)) == 0
