"""How far one user moves the numbers that noise is added to, when only their order is used (P2.7).

A common shift of all numbers changes no comparison, so it is free: what counts is the distance to the nearest shift.
Numbers move by at most one, in one direction, and at most `contribution` of them do (P1.1 e).
"""

from __future__ import annotations

from fractions import Fraction


def order_sensitivity_squared(numbers: int, contribution: int | None) -> Fraction:
    """The squared L2-sensitivity up to a shift: the largest `c (1 - c/n)` for c up to the contribution."""
    return order_distance_squared(numbers - 1, contribution, Fraction(1), Fraction(1))


def order_distance_squared(slots: int, contribution: int | None, slot: Fraction, bottom: Fraction) -> Fraction:
    """The squared distance up to a shift, one number weighing `bottom` and so many others `slot` each.

    A shift that is best for what moved and what stayed leaves `M S/(M + S)`, the harmonic part of their weights.
    """
    total = slots * slot + bottom

    def shifted_distance(moved: int, with_bottom: bool) -> Fraction:
        weight = moved * slot + with_bottom * bottom
        return weight * (total - weight) / total

    def largest_distance(with_bottom: bool) -> Fraction:
        half = int((total / 2 - with_bottom * bottom) / slot)  # grows up to half of the weight, and falls beyond
        room = slots if contribution is None else min(slots, contribution - with_bottom)
        return max(shifted_distance(max(0, min(room, moved)), with_bottom) for moved in (half, half + 1))

    return max(largest_distance(with_bottom=False), largest_distance(with_bottom=True))


def number_distance_squared(slots: int, contribution: int, slot: Fraction, bottom: Fraction) -> Fraction:
    """The squared distance when no common shift is free, with the same weights as above."""
    return max(min(contribution, slots) * slot, min(contribution - 1, slots) * slot + bottom)


def order_sensitivity(numbers: int, contribution: int | None) -> int:
    """The L1-sensitivity up to a shift: no more than half of the numbers move."""
    half = numbers // 2
    return half if contribution is None else min(contribution, half)


def numbers_moved(numbers: int, contribution: int | None) -> int:
    """How many of the numbers one user moves: the squared L2-sensitivity, and the L1-sensitivity, without a shift."""
    return numbers if contribution is None else min(contribution, numbers)
