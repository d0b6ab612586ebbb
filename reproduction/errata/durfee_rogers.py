"""[DR] Durfee and Rogers, Practical differentially private top-k selection with pay-what-you-get composition."""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from crestline.audit.neighbours import Counts, small_histogram_pairs
from crestline.guarantees.composition import bounded_range, zero_concentrated
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.limited_domain.additive_law import ordered_law
from crestline.mechanisms.limited_domain.gumbel import LimitedDomain
from crestline.mechanisms.limited_domain.law import exact_law
from crestline.mechanisms.selection import select_set
from crestline.randomness.laws.gumbel import GUMBEL
from crestline.randomness.laws.laplace import LAPLACE
from reproduction.errata.finding import Kind, Shown, shows
from reproduction.errata.laws import OutputLaw, ReflectedGumbel, first_of, loss, pair_text, spread, worst


@shows("E-A1", Kind.WRONG)
def no_stop_when_everything_is_listed() -> Shown:
    """With k_bar = d the stop must vanish; as printed it stays, and the mechanism is not plain peeling."""
    epsilon, delta, counts = 1.0, 0.1, np.array([3.0, 1.0, 0.0])
    bottom = epsilon * 1 + math.log(3 / delta)
    law = exact_law(np.append(epsilon * counts, bottom), ["a", "b", "c"], 3)
    short = math.fsum(chance for said, chance in law.items() if said.stopped)
    return Shown("chance of a short answer", short, 0.0, "counts (3, 1, 0), k = k_bar = d = 3, ε = 1, δ = 0.1")


def _laplace(counts: Counts, k: int, k_bar: int, epsilon: float, height: float) -> OutputLaw:
    """Laplace noise on the slots and on ⊥, whose score is the next count and `height` (P4.1)."""
    histogram = Histogram.from_counts(counts, k_bar)
    scores = np.append(histogram.array, (histogram.next_count or 0) + height).astype(np.float64)
    return ordered_law(scores, LAPLACE, np.full(k_bar + 1, 1 / epsilon), list(histogram.items), k)


@shows("E-A2")
def threshold_of_the_laplace_variant() -> Shown:
    """`ln(Δ/ε)` in place of `ln(Δ/δ)/ε`."""
    epsilon, delta = 0.5, 0.05
    pairs = list(small_histogram_pairs("abc", 3, contribution=1))
    claim = (math.exp(epsilon) + 1) * delta
    printed = worst(lambda counts: _laplace(counts, 2, 2, epsilon, 1 + math.log(1 / epsilon)), pairs, epsilon)
    right = worst(lambda counts: _laplace(counts, 2, 2, epsilon, 1 + math.log(1 / delta) / epsilon), pairs, epsilon)
    return Shown("δ at ε = 0.5, Δ = 1", printed.delta, claim, pair_text(printed), right.delta)


@shows("E-A3", Kind.LOOSE)
def promise_of_the_laplace_variant() -> Shown:
    """Valid and loose: `(e^{Δε} + 1) δ̄` where the exact tail is enough."""
    epsilon, delta = 0.5, 0.05
    height = 1 + math.log(1 / delta) / epsilon
    found = worst(lambda counts: _laplace(counts, 2, 2, epsilon, height), small_histogram_pairs("abc", 3, 1), epsilon)
    exact = delta / 4 * (2 + math.log(1 / delta))
    return Shown("δ at Δε", (math.exp(epsilon) + 1) * delta, exact, "ε = 0.5, Δ = 1, δ̄ = 0.05", found.delta)


@shows("E-A4", Kind.WRONG)
def any_domain_without_the_threshold_items() -> Shown:
    """A fixed domain that avoids both items of rank k_bar + 1: one item and the threshold can move together."""
    epsilon, height = 1.0, 1 + math.log(1 / 0.001)
    best, where = 0.0, ""
    for first, second in product(range(4, 9), repeat=2):
        # Without the user: c has 4, e and j have 3, labels ordered e < j < c; rank 4 is e. With: j has 4, rank 4 is c.
        laws = [_fixed_domain((first, second, 3 + more), 3 + more + height, epsilon) for more in (1, 0)]
        found = loss(*laws)
        if found > best:
            best, where = found, f"a: {first}, b: {second}, c: 4, e: 3, j: 3 and one more user of j; k_bar = 3"
    return Shown("loss at Δ = 1, in ε", best / epsilon, 1.0, where)


