"""Rounding only ever weakens a claim."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from crestline.guarantees.rounding import (
    SMALLEST,
    ball,
    decimal_above,
    decimal_below,
    next_down,
    next_up,
    precision,
    round_down,
    round_up,
)

pytestmark = pytest.mark.long

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
        assert decimal_below(around) <= number <= decimal_above(around)


def test_a_bound_that_is_not_finite_is_no_bound() -> None:
    with pytest.raises(ArithmeticError):
        decimal_above(arb("inf"))


def test_numbers_closer_to_zero_than_a_question_asks_for() -> None:
    """e^-10^7 has millions of digits; rounded outwards it is one short number."""
    with precision():
        tiny = (-(arb(10) ** 7)).exp()
        assert decimal_above(tiny) == SMALLEST
        assert decimal_below(tiny) == 0
        assert decimal_above(-tiny) == 0
        assert decimal_below(-tiny) == -SMALLEST


def test_a_gaussian_that_hides_almost_everything_can_be_accounted_for() -> None:
    from crestline.mechanisms.limited_domain.gauss import LimitedDomainGauss

    made = LimitedDomainGauss.for_budget(k=3, k_bar=9, epsilon="0.001", delta="1e-9", contribution=1)
    promise = made.guarantee()
    assert promise.epsilon is not None
    assert promise.epsilon <= Fraction(1, 1000)


@pytest.mark.parametrize("bits", [3980, 3986, 3990, 3999, 4000, 4001, 4100])
def test_the_smallest_number_is_outside_whatever_it_was_rounded_from(bits: int) -> None:
    with precision():
        for point in (arb(2) ** -bits, -(arb(2) ** -bits), arb(3) / arb(2) ** (bits + 2)):
            assert decimal_below(point) <= Fraction(int(point.man_exp()[0])) * Fraction(2) ** int(point.man_exp()[1])
            assert decimal_above(point) >= Fraction(int(point.man_exp()[0])) * Fraction(2) ** int(point.man_exp()[1])


def test_nought_stays_nought() -> None:
    assert decimal_above(arb(0)) == decimal_below(arb(0)) == round_up(Fraction(0)) == round_down(Fraction(0)) == 0


@given(numbers)
def test_what_is_kept_survives_as_a_float(number: Fraction) -> None:
    for kept in (round_up(number), round_down(number)):
        assert round_up(Fraction(float(kept))) == kept or round_down(Fraction(float(kept))) == kept


def test_as_many_digits_as_always_survive_as_a_float() -> None:
    assert (round_down(Fraction(2, 3)), round_up(Fraction(2, 3))) == (
        Fraction("0." + 15 * "6"),
        Fraction("0." + 14 * "6" + "7"),
    )


@given(numbers.filter(bool), st.integers(1, 20))
def test_neighbours_have_nothing_between_them(number: Fraction, digits: int) -> None:
    decimal = round_down(number, digits)
    above, below = next_up(decimal, digits), next_down(decimal, digits)
    assert below < decimal < above
    assert next_down(above, digits) == next_up(below, digits) == decimal
    assert round_up((decimal + above) / 2, digits) == above
    assert round_down((decimal + below) / 2, digits) == below
