"""Numbers on a grid: the bounds between, below and beyond the points, held against a curve that is known exactly."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from crestline.guarantees.grid import PAD, Grid
from crestline.guarantees.rounding import ball, precision


def curve(a: float) -> float:
    """The curve of one step of range one (P2.2), which is its own mirror image."""
    if a <= -1:
        return -math.expm1(a)
    return max(0.0, 1 - math.exp((min(a, 1) - 1) / 2)) ** 2 / -math.expm1(-1)


GRID = Grid(Fraction(1, 10), 8, 600)
VALUES = np.array([curve(index / 10) for index in range(9)])


def test_what_lies_outside_is_bounded_too() -> None:
    wide = GRID.extended(VALUES)
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


@pytest.mark.parametrize("width", [Fraction(1, 10), Fraction(1, 1024), Fraction(3, 70)])
def test_the_mirror_image_is_never_below_the_exact_one(width: Fraction) -> None:
    """Held against balls of 200 bits, to the last bit: `1 - e^-a + e^-a V(a)`."""
    values = np.array([curve(float(index * width)) for index in range(400)])
    wide = Grid(width, 399, 300).extended(values)
    for index in range(1, 301):
        with precision(200):
            shrink = ball(-index * width).exp()
            exact = 1 - shrink + shrink * ball(Fraction(float(values[index])))
            bound = ball(Fraction(float(wide[300 - index])))
            assert bound >= exact or wide[300 - index] == 1.0
            assert bound <= exact * (1 + ball(Fraction(1, 10**11)))


def test_a_float_that_rounded_delta_up_is_not_enough() -> None:
    """0.1 as a float is above a tenth: a curve that stays there never comes down to δ."""
    assert Fraction(0.1) > Fraction(1, 10)
    assert GRID.smallest_epsilon(lambda index: 0.1, Fraction(1, 10)) is None
    assert GRID.smallest_epsilon(lambda index: 0.0999, Fraction(1, 10)) == 0


def test_the_padding_covers_more_roundings_than_there_are() -> None:
    assert 30 * 2.0**-50 < PAD - 1 < 1e-11
