"""[TS] Carvalho, Wang, Gondara and Miao, Differentially private top-k selection via stability on unknown domain."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np

from crestline.audit.neighbours import Counts
from crestline.audit.testers.exact import hockey_stick_divergence
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.numerics.tails import two_rates
from crestline.mechanisms.stability.sparse_vector_law import first_success_law
from crestline.mechanisms.stability.top_stable import TopStable
from crestline.randomness.laws.laplace import LAPLACE
from reproduction.errata.finding import Kind, Shown, shows
from reproduction.errata.laws import OutputLaw, loss, peeling

_SHARE = Fraction(37, 100)  # of ε for the threshold: what the paper recommends
_RATES = (1 - _SHARE) / 2, _SHARE  # tested, threshold; at ε = 1


def _gap(counts: Counts) -> int:
    histogram = Histogram.from_counts(counts, 1)
    return histogram.counts[0] - (histogram.next_count or 0) - 1


@shows("E-B1", Kind.WRONG)
def distance_of_an_unstable_set() -> Shown:
    """The first item differs, and the distances are -1 and 0: they are not both zero, nor equally likely to pass."""
    without, with_user = {"a": 2, "b": 2}, {"a": 2, "b": 3}
    gaps = _gap(without), _gap(with_user)
    height = Fraction(20)
    passing = [float(two_rates(*_RATES, height - gap)) for gap in gaps]
    where = f"{without} against {with_user}: distances {gaps[0]} and {gaps[1]}"
    return Shown("ratio of the chances to pass", passing[1] / passing[0], 1.0, where)


@shows("E-B2", Kind.WRONG)
def condition_that_excludes_the_default() -> Shown:
    """The utility theorem asks for 3/2 < c < 2; the recommended share has another c."""
    share = float(_SHARE)
    return Shown("c of the recommended share 0.37", 2 * share / (1 - share), 1.5, "c must lie between 1.5 and 2")


@shows("E-B4", Kind.LOOSE)
def tail_of_two_laplace_noises() -> Shown:
    """The printed bound on the tail, and the tail."""
    tested, shared = _RATES
    height = Fraction(30)
    c, one = float(shared / tested), math.exp(-float(tested * height))
    bound = (2 * one**c + one - c * (one**c + 2 * one)) / (4 * (1 - c))
    exact = float(two_rates(tested, shared, height))
    drawn = first_success_law(np.array([0.0]), float(height), tested, shared, LAPLACE)[1]
    return Shown("chance that a noisy 0 passes T = 30", bound, exact, "ε = 1, share 0.37", drawn)


@shows("E-B5")
def histogram_without_the_next_count() -> Shown:
    """With k_bar entries only, the last gap is taken to zero: the top set passes, stable or not."""
    with_user, without = {"a": 30, "b": 31}, {"a": 30, "b": 30}
    height = float(TopStable(1, 1, 1, "0.01", _SHARE, "laplace").threshold)

    def law(counts: Counts, *, cut: bool) -> OutputLaw:
        histogram = Histogram.from_counts(counts, 1)
        behind = 0 if cut or histogram.next_count is None else histogram.next_count
        gap = float(histogram.counts[0] - behind - 1)
        silent, passed = first_success_law(np.array([gap]), height, *_RATES, LAPLACE)
        return {None: silent, histogram.items[0]: passed}

    broken = hockey_stick_divergence(law(with_user, cut=True), law(without, cut=True), 1.0)
    right = hockey_stick_divergence(law(with_user, cut=False), law(without, cut=False), 1.0)
    return Shown("δ at ε = 1", broken, 0.01, f"{with_user} against {without}, k = k_bar = 1", right)


@shows("E-B6")
def budget_of_the_inner_selection() -> Shown:
    """ε_EM for each of k draws is k ε_EM in all."""
    k, epsilon, best, where = 3, 1.0, 0.0, ""
    for counts in product((0, 3, 6, 9), repeat=4):
        for moved in product((0, 1), repeat=4):
            laws = [
                peeling(
                    {
                        place: epsilon * (count + more * up)
                        for place, (count, up) in enumerate(zip(counts, moved, strict=True))
                    },
                    k,
                )
                for more in (1, 0)
            ]
            found = loss(*laws)
            if found > best:
                best, where = found, f"counts {counts} and one more user of {moved}"
    return Shown("loss of 3 draws at ε_EM = 1 each", best, epsilon, where)
