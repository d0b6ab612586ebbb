"""Composition: one function per theorem, for k steps of one kind (P10.3).

Each takes exact numbers and returns an ε, rounded up, such that the k steps together are (ε, δ)-DP. The steps may be
chosen adaptively, their number and their parameter may not. The first line of each function states what the theorem
requires of a step; a bounded-range step is also a pure step, so every theorem here holds for k draws of an exponential
mechanism.

Numerics    certified: closed forms in ball arithmetic, rounded up; `adaptive_optimum` on a grid, rounded up
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from flint import arb

from crestline.exact_numbers import Exact, non_negative_number, probability, whole_number
from crestline.guarantees import renyi
from crestline.guarantees.conversion import zcdp_epsilon
from crestline.guarantees.cost import RepeatedStep
from crestline.guarantees.guarantee import BoundedRange
from crestline.guarantees.optimum.optimum import adaptive_epsilon
from crestline.guarantees.rounding import BITS, ball, decimal_above, precision

Theorem: TypeAlias = Callable[[int, Exact, Exact], Fraction]


def basic_composition(k: int, epsilon: Exact) -> Fraction:
    """k ε-DP steps are kε-DP (B1; Dwork, McSherry, Nissim & Smith 2006)."""
    return whole_number(k, "k", at_least=0) * non_negative_number(epsilon, "epsilon")


def advanced_composition(k: int, epsilon: Exact, delta: Exact) -> Fraction:
    """k ε-DP steps: kε(e^ε - 1) + ε√(2k ln(1/δ)) (Dwork, Rothblum & Vadhan 2010, Theorem III.3)."""
    steps, size, slack = _checked_balls(k, epsilon, delta)
    with precision():
        return decimal_above(steps * size * size.expm1() + size * (-2 * steps * slack.log()).sqrt())


def optimal_composition(k: int, epsilon: Exact, delta: Exact) -> Fraction:
    """k ε-DP steps: the smallest ε that holds for all of them (Kairouz, Oh & Viswanath 2015; [DR] Lemma A.1).

    Randomised response with loss ±ε dominates every ε-DP step, so the worst case is a binomial law of losses (k - 2l)ε.
    With P_j and Q_j the masses of the j largest losses under the two laws, (a, δ) holds iff `P_j - e^a Q_j <= δ` for
    all j.
    """
    count = whole_number(k, "k", at_least=0)
    size, slack = non_negative_number(epsilon, "epsilon"), probability(delta, "delta")
    if not count * size:
        return Fraction(0)
    with precision():
        growth, target, best = ball(size).exp(), ball(slack), arb(1)
        mass = (growth / (1 + growth)) ** count  # mass of the largest loss under the first law
        ratio, above, beside = growth**-count, arb(0), arb(0)  # Q/P of the current loss, P_j and Q_j
        for fewer in range(count):  # without the last loss: P_j = Q_j = 1 there, which gives no bound
            above += mass
            beside += mass * ratio
            best = best.max((above - target) / beside)
            if best * ratio > 1:
                break  # the quotient only falls from here: each further loss adds a smaller one
            mass *= ball(Fraction(count - fewer, fewer + 1)) / growth
            ratio *= growth**2
        return decimal_above(best.log())


def bounded_range(k: int, epsilon: Exact, delta: Exact) -> Fraction:
    """k ε-bounded-range steps: kε²/2 + ε√(k ln(1/δ)/2) (B2; [DR] Lemma 4.4)."""
    steps, size, slack = _checked_balls(k, epsilon, delta)
    with precision():
        return decimal_above(steps * size**2 / 2 + size * _azuma_deviation(steps, slack))


def dong_durfee_rogers(k: int, epsilon: Exact, delta: Exact) -> Fraction:
    """k ε-bounded-range steps, with their exact mean loss (B3; Dong, Durfee & Rogers 2020; [FW] Equation 12)."""
    if non_negative_number(epsilon, "epsilon") == 0:
        return Fraction(0)
    steps, size, slack = _checked_balls(k, epsilon, delta)
    with precision():
        return decimal_above(
            steps * _mean_loss(non_negative_number(epsilon, "epsilon")) + size * _azuma_deviation(steps, slack)
        )


def zero_concentrated(k: int, epsilon: Exact, delta: Exact) -> Fraction:
    """k ε-bounded-range steps, each ε²/8-zCDP: Z(kε²/8, δ) (B4; Cesar & Rogers 2021, P2.2, P10.2)."""
    return zcdp_epsilon(whole_number(k, "k", at_least=0) * non_negative_number(epsilon, "epsilon") ** 2 / 8, delta)


def renyi_bounded_range(k: int, epsilon: Exact, delta: Exact) -> Fraction:
    """k ε-bounded-range steps, with the exact Rényi curve of one step (B5)."""
    count, size = whole_number(k, "k", at_least=0), non_negative_number(epsilon, "epsilon")
    curves = ((renyi.bounded_range(size), count),) if size else ()
    return renyi.epsilon(curves, probability(delta, "delta"))


def adaptive_optimum(k: int, epsilon: Exact, delta: Exact) -> Fraction:
    """k ε-bounded-range steps: the smallest ε for all of them, up to rounding (B6; Dong, Durfee & Rogers 2020).

    Where that takes too long to compute, beyond some thousand steps, returns the smaller of basic composition and B5,
    which is a few per cent more.
    """
    count, size = whole_number(k, "k", at_least=0), non_negative_number(epsilon, "epsilon")
    found = adaptive_epsilon((RepeatedStep(BoundedRange(size), count),), probability(delta, "delta"))
    return min(basic_composition(count, size), renyi_bounded_range(count, size, delta)) if found is None else found


@dataclass(frozen=True)
class CompositionTheorem:
    """A composition theorem with its names, for tables that compare several."""

    name: str
    theorem: str
    epsilon: Theorem


BOUNDS = (
    CompositionTheorem("basic", "basic composition (B1)", lambda k, epsilon, delta: basic_composition(k, epsilon)),
    CompositionTheorem("advanced", "advanced composition (Dwork, Rothblum & Vadhan)", advanced_composition),
    CompositionTheorem("optimal DP", "optimal for pure steps (Kairouz, Oh & Viswanath)", optimal_composition),
    CompositionTheorem("bounded range", "bounded range (B2, [DR] Lemma 4.4)", bounded_range),
    CompositionTheorem("Dong et al.", "bounded range with the exact mean (B3)", dong_durfee_rogers),
    CompositionTheorem("zCDP", "zCDP composition and conversion (B4, P10.2)", zero_concentrated),
    CompositionTheorem("Rényi", "Rényi composition with exact curves (B5)", renyi_bounded_range),
    CompositionTheorem("optimum", "exact adaptive optimum, certified (B6)", adaptive_optimum),
)


def _checked_balls(k: int, epsilon: Exact, delta: Exact) -> tuple[arb, arb, arb]:
    """Check the three arguments and return them as balls."""
    with precision():
        return (
            ball(whole_number(k, "k", at_least=0)),
            ball(non_negative_number(epsilon, "epsilon")),
            ball(probability(delta, "delta")),
        )


def _azuma_deviation(steps: arb, slack: arb) -> arb:
    """√(k ln(1/δ)/2): Azuma's inequality for losses of range one."""
    return (-steps * slack.log() / 2).sqrt()


def _mean_loss(epsilon: Fraction) -> arb:
    """r - 1 - ln r with r = ε/(1 - e^-ε): about ε²/8, so tiny ε need more bits rather than a series."""
    digits_lost = max(0, epsilon.denominator.bit_length() - epsilon.numerator.bit_length())
    with precision(BITS + 4 * digits_lost):  # more bits, since the terms cancel; the balls carry the error that remains
        ratio = ball(epsilon) / -ball(-epsilon).expm1()
        return ratio - 1 - ratio.log()
