"""[FW] Carvalho and Wang, A framework for practical differentially private top-k selection."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from crestline.audit.neighbours import Counts
from crestline.audit.testers.exact import hockey_stick_divergence
from crestline.guarantees.gaussian import epsilon_of, sigma_for
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.framework.gap_tests.gap_test import pass_chance
from crestline.mechanisms.framework.gap_tests.sparse import LaplaceTest
from crestline.mechanisms.numerics.thresholds import laplace_threshold
from reproduction.as_published import dong_durfee_rogers, per_step_scan
from reproduction.errata.finding import Kind, Shown, shows
from reproduction.errata.laws import OutputLaw, peeling, select_and_test


@shows("E-C1", Kind.WRONG)
def fewer_labels_are_not_better() -> Shown:
    """An unstable label that fails its test truncates the answer, so a domain with it can make (a, ⊥) likelier."""
    test, epsilon = LaplaceTest(1, "0.01"), 1.0
    chances = []
    for last in (3, 0):  # the unstable label u, with count b + 1; without it the slot is empty
        histogram = Histogram(("a", "s", "u"), np.array([60, 5, last]), 2)
        selected = peeling({slot: epsilon * count for slot, count in enumerate(histogram.counts)}, 2)
        law = select_and_test(histogram, selected, test)
        chances.append(math.fsum(some for said, some in law.items() if said.items == ("a",)))
    return Shown("Pr[(a, ⊥)] with the unstable label, and without", chances[0], chances[1], "a: 60, s: 5, u: 3, b = 2")


@shows("E-C2")
def black_box_that_reads_labels() -> Shown:
    """ "Output z iff u is there" is 0-DP on each domain and reveals u."""
    test = LaplaceTest(1, "0.001")
    passing = pass_chance(test, [200.0 - 1 - 1])

    def law(counts: Counts) -> OutputLaw:
        seen = Histogram.from_counts(counts, 2).items
        return {("z",): passing, (): 1 - passing} if "u" in seen else {("z",): 0.0, (): 1.0}

    with_user, without = {"z": 200, "v": 1, "u": 1}, {"z": 200, "v": 1}
    broken = hockey_stick_divergence(law(with_user), law(without), 1.0)
    return Shown("δ at ε = 1", broken, 0.001, f"{with_user} against {without}, k_bar = 2")


@shows("E-C3", Kind.WRONG)
def conditional_chance_of_a_second_pass() -> Shown:
    """Tests share the noise of the threshold: after one pass the next is likely."""
    test = LaplaceTest(1, "0.001")
    one, both = pass_chance(test, [0.0]), pass_chance(test, [0.0, 0.0])
    return Shown(
        "chance to pass after a pass, in δ_R", both / one / 0.001, 1.0, "two items with gap 0, ε_R = 1, δ_R = 0.001"
    )


@shows("E-C5", Kind.LOOSE)
def tail_in_the_test() -> Shown:
    """The height of the threshold by the printed bound, and by the tail itself."""
    low, high = 0.0, 60.0
    for _ in range(80):
        t = (low + high) / 2
        low, high = (t, high) if math.exp(-t) * (3 + t) / 4 > 1e-3 else (low, t)
    return Shown(
        "height t of the test at δ_R = 0.001", high, float(laplace_threshold(Fraction(1, 1000))), "Laplace test"
    )


@shows("E-C6", Kind.WRONG)
def factor_of_the_gaussian_mechanism() -> Shown:
    """Read as noise for sensitivity one and √Δ ε, the promise is broken."""
    noise = sigma_for("0.5", "1e-5")
    needed = epsilon_of("1e-5", 8 / noise**2)
    return Shown("ε at δ = 1e-5", float(needed), math.sqrt(8) * 0.5, "Δ = 8, ε = 0.5, σ for sensitivity one")


def _tested(counts: Counts, order: str, pad: bool = True) -> OutputLaw:
    """Both slots are selected and tested in an order that the paper leaves open."""
    histogram = Histogram.from_counts(counts, 2, pad=pad)
    slots = list(range(histogram.k_bar))
    if order == "label":
        slots.sort(key=lambda slot: str(histogram.items[slot]))
    chosen = {tuple(slots): 1.0}  # ranked by true count unless said otherwise
    if order == "random":
        chosen = {tuple(slots): 0.5, tuple(reversed(slots)): 0.5}
    return select_and_test(histogram, chosen, LaplaceTest(1, "0.001"))


@shows("E-C8")
def order_of_the_tests() -> Shown:
    """A set that is tested in the order of its labels."""
    with_user, without = {"b": 100, "c": 6, "a": 6}, {"b": 100, "c": 6, "a": 5}
    broken = hockey_stick_divergence(_tested(with_user, "label"), _tested(without, "label"), 1.0)
    right = hockey_stick_divergence(_tested(with_user, "random"), _tested(without, "random"), 1.0)
    return Shown("δ at ε = 1, tested by label", broken, 0.001, f"{with_user} against {without}", right)


@shows("E-C8 true counts")
def order_of_the_true_counts() -> Shown:
    """A set that is tested in the order of its true counts."""
    with_user, without = {"a": 18, "b": 19}, {"a": 18, "b": 18}
    pairs = [(with_user, without), (without, with_user)]
    broken = max(hockey_stick_divergence(_tested(one, "count"), _tested(two, "count"), 1.0) for one, two in pairs)
    right = max(hockey_stick_divergence(_tested(one, "random"), _tested(two, "random"), 1.0) for one, two in pairs)
    return Shown("δ at ε = 1, tested by true count", broken, 0.001, f"{with_user} against {without}", right)


@shows("E-C8 padding")
def no_padding() -> Shown:
    """Fewer rows than k_bar, and no empty slots in their place."""
    with_user, without = {"a": 60, "u": 1}, {"a": 60}

    def law(counts: Counts, pad: bool) -> OutputLaw:
        histogram = Histogram.from_counts(counts, 2, pad=pad)
        scores = {slot: float(count) for slot, count in enumerate(histogram.counts)}
        law = select_and_test(histogram, peeling(scores, len(scores)), LaplaceTest(1, "0.001"))
        # As printed: the list is complete when every selected label passed.
        return {(said.items, len(said.items) < len(scores)): chance for said, chance in law.items()}

    pairs = [(with_user, without), (without, with_user)]
    broken = max(hockey_stick_divergence(law(one, False), law(two, False), 3.0) for one, two in pairs)
    right = max(hockey_stick_divergence(law(one, True), law(two, True), 3.0) for one, two in pairs)
    return Shown("δ at ε = 3, without padding", broken, 0.001, f"{with_user} against {without}, k = 2", right)


@shows("E-C9", Kind.WRONG)
def share_of_the_test() -> Shown:
    """Four times the ε of one item is more than there is, for few items."""
    each = per_step_scan(dong_durfee_rogers, 2, 1.0, 1e-6)
    return Shown("ε_R at k = 2, in the total ε", 4 * each, 1.0, "ε = 1, δ = 1e-6")


@shows("E-C11", Kind.LOOSE)
def linear_scan() -> Shown:
    """The ε of a step by steps of 0.0001, and by bisection of the same bound."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if dong_durfee_rogers(10, middle, 1e-6) <= 1 else (low, middle)
    printed = per_step_scan(dong_durfee_rogers, 10, 1.0, 1e-6)
    return Shown("ε of one of 10 draws", printed, low, "total ε = 1, δ = 1e-6")
