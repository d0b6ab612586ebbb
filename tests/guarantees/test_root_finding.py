"""P10.4: what a search returns was tried, fits, and is nearly the last to do so."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crestline.guarantees import root_finding
from crestline.guarantees.root_finding import (
    bisect_floats,
    cached_by_accuracy,
    is_rough,
    largest_fitting,
    largest_within,
    rough_values,
    smallest_fitting,
)
from crestline.guarantees.rounding import round_down, round_up

limits = st.fractions(min_value=Fraction(1, 10**9), max_value=Fraction(10**6))


@pytest.mark.long
@given(limits)
def test_the_largest_below_a_limit(limit: Fraction) -> None:
    found = largest_fitting(lambda number: number <= limit)
    assert limit * (1 - Fraction(2, 10**11)) <= found <= limit


@pytest.mark.long
@given(limits)
def test_the_smallest_above_a_limit(limit: Fraction) -> None:
    found = smallest_fitting(lambda number: number >= limit)
    assert limit <= found <= limit * (1 + Fraction(2, 10**11))


@pytest.mark.long
@given(limits, st.integers(1, 3), limits)
def test_the_largest_whose_total_fits(budget: Fraction, power: int, scale: Fraction) -> None:
    found = largest_within(lambda number: scale * number**power + number, budget)
    assert scale * found**power + found <= budget
    more = found * (1 + Fraction(1, 10**8))
    assert scale * more**power + more > budget


def test_an_upper_end_that_fits_is_the_answer() -> None:
    assert largest_fitting(lambda number: True, high=Fraction(5)) == 5
    assert largest_fitting(lambda number: number <= 3, high=Fraction(4)) == 3


def test_nothing_fits_but_zero() -> None:
    assert largest_fitting(lambda number: number == 0) == 0
    assert smallest_fitting(lambda number: True) == 0


def test_a_search_without_end_is_refused() -> None:
    with pytest.raises(ArithmeticError):
        largest_fitting(lambda number: True)


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
    below = largest_fitting(lambda number: number <= Fraction(1, 3) and number != hole)
    assert below < hole < below * (1 + Fraction(1, 10**10))
    hole = Fraction("0.666666666667")
    above = smallest_fitting(lambda number: number >= Fraction(2, 3) and number != hole)
    assert hole < above < hole * (1 + Fraction(1, 10**10))


def test_a_budget_that_nothing_fits() -> None:
    assert largest_within(lambda number: Fraction(2), Fraction(1)) == 0


class Tried:
    """What a search has asked, in order, and whether it was at most a limit."""

    def __init__(self, limit: Fraction) -> None:
        self.limit, self.numbers = limit, list[Fraction]()

    def __call__(self, number: Fraction) -> bool:
        self.numbers.append(number)
        return number <= self.limit


def test_a_search_doubles_from_one_until_it_fails_or_meets_its_end() -> None:
    free, ended, upwards = Tried(Fraction(5)), Tried(Fraction(6)), Tried(Fraction(5))
    largest_fitting(free)
    assert largest_fitting(ended, high=Fraction(5)) == 5
    smallest_fitting(lambda number: not upwards(number))
    assert free.numbers[:4] == [1, 2, 4, 8]
    assert ended.numbers == [1, 2, 4, 5]
    assert upwards.numbers[:5] == [0, 1, 2, 4, 8]


def test_a_search_for_one_digit_step_by_step() -> None:
    """The halving ends when the ends agree to a tenth, and what is returned is tried once more as it is."""
    fits = Tried(Fraction("0.57"))
    assert largest_fitting(fits, digits=1) == Fraction("0.5")
    assert fits.numbers == [1, *map(Fraction, ("0.5", "0.75", "0.625", "0.5625", "0.5"))]


@pytest.mark.parametrize("limit", [Fraction(4, 3), Fraction(5, 3), Fraction(191, 100)])
def test_twelve_digits_take_forty_halvings(limit: Fraction) -> None:
    fits, above = Tried(limit), Tried(limit)
    down, up = largest_fitting(fits), smallest_fitting(lambda number: not above(number))
    assert round_down(down, 12) == down
    assert round_up(up, 12) == up
    assert len(fits.numbers) <= 2 + math.ceil(math.log2(10**12)) + 1
    assert len(above.numbers) <= 3 + math.ceil(math.log2(10**12)) + 1


def test_zero_needs_no_asking() -> None:
    """A parameter of zero may not even be allowed: it is what is left when nothing fits."""

    def fits(number: Fraction) -> bool:
        assert number > 0
        return False

    assert largest_fitting(fits) == 0


def test_below_the_smallest_number_nothing_is_searched() -> None:
    fits = Tried(Fraction(0))
    assert largest_fitting(fits, start=root_finding._TINY) == 0
    assert fits.numbers == [root_finding._TINY]


def test_a_total_that_is_short_by_less_than_a_billionth_is_good_enough() -> None:
    for short, enough in ((Fraction("0.99e-9"), True), (Fraction("1.01e-9"), False)):
        asked = list[Fraction]()

        def total(number: Fraction, short: Fraction = short, asked: list[Fraction] = asked) -> Fraction:
            asked.append(number)
            return number * (1 - short)

        found = largest_within(total, Fraction(1))
        assert asked[0] == 1
        assert (found == 1 and len(asked) == 1) is enough


def test_a_total_that_meets_the_budget_fits() -> None:
    assert largest_within(lambda number: number, Fraction(1)) == 1


@pytest.mark.parametrize("scale", [3, 7, 11])
def test_what_is_charged_is_short(scale: int) -> None:
    found = largest_within(lambda number: scale * number + number**2, Fraction(1))
    assert round_down(found, 12) == found


def test_halving_keeps_the_bracket() -> None:
    low, high = bisect_floats(lambda number: number >= 0.3, 0.0, 1.0)
    assert low < 0.3 <= high == math.nextafter(low, 1.0)
    assert bisect_floats(lambda number: number >= 0.3, 0.0, 1.0, turns=2) == (0.25, 0.5)
    assert bisect_floats(lambda number: False, 0.0, 8.0, turns=0) == (0.0, 8.0)


@pytest.mark.parametrize("off", [Fraction(0), Fraction(3, 10**12), Fraction(-3, 10**12), Fraction(1, 10), Fraction(-1)])
def test_a_guess_saves_most_of_a_search_and_decides_nothing(off: Fraction) -> None:
    limit = Fraction("0.123456789012")
    fits, above = Tried(limit), Tried(limit - Fraction(1, 10**12))
    low, high = (
        largest_fitting(fits, near=limit * (1 + off)),
        smallest_fitting(lambda number: not above(number), near=limit * (1 + off)),
    )
    good = abs(off) < Fraction(1, 100)
    assert {low, high} == {limit} if good else low <= limit <= high
    assert max(limit - low, high - limit) <= Fraction(1, 10**12)
    assert (len(fits.numbers) < 8 and len(above.numbers) < 9) is good


def test_a_search_begins_with_rough_totals_and_returns_a_number_whose_accurate_total_fits() -> None:
    accurate, rough = list[Fraction](), list[Fraction]()

    def total(number: Fraction) -> Fraction:
        (rough if is_rough() else accurate).append(number)
        return 3 * number * (1 + Fraction(is_rough(), 1000))

    found = largest_within(total, Fraction(1), start=Fraction(1, 100))
    assert accurate[-1] == found
    assert (1 - Fraction(1, 10**9)) / 3 <= found <= Fraction(1, 3)
    assert len(accurate) <= 4 < len(rough) + 2
    assert not is_rough()


def test_a_search_within_a_rough_one_is_rough_throughout() -> None:
    with rough_values():
        found = largest_within(lambda number: number * (2 if is_rough() else 1), Fraction(1))
    assert float(found) == pytest.approx(0.5)


def test_what_was_computed_roughly_is_computed_again() -> None:
    @cached_by_accuracy(maxsize=None)
    def bound(number: int) -> tuple[int, bool]:
        return number, is_rough()

    with rough_values():
        assert bound(1) == (1, True)
    assert bound(1) == (1, False)
    with pytest.raises(ZeroDivisionError), rough_values():
        bound(1 // 0)
    assert bound(2) == (2, False)
