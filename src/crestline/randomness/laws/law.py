"""Protocol of a noise law: its quantile, in doubles and in balls, and its distribution function."""

from __future__ import annotations

from typing import Protocol

from flint import arb

from crestline.randomness.unit_points import Floats, Points


class Law(Protocol):
    """A distribution of noise; `quantile` and `ball` are the same non-decreasing function of the uniform."""

    @property
    def name(self) -> str: ...

    def quantile(self, points: Points) -> Floats:
        """Quantile in doubles, with a relative error of a few units in the last place."""
        ...

    def ball(self, arrival: arb) -> arb:
        """A ball that contains the quantile at `U = exp(-arrival)`."""
        ...

    def cdf(self, x: Floats) -> Floats:
        """Probability of a value of at most `x`."""
        ...

    def survival(self, x: Floats) -> Floats:
        """Probability of a value above `x`."""
        ...

    def density(self, x: Floats) -> Floats:
        """Density at `x`."""
        ...
