"""Guarantees as values: exact parameters, the pairs of data sets they hold for, and the theorem that proves them.

A guarantee is also a step that accountants compose (`cost.py`): each kind has a zero-concentrated cost `rho` and, where
one exists, a pure cost `epsilon` (P10.1). Rounding, where it cannot be avoided, weakens the claim.
"""

from __future__ import annotations

from enum import Enum
from fractions import Fraction
from typing import Protocol, runtime_checkable

from crestline.exact_fields import Number, field, value
from crestline.exact_numbers import decimal_text, non_negative_number, proportion


class Adjacency(Enum):
    """Which pairs of data sets a guarantee holds for."""

    ADD_REMOVE = "add or remove one user"
    USER_PERIOD = "add or remove one user's rows of one period"


@runtime_checkable
class Guarantee(Protocol):
    """What every guarantee states; `rho` and `epsilon` are None where it has none."""

    @property
    def adjacency(self) -> Adjacency: ...

    @property
    def theorem(self) -> str: ...

    @property
    def rho(self) -> Fraction | None: ...

    @property
    def epsilon(self) -> Fraction | None: ...

    @property
    def delta(self) -> Fraction: ...


class _NeverFails:
    """Base of guarantees without an exceptional event: `delta` is zero."""

    @property
    def delta(self) -> Fraction:
        """Zero: there is no event in which the guarantee does not hold."""
        return Fraction(0)


@value
class PureDP(_NeverFails):
    """ε-differential privacy, which implies ε²/2-zCDP (Bun and Steinke 2016; U1).

    Attributes:
        epsilon: Bound on the log ratio of the two laws.
        theorem: Theorem that proves the guarantee.
        adjacency: Pairs of data sets it holds for.
    """

    epsilon: Number = field(non_negative_number)
    theorem: str = ""
    adjacency: Adjacency = Adjacency.ADD_REMOVE

    @property
    def rho(self) -> Fraction:
        """Zero-concentrated cost, ε²/2."""
        return self.epsilon**2 / 2

    def __str__(self) -> str:
        return f"{decimal_text(self.epsilon)}-DP"


@value
class BoundedRange(_NeverFails):
    """Log ratio of the two laws within one interval of length ε (P0.4); implies ε-DP and ε²/8-zCDP (P2.2).

    Attributes:
        epsilon: Length of the interval.
        theorem: Theorem that proves the guarantee.
        adjacency: Pairs of data sets it holds for.
    """

    epsilon: Number = field(non_negative_number)
    theorem: str = ""
    adjacency: Adjacency = Adjacency.ADD_REMOVE

    @property
    def rho(self) -> Fraction:
        """Zero-concentrated cost, ε²/8."""
        return self.epsilon**2 / 8

    def __str__(self) -> str:
        return f"{decimal_text(self.epsilon)}-bounded range"


@value
class LossInterval(_NeverFails):
    """Log ratio of the two laws in `[-below, above]` for one order of the neighbours, mirrored for the other (P2.4).

    Implies `max(below, above)`-DP and, by the length of the interval, `(below + above)²/8`-zCDP.
    """

    below: Number = field(non_negative_number)
    above: Number = field(non_negative_number)
    theorem: str = ""
    adjacency: Adjacency = Adjacency.ADD_REMOVE

    @property
    def epsilon(self) -> Fraction:
        """Pure cost, the longer side of the interval."""
        return max(self.below, self.above)

    @property
    def rho(self) -> Fraction:
        """Zero-concentrated cost, an eighth of the squared length of the interval."""
        return (self.below + self.above) ** 2 / 8  # at most ε²/2

    def __str__(self) -> str:
        return f"{decimal_text(self.epsilon)}-DP (loss in [-{decimal_text(self.below)}, {decimal_text(self.above)}])"


@value
class WorstOfSteps(_NeverFails):
    """One of several steps, chosen by an output released before: ε-DP and ρ-zCDP with the largest of each.

    The step with the largest ε need not be the one with the largest ρ. No worst pair of laws is known for it.
    """

    epsilon: Number = field(non_negative_number)
    rho: Number = field(non_negative_number)
    theorem: str = ""
    adjacency: Adjacency = Adjacency.ADD_REMOVE

    def __str__(self) -> str:
        return f"{decimal_text(self.epsilon)}-DP and {decimal_text(self.rho)}-zCDP"


@value
class ZCDP:
    """ρ-zero-concentrated differential privacy outside an event of probability δ (P0.4).

    Attributes:
        rho: Zero-concentrated cost.
        delta: Probability of the event in which the guarantee does not hold.
        theorem: Theorem that proves the guarantee.
        adjacency: Pairs of data sets it holds for.
    """

    rho: Number = field(non_negative_number)
    delta: Number = field(proportion, default=0)
    theorem: str = ""
    adjacency: Adjacency = Adjacency.ADD_REMOVE

    @property
    def epsilon(self) -> None:
        """None: zCDP has no pure cost."""
        return None

    def __str__(self) -> str:
        text = f"{decimal_text(self.rho)}-zCDP"
        return f"{text} outside probability {decimal_text(self.delta)}" if self.delta else text


@value
class GaussianDP(_NeverFails):
    """As private as the Gaussian mechanism with sensitivity over σ equal to μ, `mu_squared = μ²` (P2.6); μ²/2-zCDP."""

    mu_squared: Number = field(non_negative_number)
    theorem: str = ""
    adjacency: Adjacency = Adjacency.ADD_REMOVE

    @property
    def epsilon(self) -> None:
        """None: Gaussian noise has no pure cost."""
        return None

    @property
    def rho(self) -> Fraction:
        """Zero-concentrated cost, μ²/2."""
        return self.mu_squared / 2

    def __str__(self) -> str:
        return f"Gaussian privacy, mu² = {decimal_text(self.mu_squared)}"


@value
class ApproxDP:
    """(ε, δ)-differential privacy.

    Attributes:
        epsilon: ε.
        delta: δ.
        theorem: Theorem that proves the guarantee.
        adjacency: Pairs of data sets it holds for.
    """

    epsilon: Number = field(non_negative_number)
    delta: Number = field(proportion)
    theorem: str = ""
    adjacency: Adjacency = Adjacency.ADD_REMOVE

    @property
    def rho(self) -> None:
        """None: an (ε, δ) guarantee has no zero-concentrated cost."""
        return None

    def __str__(self) -> str:
        return f"({decimal_text(self.epsilon)}, {decimal_text(self.delta)})-DP"
