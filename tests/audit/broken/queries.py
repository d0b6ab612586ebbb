"""Stability queries (P14), broken in three ways. No law is stated, so they must be caught by running them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from crestline.mechanisms.stability.first_stable import FirstStable
from crestline.mechanisms.stability.stable_answers import StableAnswers


class _First(FirstStable):
    law: Any = None

    def __init__(self) -> None:
        super().__init__(3, 2, "0.0001", "0.5", "laplace")


class _Online(StableAnswers):
    law: Any = None

    def __init__(self) -> None:
        super().__init__(4, 4, 2, "0.0001")


class FirstHalfTheNoise(_First):
    """Noise of scale 1/ε₂ and no more on distances, a quarter of what leads that move both ways need (P2.5)."""

    @property
    def _distance_rate(self) -> Fraction:
        return 2 * (1 - self.share) * self.epsilon


class NoThreshold(_First):
    """An unstable query passes as easily as not."""

    @property
    def threshold(self) -> Fraction:
        return Fraction(0)


class NoCutoff(_Online):
    """The noise of one failure, spent on four (P14.3)."""

    @property
    def _distance_rate(self) -> Fraction:
        return self.epsilon - self._threshold_rate


class CorrectFirst(_First):
    """Nothing is broken here."""


class CorrectOnline(_Online):
    """Nothing is broken here."""
