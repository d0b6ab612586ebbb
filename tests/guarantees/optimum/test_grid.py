"""Numbers on a grid: the bounds between, below and beyond the points, held against a curve that is known exactly."""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import numpy as np
import pytest

from crestline.guarantees.optimum.grid import PAD, TINY, CurveGrid, float_down, float_up
from crestline.guarantees.optimum.step import BoundedRangeStep
from crestline.guarantees.rounding import ball, precision


def curve(a: float) -> float:
    """The curve of one step of range one (P2.2), which is its own mirror image."""
    if a <= -1:
        return -math.expm1(a)
    return max(0.0, 1 - math.exp((min(a, 1) - 1) / 2)) ** 2 / -math.expm1(-1)


GRID = CurveGrid(Fraction(1, 10), 8, 600)
VALUES = np.array([curve(index / 10) for index in range(9)])


def test_what_lies_outside_is_bounded_too() -> None:
    wide = GRID.extend(VALUES)
    exact = np.array([curve(index / 10) for index in range(-600, 609)])
    assert (wide >= exact - 1e-15).all()
    assert wide[592:609] == pytest.approx(exact[592:609], rel=1e-11)  # the mirror image of the grid is exact
    assert (wide[609:] == VALUES[-1]).all()


def test_chords_lie_above_the_curve() -> None:
    for place in (Fraction(3, 7), Fraction(-1, 3), Fraction(1, 5)):
        index, low, high = GRID.chord(place)
        on_chord = low * curve(index / 10) + high * curve((index + 1) / 10)
        assert curve(float(place)) <= on_chord * (1 + 1e-12)
        assert on_chord == pytest.approx(curve(float(place)), abs=2e-3)


def test_the_threshold_is_found_on_a_chord_and_never_too_small() -> None:
    delta = Fraction(1, 20)
    found = GRID.smallest_epsilon(lambda index: float(VALUES[index]), delta)
    assert found is not None
    assert curve(float(found)) <= float(delta)
    assert curve(float(found) - 0.01) > float(delta)


def test_at_the_ends_of_the_grid() -> None:
    assert GRID.smallest_epsilon(lambda index: float(VALUES[index]), Fraction(1, 2)) == 0
    assert GRID.smallest_epsilon(lambda index: float(VALUES[index]), Fraction(1, 10**6)) is None


@pytest.mark.parametrize("reach", [1, 256, 300])
@pytest.mark.parametrize("width", [Fraction(1, 10), Fraction(1, 1024), Fraction(3, 70)])
def test_the_mirror_image_is_never_below_the_exact_one(width: Fraction, reach: int) -> None:
    """Held against balls of 200 bits, to the last bit: `1 - e^-a + e^-a V(a)`."""
    values = np.array([curve(float(index * width)) for index in range(400)])
    wide = CurveGrid(width, 399, reach).extend(values)
    for index in range(1, reach + 1):
        with precision(200):
            shrink = ball(-index * width).exp()
            exact = 1 - shrink + shrink * ball(Fraction(float(values[index])))
            bound = ball(Fraction(float(wide[reach - index])))
            assert bound >= exact or wide[reach - index] == 1.0
            assert bound <= exact * (1 + ball(Fraction(1, 10**11)))


def test_a_float_that_rounded_delta_up_is_not_enough() -> None:
    """0.1 as a float is above a tenth: a curve that stays there never comes down to δ."""
    assert Fraction(0.1) > Fraction(1, 10)
    assert GRID.smallest_epsilon(lambda index: 0.1, Fraction(1, 10)) is None
    assert GRID.smallest_epsilon(lambda index: 0.0999, Fraction(1, 10)) == 0


def test_the_padding_covers_more_roundings_than_there_are() -> None:
    """Seen where it is used: the mirror image of nothing is raised by it."""
    assert 30 * 2.0**-50 < PAD - 1 < 1e-11
    raised = CurveGrid(Fraction(1, 10), 0, 1).extend(np.zeros(1))[0] / -math.expm1(-0.1)
    assert 30 * 2.0**-50 < raised - 1 < 1e-11


@pytest.mark.parametrize("number", [Fraction(1, 3), Fraction(1), Fraction(-2, 7), Fraction(0)])
def test_floats_on_either_side_of_a_ball(number: Fraction) -> None:
    """Never the wrong side, and within two of the last place."""
    with precision(80):
        low, high = float_down(ball(number)), float_up(ball(number))
    assert low < number < high
    near = float(number)
    assert low >= math.nextafter(math.nextafter(near, -math.inf), -math.inf)
    assert high <= math.nextafter(math.nextafter(near, math.inf), math.inf)


def test_no_number_is_above_one() -> None:
    assert GRID.extend(VALUES).max() <= 1.0


def test_what_underflow_takes_is_far_below_what_is_added_for_it() -> None:
    """Seen where it is used: a step after which nothing is left leaves this much."""
    grid = CurveGrid(Fraction(1, 10), 3, 1)
    left = BoundedRangeStep(grid, 1).apply_to(grid.curve_of_no_step())[-1]
    assert 2.0**40 * sys.float_info.min < left == TINY < 1e-290


def test_a_number_that_meets_delta_is_enough() -> None:
    """Floats and δ are compared exactly, at both ends of the grid."""
    assert GRID.smallest_epsilon(lambda index: 0.25, Fraction(1, 4)) == 0
    found = GRID.smallest_epsilon(lambda index: 0.5 if index < 8 else 0.25, Fraction(1, 4))
    assert found is not None
    assert Fraction(8, 10) <= found <= Fraction(8, 10) * (1 + Fraction(1, 10**13))


@pytest.mark.parametrize("place", [1, 2, 511, 512, 513, 1000, 1023, 1024])
def test_the_threshold_is_where_the_chord_falls_to_delta(place: int) -> None:
    """Solved in balls, rounded up by little; and found in ten halvings of 1024 cells."""
    asked = list[int]()

    def value(index: int) -> float:
        asked.append(index)
        return 2.0 ** (-index / 64)

    width, delta = Fraction(1, 64), (3 * Fraction(value(place)) + Fraction(value(place - 1))) / 4
    asked.clear()
    found = CurveGrid(width, 1024, 1).smallest_epsilon(value, delta)
    assert found is not None
    with precision(200):
        share = Fraction(3, 4)  # of the cell, in e^a
        exact = ball(width * (place - 1)) + (ball(share) * ball(width).expm1()).log1p()
        assert ball(found) >= exact
        assert ball(found) <= exact * (1 + ball(Fraction(1, 10**13)))
    assert len(asked) <= 2 + 10 + 2
