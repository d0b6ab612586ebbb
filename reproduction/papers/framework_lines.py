"""The mechanisms of [FW], with the paper's own accountant and splits, and ours at the same total (ε, δ)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from crestline.guarantees.gaussian import sigma_for
from crestline.mechanisms.framework.gap_tests.sparse import LaplaceTest
from crestline.mechanisms.framework.gumbel import RestrictedGumbel
from crestline.mechanisms.framework.normal import RestrictedNormal
from crestline.mechanisms.limited_domain.gumbel import LimitedDomain
from crestline.mechanisms.limited_domain.laplace import LimitedDomainLaplace
from crestline.mechanisms.public_list.lipschitz import Lipschitz
from crestline.mechanisms.stability.top_stable import TopStable
from crestline.prepare import prepare
from crestline.question import Limits, Question
from reproduction.as_published import dong_durfee_rogers, per_step_scan
from reproduction.experiment import Cell
from reproduction.papers import framework_grid as grid
from reproduction.simulate import Make

_TEST_STEPS = 4  # [FW] 8.2: the test gets four times LD's step
_SHRINK = 1 - 1e-4


def _step(one: Cell, epsilon: float, slack: float) -> float:
    return per_step_scan(dong_durfee_rogers, one.k, epsilon, slack)


def _limited(one: Cell) -> LimitedDomain:
    """Half of δ for composition, half for ⊥."""
    half = one.delta / 2
    return LimitedDomain(one.k, one.k_bar, _step(one, float(one.epsilon), float(half)), half, slack=half)


def _restricted_gumbel(one: Cell) -> RestrictedGumbel:
    total, half = float(one.epsilon), float(one.delta / 2)
    test = _TEST_STEPS * _step(one, total, half)
    return RestrictedGumbel(
        one.k, one.k_bar, _step(one, total - test, half), _paper_test(test, half), slack=one.delta / 2
    )


def _paper_test(epsilon: float, delta: float) -> LaplaceTest:
    """The test with the paper's threshold, ln(1/q) for the q that meets its bound q (3 + ln(1/q))/4 (E-C5).

    Ours solves the exact tail q (2 + ln(1/q))/4 for q, so this is the δ at which both are the same.
    """
    one = delta
    while one / 4 * (3 + math.log(1 / one)) > delta:
        one *= _SHRINK
    return LaplaceTest(epsilon, one / 4 * (2 + math.log(1 / one)))


def _limited_laplace(one: Cell) -> LimitedDomainLaplace:
    """As their experiments have it (E-A3): (Δε, (e^{Δε} + 1) δ0 (3 + ln(Δ/δ0))/4)."""
    bound, total = grid.DELTA_BOUND, float(one.delta)
    small = total
    while (math.exp(float(one.epsilon)) + 1) * small / 4 * (3 + math.log(bound / small)) > total:
        small *= _SHRINK
    exact = small / 4 * (2 + math.log(bound / small))  # the exact tail at their threshold ln(Δ/δ0)/ε (P4.1)
    return LimitedDomainLaplace(one.k, one.k_bar, one.epsilon / bound, exact, bound, threshold="closed")


def _restricted_normal(one: Cell) -> RestrictedNormal:
    """ε_R = 4ε/Δ; the rest over √Δ, as their Theorem 8 charges it (E-C6: √Δ too much)."""
    bound, half = grid.DELTA_BOUND, one.delta / 2
    test = _TEST_STEPS * one.epsilon / bound
    size = float(one.epsilon - test) / math.sqrt(bound)
    noise = sigma_for(size, half, bound)
    return RestrictedNormal(one.k, one.k_bar, noise, _paper_test(float(test), float(half)), bound, slack=half)


def _exponential(one: Cell) -> Lipschitz:
    """Peeling over a public list of all items: all of δ is for composition."""
    step = _step(one, float(one.epsilon), float(one.delta))
    return Lipschitz(one.k, one.k * Fraction(step), slack=one.delta)


def _auto(one: Cell, *, public_list: bool = False, contribution: int | None = None, k_bar: int | None = None) -> Any:
    question = Question(
        k=one.k, epsilon=one.epsilon, delta=one.delta, contribution=contribution, k_bar=k_bar, ordered=not public_list
    )
    return prepare(
        question, limits=Limits(public_list=public_list, views=("slots",))
    ).mechanism  # counts are all we have


LINES: Mapping[str, Make] = {
    grid.RG: _restricted_gumbel,
    grid.LD: _limited,
    grid.OUR_RG: lambda one: RestrictedGumbel.for_budget(
        k=one.k, k_bar=one.k_bar, epsilon=one.epsilon, delta=one.delta
    ),
    grid.AUTO: _auto,
    grid.TS: lambda one: TopStable(one.k, one.k, one.epsilon, one.delta, "0.37", "laplace"),
    grid.LL: _limited_laplace,
    grid.RN: _restricted_normal,
    grid.BOUNDED: lambda one: _auto(one, contribution=grid.DELTA_BOUND, k_bar=one.k_bar),
}
PUBLIC: Mapping[str, Make] = {grid.EM: _exponential, grid.LISTED: lambda one: _auto(one, public_list=True)}
