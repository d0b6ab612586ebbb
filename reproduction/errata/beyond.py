"""What breaks beyond the papers' own words: shortcuts that look harmless (P1.6, P2.2, P2.5)."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np

from crestline.audit.neighbours import Counts, small_histogram_pairs
from crestline.mechanisms.limited_domain.law import exact_law
from crestline.mechanisms.stability.sparse_vector_law import first_success_law
from crestline.randomness.laws.exponential import EXPONENTIAL
from crestline.randomness.laws.half_logistic import HALF_LOGISTIC
from crestline.randomness.laws.laplace import LAPLACE
from crestline.randomness.laws.law import Law
from reproduction.errata.finding import Kind, Shown, shows
from reproduction.errata.laws import OutputLaw, first_of, loss, pair_text, spread, worst


@shows("P1.6 d")
def strict_domain_with_a_contribution_bound() -> Shown:
    """The strict domain: one user who moves the threshold makes three labels vanish at once."""
    epsilon, delta, k_bar = 0.5, 0.1, 3

    def law(counts: Counts, m: int) -> OutputLaw:
        ranked = sorted(((-count, label) for label, count in counts.items() if count))
        b = -ranked[k_bar][0] if len(ranked) > k_bar else 0
        kept = [(label, -count) for count, label in ranked[:k_bar] if -count > b]
        scores = [epsilon * (count - b - 1) for _, count in kept] + [float(np.log(m * (1 - delta) / delta))]
        return exact_law(np.array(scores), [label for label, _ in kept], 1)

    pairs = list(small_histogram_pairs("abcd", 3, contribution=1))
    broken = worst(lambda counts: law(counts, 1), pairs, epsilon)
    right = worst(lambda counts: law(counts, k_bar), pairs, epsilon)
    return Shown("δ at ε = 0.5, Δ = 1, k = 1", broken.delta, delta, pair_text(broken), right.delta)


def _widest(noise: Law, epsilon: float) -> float:
    """The largest range of the log ratio over lists of three counts, one item named."""
    found = 0.0
    for counts in product((0, 1, 2, 5), repeat=3):
        for moved in product((0, 1), repeat=3):
            laws = [
                dict(
                    enumerate(
                        first_of(
                            [epsilon * (count + up * more) for count, up in zip(counts, moved, strict=True)], noise
                        )
                    )
                )
                for more in (1, 0)
            ]
            found = max(found, spread(*laws))
    return found / epsilon


@shows("P2.2", Kind.WRONG)
def range_of_permute_and_flip() -> Shown:
    """Exponential noise is ε-DP and not ε-bounded range."""
    return Shown("range in ε, exponential noise", _widest(EXPONENTIAL, 0.5), 1.0, "lists of three counts, ε = 0.5")


@shows("P2.2 Laplace", Kind.WRONG)
def range_of_laplace_noise() -> Shown:
    """So is Laplace noise."""
    return Shown("range in ε, Laplace noise", _widest(LAPLACE, 0.5), 1.0, "lists of three counts, ε = 0.5")


@shows("P2.2 half-logistic", Kind.WRONG)
def range_of_half_logistic_noise() -> Shown:
    """So is half-logistic noise."""
    return Shown("range in ε, half-logistic noise", _widest(HALF_LOGISTIC, 0.5), 1.0, "lists of three counts, ε = 0.5")


@shows("P2.5")
def noise_for_gaps_that_move_either_way() -> Shown:
    """A test that stops at the first success needs noise of scale 2/ε₂ on the gaps."""
    shared = Fraction(1, 2)
    gaps, near = [20.0] * 5 + [-20.0], [19.0] * 5 + [-19.0]
    found = []
    for tested in (Fraction(1, 2), Fraction(1, 4)):
        laws = [
            dict(enumerate(first_success_law(np.array(some), 0.0, tested, shared, LAPLACE))) for some in (near, gaps)
        ]
        found.append(loss(*laws))
    return Shown("loss at ε₁ + ε₂ = 1", found[0], 1.0, "five gaps of 20 fall by one, one of -20 rises by one", found[1])
