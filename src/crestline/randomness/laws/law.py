"""The protocol of a noise law: its quantile, in doubles and in balls, and its distribution function."""

from __future__ import annotations

from typing import Protocol

from flint import arb

from crestline.randomness.unit_points import Floats, Points


class Law(Protocol):
    """One continuous distribution. `quantile` and `ball` are the same increasing function of the uniform."""

    @property
    def name(self) -> str: ...

    def quantile(self, points: Points) -> Floats:
        """The quantile in doubles; its relative error is a few units in the last place."""
        ...

    def ball(self, arrival: arb) -> arb:
        """The quantile at `U = exp(-arrival)`, as a ball that certainly contains it."""
        ...

    def cdf(self, x: Floats) -> Floats: ...

    def survival(self, x: Floats) -> Floats: ...

    def density(self, x: Floats) -> Floats: ...
