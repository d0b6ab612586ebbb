"""The promise as a value: exact numbers, whose presence is hidden, and the theorem that says so.

A guarantee is also a step that accountants compose (`cost.py`): each kind states its zero-concentrated cost `rho` and,
if it has one, its pure `epsilon` (P10.1). Rounding, where it cannot be avoided, weakens the claim.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from typing import Protocol, runtime_checkable

from crestline.parameters import Exact, decimal_text, fill, not_negative, proportion


class Adjacency(Enum):
    """Which two data sets must look alike."""

    ADD_REMOVE = "add or remove one user"


@runtime_checkable
class Guarantee(Protocol):
    """What every promise can tell."""

    @property
    def adjacency(self) -> Adjacency: ...

    @property
    def theorem(self) -> str: ...

    @property
    def rho(self) -> Fraction | None: ...

    @property
    def epsilon(self) -> Fraction | None: ...


@dataclass(frozen=True)
class PureDP:
    """ε-differential privacy; ε²/2-zCDP (Bun and Steinke 2016; U1)."""

    epsilon: Fraction
    theorem: str = ""
    adjacency: Adjacency = Adjacency.ADD_REMOVE

    def __init__(self, epsilon: Exact, theorem: str = "", adjacency: Adjacency = Adjacency.ADD_REMOVE) -> None:
        fill(self, epsilon=not_negative(epsilon, "epsilon"), theorem=theorem, adjacency=adjacency)

    @property
    def delta(self) -> Fraction:
        return Fraction(0)

    @property
    def rho(self) -> Fraction:
        return self.epsilon**2 / 2

    def __str__(self) -> str:
        return f"{decimal_text(self.epsilon)}-DP"


@dataclass(frozen=True)
class BoundedRange:
    """The log ratio of the two laws lies in one interval of length ε (P0.4); ε-DP and ε²/8-zCDP (P2.2)."""

    epsilon: Fraction
    theorem: str = ""
    adjacency: Adjacency = Adjacency.ADD_REMOVE

    def __init__(self, epsilon: Exact, theorem: str = "", adjacency: Adjacency = Adjacency.ADD_REMOVE) -> None:
        fill(self, epsilon=not_negative(epsilon, "epsilon"), theorem=theorem, adjacency=adjacency)

    @property
    def delta(self) -> Fraction:
        return Fraction(0)

    @property
    def rho(self) -> Fraction:
        return self.epsilon**2 / 8

    def __str__(self) -> str:
        return f"{decimal_text(self.epsilon)}-bounded range"


@dataclass(frozen=True)
class LossInterval:
    """The log ratio of the two laws lies in `[-below, above]` for one order of the neighbours, and in the mirror image
    for the other (P2.4). Pure cost `max(below, above)`; by its range, `(below + above)²/8`-zCDP."""

    below: Fraction
    above: Fraction
    theorem: str = ""
    adjacency: Adjacency = Adjacency.ADD_REMOVE

    def __init__(
        self, below: Exact, above: Exact, theorem: str = "", adjacency: Adjacency = Adjacency.ADD_REMOVE
    ) -> None:
        fill(
            self,
            below=not_negative(below, "below"),
            above=not_negative(above, "above"),
            theorem=theorem,
            adjacency=adjacency,
        )

    @property
    def epsilon(self) -> Fraction:
        return max(self.below, self.above)

    @property
    def delta(self) -> Fraction:
        return Fraction(0)

    @property
    def rho(self) -> Fraction:
        return (self.below + self.above) ** 2 / 8  # at most ε²/2

    def __str__(self) -> str:
        return f"{decimal_text(self.epsilon)}-DP (loss in [-{decimal_text(self.below)}, {decimal_text(self.above)}])"


@dataclass(frozen=True)
class ZCDP:
    """ρ-zero-concentrated differential privacy outside an event of probability δ (P0.4)."""

    rho: Fraction
    delta: Fraction = field(default=Fraction(0))
    theorem: str = ""
    adjacency: Adjacency = Adjacency.ADD_REMOVE

    def __init__(
        self, rho: Exact, delta: Exact = 0, theorem: str = "", adjacency: Adjacency = Adjacency.ADD_REMOVE
    ) -> None:
        fill(
            self,
            rho=not_negative(rho, "rho"),
            delta=proportion(delta, "delta"),
            theorem=theorem,
            adjacency=adjacency,
        )

    @property
    def epsilon(self) -> None:
        return None

    def __str__(self) -> str:
        text = f"{decimal_text(self.rho)}-zCDP"
        return f"{text} outside probability {decimal_text(self.delta)}" if self.delta else text


@dataclass(frozen=True)
class GaussianDP:
    """As good as the Gaussian mechanism with sensitivity over σ equal to μ, `mu_squared = μ²` (P2.6); μ²/2-zCDP."""

    mu_squared: Fraction
    theorem: str = ""
    adjacency: Adjacency = Adjacency.ADD_REMOVE

    def __init__(self, mu_squared: Exact, theorem: str = "", adjacency: Adjacency = Adjacency.ADD_REMOVE) -> None:
        fill(self, mu_squared=not_negative(mu_squared, "mu_squared"), theorem=theorem, adjacency=adjacency)

    @property
    def epsilon(self) -> None:
        return None

    @property
    def delta(self) -> Fraction:
        return Fraction(0)

    @property
    def rho(self) -> Fraction:
        return self.mu_squared / 2

    def __str__(self) -> str:
        return f"Gaussian privacy, mu² = {decimal_text(self.mu_squared)}"


@dataclass(frozen=True)
class ApproxDP:
    """(ε, δ)-differential privacy."""

    epsilon: Fraction
    delta: Fraction
    theorem: str = ""
    adjacency: Adjacency = Adjacency.ADD_REMOVE

    def __init__(
        self, epsilon: Exact, delta: Exact, theorem: str = "", adjacency: Adjacency = Adjacency.ADD_REMOVE
    ) -> None:
        fill(
            self,
            epsilon=not_negative(epsilon, "epsilon"),
            delta=proportion(delta, "delta"),
            theorem=theorem,
            adjacency=adjacency,
        )

    @property
    def rho(self) -> None:
        return None

    def __str__(self) -> str:
        return f"({decimal_text(self.epsilon)}, {decimal_text(self.delta)})-DP"
