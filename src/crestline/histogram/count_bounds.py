"""Bounds of a published count: its 95% interval, and the error that decides whether two counts can be ordered."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class CountBounds:
    """95% interval of a count, given that its item was named.

    Attributes:
        low: Lower end, in units of the count.
        high: Upper end.
        error: 95% of the error that the counts of other items do not share is at most this, which decides which counts
            are too close to order.
    """

    low: Fraction
    high: Fraction
    error: Fraction

    def convert(self, unit: Fraction, hidden_floor: Fraction) -> CountBounds:
        """The bounds in units of `unit`, with a floor that was taken off the count added."""
        return CountBounds(unit * self.low + hidden_floor, unit * self.high + hidden_floor, unit * self.error)
