"""Rounding only ever weakens a claim."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from crestline.guarantees.rounding import ball, lower, precision, round_down, round_up, upper

numbers = st.fractions(min_value=Fraction(-(10**12)), max_value=Fraction(10**12))


@given(numbers, st.integers(1, 20))
def test_a_decimal_on_either_side(number: Fraction, digits: int) -> None:
    low, high = round_down(number, digits), round_up(number, digits)
    assert low <= number <= high
    assert high - low <= abs(number) * Fraction(10) ** (1 - digits)


@given(numbers, st.integers(1, 20))
def test_rounding_twice_is_rounding_once(number: Fraction, digits: int) -> None:
    assert round_up(round_up(number, digits), digits) == round_up(number, digits)


@given(numbers)
def test_the_ends_of_a_ball_contain_the_number(number: Fraction) -> None:
    with precision(30):
        around = ball(number)
        assert lower(around) <= number <= upper(around)


def test_a_bound_that_is_not_finite_is_no_bound() -> None:
    with pytest.raises(ArithmeticError):
        upper(arb("inf"))