def _fixed_domain(counts: tuple[int, ...], bottom: float, epsilon: float) -> OutputLaw:
    scores = np.append(np.array(counts, dtype=np.float64), bottom)
    return ordered_law(scores, LAPLACE, np.full(len(scores), 1 / epsilon), ["a", "b", "j"][: len(counts)], 3)


@shows("E-A7")
def noise_on_the_choice_of_k_bar() -> Shown:
    """Gumbel noise must be subtracted from a cost that is minimised."""
    added, subtracted, where = 0.0, 0.0, ""
    for costs in product(range(0, 13, 4), repeat=4):
        if list(costs) != sorted(costs, reverse=True):
            continue
        for raised in range(1, 5):  # one user raises the largest counts
            others = [cost + (place < raised) for place, cost in enumerate(costs)]
            laws = [dict(enumerate(first_of([-cost for cost in some], ReflectedGumbel()))) for some in (others, costs)]
            right = [dict(enumerate(first_of([-cost for cost in some], GUMBEL))) for some in (others, costs)]
            subtracted = max(subtracted, spread(*right))
            if loss(*laws) > added:
                added, where = loss(*laws), f"costs {costs} against {tuple(others)}"
    return Shown("loss of the choice at ε = 1", added, 1.0, where, subtracted)


@shows("E-A10", Kind.LOOSE)
def failures_of_two_questions() -> Shown:
    """One δ for each question is enough; two are charged."""
    delta = 0.01
    mechanism = LimitedDomain(1, 1, 1, "0.01")
    scores = [dict(mechanism.law(Histogram.from_counts(counts, 1))) for counts in ({"a": 1}, {})]
    named = math.fsum(chance for said, chance in scores[0].items() if said.items)
    assert all(not said.items for said in scores[1])
    twice = 1 - (1 - named) ** 2
    return Shown("δ of two questions", 4 * delta, 2 * delta, "{a: 1} against the empty table, δ = 0.01", twice)


@shows("E-A11")
def condition_of_the_fixed_threshold() -> Shown:
    """Only items above the centre of the noisy threshold are tested, which compares true counts."""
    epsilon, delta, k = 0.5, 0.05, 2
    pairs = list(small_histogram_pairs("abc", 7))

    def law(counts: Counts, printed: bool) -> OutputLaw:
        histogram = Histogram.from_counts(counts, k)
        bar = (histogram.next_count or 0) + 1 + math.log(1 / (2 * delta)) / epsilon
        chances = LAPLACE.survival(epsilon * (bar - histogram.array.astype(np.float64)))
        if printed:
            chances = np.where(histogram.array > bar, chances, 0.0)
        found: dict[object, float] = {}
        for row in product((0, 1), repeat=k):
            said = select_set([histogram.items[slot] for slot in range(k) if row[slot]], k)
            found[said] = found.get(said, 0.0) + float(np.prod(np.where(row, chances, 1 - chances)))
        return found

    broken = worst(lambda counts: law(counts, True), pairs, k * epsilon)
    right = worst(lambda counts: law(counts, False), pairs, k * epsilon)
    return Shown("δ at (kε), k = 2, ε = 0.5, δ = 0.05", broken.delta, k * delta, pair_text(broken), right.delta)


@shows("E-A14", Kind.LOOSE)
def loose_composition() -> Shown:
    """The printed bound on k draws, and zCDP with the best conversion."""
    printed, right = bounded_range(100, "0.1", "1e-6"), zero_concentrated(100, "0.1", "1e-6")
    return Shown("ε of 100 draws of 0.1 at δ = 1e-6", float(printed), float(right), "k = 100")
