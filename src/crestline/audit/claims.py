"""Claims: how far a guarantee lets the probabilities of an event on two neighbouring data sets differ.

An event with probability q on one data set may have at most `largest_allowed_chance(q)` on the neighbour. For (ε, δ)-DP
and Gaussian DP this condition on all events is the whole promise. For zCDP and bounded range it is weaker than the
promise, so `needed_parameter` compares whole laws. An attack reports the smallest `parameter` that would allow what it
observed.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property, singledispatch
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from crestline.errors import MechanismError
from crestline.guarantees.guarantee import ZCDP, ApproxDP, GaussianDP, LossInterval, PureDP, WorstOfSteps
from crestline.guarantees.guarantee import BoundedRange as BoundedRangeGuarantee
from crestline.guarantees.root_finding import bisect_floats

Floats = NDArray[np.float64]
Law = Mapping[Any, float]

# Laws are exact to 1e-10 for each outcome; a smaller difference may be rounding.
ROUNDING = 1e-9
_LARGEST = 512.0
_ORDERS = 1.0 + np.logspace(-3, 4, 64)


class Claim(Protocol):
    """A guarantee as the auditor uses it: a family of promises with one numeric parameter."""

    @property
    def unit(self) -> str:
        """Name of the parameter."""
        ...

    @property
    def claimed_parameter(self) -> float:
        """The parameter that the guarantee states."""
        ...

    @property
    def delta(self) -> float:
        """The δ that the guarantee states; 0 without one."""
        ...

    def largest_allowed_chance(self, chance: Floats, parameter: float) -> Floats:
        """Largest probability of an event that has probability `chance` on the neighbour."""
        ...

    def needed_parameter(self, first: Law, second: Law, least: float = 0.0) -> float:
        """Smallest parameter, not below `least`, that allows the two laws in both orders."""
        ...


def strength_of_event(claim: Claim, above: float, below: float) -> float:
    """Smallest parameter that allows an event probability `above` on one data set and `below` on the neighbour."""
    above_chances, below_chances = np.array([above]), np.array([below])
    return _smallest(
        lambda parameter: bool(np.all(above_chances <= claim.largest_allowed_chance(below_chances, parameter))), 0.0
    )


@singledispatch
def claim(guarantee: object) -> Claim:
    """Claim of a guarantee: one of crestline's kinds, or any object with an `epsilon` and perhaps a `delta`.

    Raises:
        MechanismError: The object is neither.
    """
    epsilon = getattr(guarantee, "epsilon", None)
    if epsilon is None or type(guarantee).__module__.startswith("crestline."):
        raise MechanismError(
            "guarantee() must return cl.PureDP(…), cl.ApproxDP(…), cl.ZCDP(…) or cl.BoundedRange(…), "
            f"not {type(guarantee).__name__}"
        )
    return ApproximateClaim(float(epsilon), float(getattr(guarantee, "delta", 0) or 0))


@claim.register(PureDP)
@claim.register(ApproxDP)
def _(guarantee: PureDP | ApproxDP) -> Claim:
    return ApproximateClaim(float(guarantee.epsilon), float(guarantee.delta))


@claim.register
def _(guarantee: GaussianDP) -> Claim:
    return GaussianClaim(math.sqrt(guarantee.mu_squared))


@claim.register
def _(guarantee: ZCDP) -> Claim:
    return ZcdpClaim(float(guarantee.rho), float(guarantee.delta))


@claim.register
def _(guarantee: BoundedRangeGuarantee) -> Claim:
    return BoundedRangeClaim(float(guarantee.epsilon))


@claim.register
def _(guarantee: WorstOfSteps) -> Claim:
    # It promises a ρ as well. Testing ε alone can miss a violation but never reports a false one.
    return ApproximateClaim(float(guarantee.epsilon), 0.0)


@claim.register
def _(guarantee: LossInterval) -> Claim:
    return BoundedRangeClaim(float(guarantee.below + guarantee.above), cap=float(guarantee.epsilon))


@dataclass(frozen=True)
class _EventClaim(ABC):
    """Base of claims that allow two laws exactly when they allow the events of largest ratio."""

    claimed_parameter: float
    delta: float = 0.0

    symbol: ClassVar[str]

    @property
    def unit(self) -> str:
        return f"{self.symbol} at δ = {self.delta:g}" if self.delta else self.symbol

    @abstractmethod
    def largest_allowed_chance(self, chance: Floats, parameter: float) -> Floats: ...

    def needed_parameter(self, first: Law, second: Law, least: float = 0.0) -> float:
        curves = (ratio_curve(first, second), ratio_curve(second, first))

        def is_enough(parameter: float) -> bool:
            return all(
                np.all(above - ROUNDING <= self.largest_allowed_chance(below, parameter)) for above, below in curves
            )

        return _smallest(is_enough, least)


class ApproximateClaim(_EventClaim):
    """(ε, δ)-DP; pure DP where δ = 0."""

    symbol = "ε"

    def largest_allowed_chance(self, chance: Floats, parameter: float) -> Floats:
        direct = math.exp(parameter) * chance + self.delta
        reverse = 1.0 - math.exp(-parameter) * (1.0 - chance - self.delta)  # the event's complement, other order
        return np.minimum(1.0, np.minimum(direct, reverse))


class GaussianClaim(_EventClaim):
    """Gaussian DP with parameter μ (P2.6)."""

    symbol = "μ"

    def largest_allowed_chance(self, chance: Floats, parameter: float) -> Floats:
        from scipy.special import ndtr, ndtri

        result: Floats = ndtr(ndtri(chance) + parameter)
        return result


@dataclass(frozen=True)
class BoundedRangeClaim:
    """Bounded range (P0.4): log ratios lie in an interval of length `parameter`.

    At the claimed parameter no log ratio may exceed the `cap`.
    """

    claimed_parameter: float
    delta: float = 0.0
    unit: str = "ε of bounded range"
    cap: float = math.inf

    def largest_allowed_chance(self, chance: Floats, parameter: float) -> Floats:
        factor = math.exp(parameter)
        by_range = chance * factor / (1.0 - chance + chance * factor)
        if self.cap == math.inf:
            return by_range
        capped = ApproximateClaim(self.cap).largest_allowed_chance(
            chance, max(0.0, self.cap + parameter - self.claimed_parameter)
        )
        return np.minimum(by_range, capped)

    def needed_parameter(self, first: Law, second: Law, least: float = 0.0) -> float:
        above, below = _align_laws(first, second)
        with np.errstate(divide="ignore", invalid="ignore"):
            high = np.log(np.maximum(above - ROUNDING, 0.0)) - np.log(below + ROUNDING)
            low = np.log(above + ROUNDING) - np.log(np.maximum(below - ROUNDING, 0.0))
        ends = float(np.nanmax(high)), float(np.nanmin(low))
        by_cap = max(ends[0], -ends[1]) - self.cap + self.claimed_parameter
        return max(least, ends[0] - ends[1], by_cap)


class ZcdpClaim(_EventClaim):
    """ρ-zCDP outside an event of probability δ: the Rényi divergence of every order a is at most a·ρ (P0.4)."""

    symbol = "ρ"

    def largest_allowed_chance(self, chance: Floats, parameter: float) -> Floats:
        inside = np.minimum(1.0, np.asarray(chance, dtype=np.float64) / (1.0 - self.delta))
        low, high = inside.copy(), np.ones_like(inside)
        for _ in range(44):
            middle = (low + high) / 2
            fits = _binary_renyi_fits(middle, inside, parameter)
            low, high = np.where(fits, middle, low), np.where(fits, high, middle)
        return np.minimum(1.0, high + self.delta)

    def needed_parameter(self, first: Law, second: Law, least: float = 0.0) -> float:
        if self.delta:
            return super().needed_parameter(first, second, least)
        above, below = _align_laws(first, second)
        return max(least, _renyi_rate(above, below), _renyi_rate(below, above))


@dataclass(frozen=True)
class TabulatedCeiling:
    """`largest_allowed_chance` at the claimed parameter, interpolated from a table: fast enough for learning events."""

    claim: Claim

    @cached_property
    def _points(self) -> tuple[Floats, Floats]:
        tail = np.logspace(-9, math.log10(0.5), 300)
        chances = np.concatenate([[0.0], tail, 1.0 - tail[-2::-1], [1.0]])
        return chances, self.claim.largest_allowed_chance(chances, self.claim.claimed_parameter)

    def largest_allowed_chance(self, chance: Floats) -> Floats:
        """Largest probability of an event that has probability `chance` on the neighbour."""
        return np.interp(chance, *self._points)

    def slope(self, chance: Floats) -> Floats:
        """Approximate derivative of `largest_allowed_chance`."""
        step = np.maximum(1e-6, 0.01 * np.minimum(chance, 1.0 - chance))
        low, high = np.maximum(chance - step, 0.0), np.minimum(chance + step, 1.0)
        result: Floats = (self.largest_allowed_chance(high) - self.largest_allowed_chance(low)) / (high - low)
        return result


def outcomes_by_ratio(first: Law, second: Law) -> list[Any]:
    """Outcomes of both laws by their ratio of probabilities, the largest ratio of the first law to the second first."""

    def ratio(outcome: Hashable) -> float:
        above, below = first.get(outcome, 0.0), second.get(outcome, 0.0)
        return above / below if below else math.inf if above else 0.0

    return sorted({**first, **second}, key=ratio, reverse=True)


def ratio_curve(first: Law, second: Law) -> tuple[Floats, Floats]:
    """Probabilities under both laws of the most telling events: sets of outcomes, added in order of falling ratio."""
    above, below = _align_laws(first, second)
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.argsort(-np.nan_to_num(above / below, nan=0.0, posinf=np.inf), kind="stable")
    return np.minimum(np.cumsum(above[order]), 1.0), np.minimum(np.cumsum(below[order]), 1.0)


def _align_laws(first: Law, second: Law) -> tuple[Floats, Floats]:
    """Probabilities of all outcomes of both laws, in the same order."""
    outcomes = {**first, **second}
    above = np.array([first.get(outcome, 0.0) for outcome in outcomes])
    return above, np.array([second.get(outcome, 0.0) for outcome in outcomes])


def _smallest(enough: Callable[[float], bool], least: float) -> float:
    """Smallest parameter, not below `least`, that is enough; infinite if none up to 512 is."""
    if enough(least):
        return least
    low, high = least, max(1.0, 2 * least)
    while not enough(high):
        if high >= _LARGEST:
            return math.inf
        low, high = high, 2 * high
    return bisect_floats(enough, low, high, turns=50)[1]


def _binary_renyi_fits(above: Floats, below: Floats, rho: float) -> NDArray[np.bool_]:
    """Whether two Bernoulli laws, in both orders, have Rényi divergence at most a·ρ for every order a of the grid."""
    p, q, a = above[..., None], below[..., None], _ORDERS
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        sizes = [
            np.logaddexp(a * np.log(x) + (1 - a) * np.log(y), a * np.log1p(-x) + (1 - a) * np.log1p(-y))
            for x, y in ((p, q), (q, p))
        ]
    bound = (a - 1) * a * rho
    fits: NDArray[np.bool_] = np.all(
        [np.nan_to_num(size, nan=0.0, posinf=np.inf) <= bound for size in sizes], axis=(0, 2)
    )
    return fits


def _renyi_rate(above: Floats, below: Floats) -> float:
    """Largest `D_a / a` over the orders, each probability moved by `ROUNDING` in the mechanism's favour."""
    is_positive = above > ROUNDING
    p, q = above[is_positive] - ROUNDING, below[is_positive] + ROUNDING
    logs = _ORDERS[:, None] * np.log(p) + (1 - _ORDERS[:, None]) * np.log(q)
    peak = logs.max(axis=1)
    divergence = (peak + np.log(np.exp(logs - peak[:, None]).sum(axis=1))) / (_ORDERS - 1)
    return float(np.max(divergence / _ORDERS))
