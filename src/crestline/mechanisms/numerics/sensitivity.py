"""Sensitivity of numbers of which only the order is used (P2.7).

A common shift of all numbers changes no comparison, so the sensitivity is the distance to the nearest shift. Numbers
move by at most one, in one direction, and at most `contribution` of them do (P1.1 e).
"""

from __future__ import annotations

from fractions import Fraction


def order_sensitivity_squared(numbers: int, contribution: int | None) -> Fraction:
    """Squared L2-sensitivity up to a shift: the largest `c (1 - c/n)` for c up to the contribution."""
    return order_distance_squared(numbers - 1, contribution, Fraction(1), Fraction(1))


def order_distance_squared(slots: int, contribution: int | None, slot: Fraction, bottom: Fraction) -> Fraction:
    """Squared distance up to a shift, where one number weighs `bottom` and `slots` others weigh `slot` each.

    The best shift leaves `M S/(M + S)` of the weights M of the numbers that moved and S of those that stayed.
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
    """Squared distance without a shift, with the same weights as `order_distance_squared`."""
    return max(min(contribution, slots) * slot, min(contribution - 1, slots) * slot + bottom)


def order_sensitivity(numbers: int, contribution: int | None) -> int:
    """L1-sensitivity up to a shift: no more than half of the numbers move."""
    half = numbers // 2
    return half if contribution is None else min(contribution, half)


def numbers_moved(numbers: int, contribution: int | None) -> int:
    """Numbers that one user moves: the squared L2-sensitivity, and the L1-sensitivity, without a shift."""
    return numbers if contribution is None else min(contribution, numbers)
