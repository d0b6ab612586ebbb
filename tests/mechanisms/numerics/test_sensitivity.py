"""Sensitivities up to a shift, against a search over all ways in which one user moves the numbers."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from crestline.mechanisms.numerics.sensitivity import (
    number_distance_squared,
    numbers_moved,
    order_distance_squared,
    order_sensitivity,
    order_sensitivity_squared,
)


def moves(numbers: int, contribution: int | None) -> list[tuple[int, ...]]:
    every = product((0, 1), repeat=numbers)
    return [move for move in every if contribution is None or sum(move) <= contribution]


@pytest.mark.parametrize("numbers", range(1, 8))
@pytest.mark.parametrize("contribution", [None, 1, 2, 3, 5, 9])
def test_against_every_move_of_one_user(numbers: int, contribution: int | None) -> None:
    squared = absolute = moved = Fraction(0)
    for move in moves(numbers, contribution):
        mean = Fraction(sum(move), numbers)  # the best shift in L2 is the mean, in L1 the median
        median = sorted(move)[numbers // 2]
        squared = max(squared, sum(((part - mean) ** 2 for part in move), Fraction(0)))
        absolute = max(absolute, Fraction(sum(abs(part - median) for part in move)))
        moved = max(moved, Fraction(sum(move)))
    assert order_sensitivity_squared(numbers, contribution) == squared
    assert order_sensitivity(numbers, contribution) == absolute
    assert numbers_moved(numbers, contribution) == moved


@pytest.mark.parametrize("slots", range(1, 7))
@pytest.mark.parametrize("contribution", [None, 1, 2, 3, 5, 9])
@pytest.mark.parametrize("bottom", [Fraction(1, 7), Fraction(1), Fraction(5, 2), Fraction(40)])
def test_a_stop_of_another_weight_against_every_move(slots: int, contribution: int | None, bottom: Fraction) -> None:
    slot = Fraction(2, 3)
    weights = [slot] * slots + [bottom]
    shifted, plain = Fraction(0), Fraction(0)
    for move in moves(slots + 1, contribution):
        mean = sum((w * part for w, part in zip(weights, move, strict=True)), Fraction(0)) / sum(weights)
        distances = [
            sum((w * (part - shift) ** 2 for w, part in zip(weights, move, strict=True)), Fraction(0))
            for shift in (mean, Fraction(0))
        ]
        shifted, plain = max(shifted, distances[0]), max(plain, distances[1])
    assert order_distance_squared(slots, contribution, slot, bottom) == shifted
    if contribution is not None:
        assert number_distance_squared(slots, contribution, slot, bottom) == plain
    if bottom == slot:
        assert shifted == slot * order_sensitivity_squared(slots + 1, contribution)
