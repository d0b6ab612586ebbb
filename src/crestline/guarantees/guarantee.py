"""The promise as a value: exact numbers, whose presence is hidden, and the theorem that says so.

A guarantee is also a step that accountants compose (`cost.py`): each kind states its zero-concentrated cost `rho` and,
if it has one, its pure `epsilon` (P10.1). Rounding, where it cannot be avoided, weakens the claim.
"""

from __future__ import annotations

from enum import Enum
from fractions import Fraction
from typing import Protocol, runtime_checkable

from crestline.exact_fields import Number, field, value
from crestline.exact_numbers import decimal_text, non_negative_number, proportion


class Adjacency(Enum):
    """Which two data sets must look alike."""

    ADD_REMOVE = "add or remove one user"
    USER_PERIOD = "add or remove one user's rows of one period"


@runtime_checkable
class Guarantee(Protocol):
    """What every promise states; `rho` and `epsilon` are None where it has none, `delta` is zero."""

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
    """A promise without an event in which it does not hold."""

    @property
    def delta(self) -> Fraction:
        """Zero: the promise always holds."""
        return Fraction(0)


@value
class PureDP(_NeverFails):
    """ε-differential privacy; ε²/2-zCDP (Bun and Steinke 2016; U1)."""

    epsilon: Number = field(non_negative_number)
    theorem: str = ""
    adjacency: Adjacency = Adjacency.ADD_REMOVE

    @property
    def rho(self) -> Fraction:
        return self.epsilon**2 / 2

    def __str__(self) -> str:
        return f"{decimal_text(self.epsilon)}-DP"


@value
class BoundedRange(_NeverFails):
    """The log ratio of the two laws lies in one interval of length ε (P0.4); ε-DP and ε²/8-zCDP (P2.2)."""

    epsilon: Number = field(non_negative_number)
    theorem: str = ""
    adjacency: Adjacency = Adjacency.ADD_REMOVE

    @property
    def rho(self) -> Fraction:
        return self.epsilon**2 / 8

    def __str__(self) -> str:
        return f"{decimal_text(self.epsilon)}-bounded range"


@value
class LossInterval(_NeverFails):
    """The log ratio of the two laws lies in `[-below, above]` for one order of the neighbours, and in the mirror image
    for the other (P2.4). Pure cost `max(below, above)`; by its range, `(below + above)²/8`-zCDP."""

    below: Number = field(non_negative_number)
    above: Number = field(non_negative_number)
    theorem: str = ""
    adjacency: Adjacency = Adjacency.ADD_REMOVE

    @property
    def epsilon(self) -> Fraction:
        return max(self.below, self.above)

    @property
    def rho(self) -> Fraction:
        return (self.below + self.above) ** 2 / 8  # at most ε²/2

    def __str__(self) -> str:
        return f"{decimal_text(self.epsilon)}-DP (loss in [-{decimal_text(self.below)}, {decimal_text(self.above)}])"


@value
class WorstOfSteps(_NeverFails):
    """One of several steps, whichever a choice that was released before takes: ε-DP and ρ-zCDP, the most of any.

    The dearest step by ε need not be the dearest by ρ. No worst pair of laws is known of it.
    """

    epsilon: Number = field(non_negative_number)
    rho: Number = field(non_negative_number)
    theorem: str = ""
    adjacency: Adjacency = Adjacency.ADD_REMOVE

    def __str__(self) -> str:
        return f"{decimal_text(self.epsilon)}-DP and {decimal_text(self.rho)}-zCDP"


@value
class ZCDP:
    """ρ-zero-concentrated differential privacy outside an event of probability δ (P0.4)."""

    rho: Number = field(non_negative_number)
    delta: Number = field(proportion, default=0)
    theorem: str = ""
    adjacency: Adjacency = Adjacency.ADD_REMOVE

    @property
    def epsilon(self) -> None:
        return None

    def __str__(self) -> str:
        text = f"{decimal_text(self.rho)}-zCDP"
        return f"{text} outside probability {decimal_text(self.delta)}" if self.delta else text


@value
class GaussianDP(_NeverFails):
    """As good as the Gaussian mechanism with sensitivity over σ equal to μ, `mu_squared = μ²` (P2.6); μ²/2-zCDP."""

    mu_squared: Number = field(non_negative_number)
    theorem: str = ""
    adjacency: Adjacency = Adjacency.ADD_REMOVE

    @property
    def epsilon(self) -> None:
        return None

    @property
    def rho(self) -> Fraction:
        return self.mu_squared / 2

    def __str__(self) -> str:
        return f"Gaussian privacy, mu² = {decimal_text(self.mu_squared)}"


@value
class ApproxDP:
    """(ε, δ)-differential privacy."""

    epsilon: Number = field(non_negative_number)
    delta: Number = field(proportion)
    theorem: str = ""
    adjacency: Adjacency = Adjacency.ADD_REMOVE

    @property
    def rho(self) -> None:
        return None

    def __str__(self) -> str:
        return f"({decimal_text(self.epsilon)}, {decimal_text(self.delta)})-DP"
