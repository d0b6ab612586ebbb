"""The framework around a black box: law, sampler, promise, neighbours; and what it hides from the black box."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from typing import Any, ClassVar

import numpy as np
import pytest
from tests.mechanisms.black_boxes import BAD, NoisySet, NoisyTop, OneByOne, Short
from tests.mechanisms.conformance import SIGNIFICANCE, follows_its_law, items_law, notices, p_value, stays_within

import crestline as cl
from crestline.audit.testers.exact import hockey_stick_divergence
from crestline.errors import MechanismError
from crestline.guarantees.guarantee import ZCDP, ApproxDP, BoundedRange, Guarantee, PureDP
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.canonical.canonical import Canonical
from crestline.mechanisms.framework.canonical import RestrictedCanonical
from crestline.mechanisms.framework.framework import SlotLaw
from crestline.mechanisms.framework.gap_tests.sparse import ExponentialTest, LaplaceTest
from crestline.mechanisms.framework.one_shot import RestrictedPermuteAndFlip
from crestline.mechanisms.framework.restricted import Restricted
from crestline.mechanisms.public_list.lipschitz import Lipschitz
from crestline.mechanisms.selection import Selection
from crestline.randomness.entropy import Entropy, replay

TEST = ExponentialTest("0.7", "0.3", "0.05")
COUNTS = {"a": 14, "b": 9, "c": 2, "d": 1}


def test_the_law_is_that_of_the_ready_instance() -> None:
    mine, ready = Restricted(NoisyTop(), 3, TEST), RestrictedPermuteAndFlip(2, 3, 1, TEST)
    histogram = Histogram.from_counts(COUNTS, 3)
    wanted = items_law(ready.law(histogram))
    for items, chance in items_law(mine.law(histogram)).items():
        assert chance == pytest.approx(wanted[items], abs=1e-12)
    assert mine.guarantee().epsilon == ready.guarantee().epsilon == 2
    assert mine.guarantee().delta == ready.guarantee().delta == TEST.delta  # no slack unless asked


def test_a_set_is_tested_in_every_order_alike() -> None:
    histogram = Histogram.from_counts(COUNTS, 3)
    law = items_law(Restricted(NoisySet(), 3, TEST).law(histogram))
    assert law[("a", "b")] == pytest.approx(law[("b", "a")], abs=1e-14)
    gaps = np.array([12.0, 7.0, 0.0])
    wanted = 0.0  # first and only pass is a: a is first with chance 1/2, and the second fails
    for selection, chance in NoisySet().law(Histogram.over_domain({0: 14, 1: 9, 2: 2})).items():
        for order in permutations(sorted(selection.items)):
            if order[0] == 0:
                wanted += chance / 2 * TEST.pass_count_law(gaps, np.array([order]))[0, 1]
    assert law[("a",)] == pytest.approx(wanted, abs=1e-12)


@pytest.mark.statistics
@pytest.mark.parametrize("kind", [NoisyTop, NoisySet], ids=lambda kind: kind.__name__)
def test_the_sampler_follows_the_law_and_the_check_has_power(kind: type[NoisyTop]) -> None:
    histogram = Histogram.from_counts({"a": 10, "b": 9, "c": 7, "d": 1}, 3)
    mechanism = Restricted(kind(epsilon=Fraction(2)), 3, TEST)
    follows_its_law(mechanism, histogram, trials=60_000)
    notices(mechanism, Restricted(kind(epsilon=Fraction(11, 5)), 3, TEST), histogram, trials=60_000)


@pytest.mark.statistics
def test_one_release_at_a_time_follows_the_law() -> None:
    """Under fresh names each time. Significance 1e-9; half the noise is rejected."""
    histogram = Histogram.from_counts(COUNTS, 3)
    mechanism = Restricted(OneByOne(NoisySet()), 3, TEST)
    drawn = mechanism.release_many(histogram, 1_000, replay("black box"))
    law = items_law(mechanism.law(histogram))
    assert p_value((selection.items for selection in drawn), law) > SIGNIFICANCE
    other = items_law(Restricted(NoisySet(epsilon=Fraction(1, 4)), 3, TEST).law(histogram))
    assert p_value((selection.items for selection in drawn), other) < SIGNIFICANCE


@pytest.mark.long
@pytest.mark.parametrize("kind", [NoisyTop, NoisySet], ids=lambda kind: kind.__name__)
def test_neighbours_stay_within_the_promise(kind: type[NoisyTop]) -> None:
    mechanism = Restricted(kind(epsilon=Fraction(3, 5)), 3, ExponentialTest("0.4", "0.3", "0.2"))
    stays_within(mechanism, lambda counts: Histogram.from_counts(counts, 3))


@pytest.mark.parametrize("bad", BAD, ids=lambda kind: kind.__name__)
def test_a_black_box_that_breaks_the_contract_is_refused(bad: type[NoisyTop]) -> None:
    with pytest.raises(MechanismError, match=r"contract of the framework \(P1\.5\)"):
        Restricted(bad(), 12, TEST)


class Labelled(RestrictedPermuteAndFlip):
    """P1.6 a as a program: a framework that shows the labels to its black box, which names z iff u is there."""

    def law(self, histogram: Histogram) -> Any:
        items = list(histogram.items)
        order = [items.index("z")] if "u" in items else []
        self.__dict__["orders"] = np.array([order], dtype=np.int64).reshape(1, -1)
        return super().law(histogram)

    def slot_law(self, view: Histogram) -> SlotLaw:
        return SlotLaw(self.__dict__["orders"], np.array([1]), np.array([1.0]))


def test_a_framework_that_shows_labels_is_caught() -> None:
    """Whether u is among the first two is revealed, though u itself is never named."""
    twin = Labelled(1, 2, "1e-6", LaplaceTest(1, "1e-3"))
    with_user = twin.law(Histogram.from_counts({"z": 60, "t": 3, "u": 4}, 2))
    without = twin.law(Histogram.from_counts({"z": 60, "t": 3, "u": 3}, 2))
    assert hockey_stick_divergence(with_user, without, 1.0) > 0.99


class Spy(NoisyTop):
    """Writes down what it was shown."""

    seen: ClassVar[list[Any]] = []

    def release_many(self, histogram: Histogram, n: int, entropy: Entropy) -> list[Selection]:
        self.seen.append((histogram.items, histogram.counts, histogram.next_count, histogram.domain_size))
        return super().release_many(histogram, n, entropy)


@pytest.mark.long
def test_the_black_box_sees_counts_and_random_numbers_only() -> None:
    mechanism = Restricted(OneByOne(Spy()), 4, TEST)
    Spy.seen.clear()
    mechanism.release_many(Histogram.from_counts({"secret": 7, "b": 3, "c": 3, "d": 3, "e": 1}, 4), 200, replay("spy"))
    names = set()
    assert len(Spy.seen) == 200
    for items, counts, next_count, size in Spy.seen:
        assert sorted(items) == [0, 1, 2, 3]
        assert (counts, next_count, size) == ((7, 3, 3, 3), None, 4)
        names.add(items)
    assert len(names) == 24  # all orders of names come up


class Promising(NoisyTop):
    """A black box with any promise."""

    def __init__(self, promise: Any) -> None:
        super().__init__()
        object.__setattr__(self, "promise", promise)

    def guarantee(self) -> Guarantee:
        promise: Guarantee = self.promise  # type: ignore[attr-defined] # set above
        return promise


@pytest.mark.long
def test_the_promise_adds_the_black_box_and_the_test() -> None:
    def promised(inner: Any, slack: str = "0") -> Any:
        return Restricted(Promising(inner), 3, TEST, slack=slack).guarantee()

    assert (promised(PureDP("0.5")).epsilon, promised(PureDP("0.5")).delta) == (Fraction(3, 2), Fraction(1, 20))
    approximate = promised(ApproxDP("0.5", "0.01"))
    assert (approximate.epsilon, approximate.delta) == (Fraction(3, 2), Fraction(6, 100))
    concentrated = promised(ZCDP("0.02", "0.01"))
    assert concentrated.rho == Fraction(2, 100) + TEST.cost().rho
    assert concentrated.delta == Fraction(6, 100)
    converted = promised(ZCDP("0.02"), slack="1e-3")
    assert converted.epsilon is not None
    assert converted.delta == Fraction(51, 1000)
    assert promised(BoundedRange("0.5"), slack="1e-3").epsilon < promised(PureDP("0.5"), slack="1e-3").epsilon


def test_a_zero_concentrated_black_box_is_never_charged_as_gaussian_noise() -> None:
    """ρ-zCDP does not imply the Gaussian trade-off: its exact curve must not be used."""
    from crestline.guarantees.accountants import AdaptiveOptimum, Renyi
    from crestline.guarantees.cost import repeat_step
    from crestline.guarantees.guarantee import GaussianDP

    slack = Fraction(1, 10**6)
    assert AdaptiveOptimum().epsilon(repeat_step(ZCDP("0.02")), slack) is None
    assert Renyi().epsilon(repeat_step(ZCDP("0.02")), slack) == Renyi().epsilon(repeat_step(GaussianDP("0.04")), slack)


def test_what_is_not_a_promise_is_refused() -> None:
    with pytest.raises(MechanismError, match=r"cl\.PureDP"):
        Restricted(Promising("trust me"), 3, TEST)
    with pytest.raises(MechanismError, match="needs guarantee"):
        Restricted(object(), 3, TEST)  # type: ignore[arg-type] # what a third party may get wrong
    with pytest.raises(MechanismError, match="LaplaceTest"):
        Restricted(NoisyTop(), 3, None)  # type: ignore[arg-type] # what a third party may get wrong
    with pytest.raises(MechanismError, match="black box"):
        cl.mechanisms.Restricted.for_budget(k=1, epsilon=1, delta="1e-6")


def test_a_black_box_may_return_fewer_and_its_stop_is_kept() -> None:
    mechanism = Restricted(Short(), 2, ExponentialTest("50", "50", "1e-3"))
    drawn = mechanism.release_many(Histogram.from_counts({"a": 90, "b": 90}, 2), 300, replay("short"))
    assert {(len(selection), selection.stopped) for selection in drawn} == {(0, True), (1, False), (2, False)}
    with pytest.raises(MechanismError, match="does not state its law"):
        Restricted(Lawless(), 2, TEST).law(Histogram.from_counts({}, 2))


class Lawless:
    """The least a third party can write."""

    def guarantee(self) -> Guarantee:
        return PureDP(0)

    def release(self, histogram: Histogram, entropy: Entropy) -> Selection:
        return Selection(frozenset(histogram.items), False)


def test_an_empty_histogram_is_a_stop() -> None:
    mechanism = Restricted(Lawless(), 3, TEST)
    assert mechanism.release(Histogram.from_counts({}, 3), replay(0)) == Selection((), True)


@pytest.mark.parametrize("ordered", [True, False])
def test_mechanisms_for_public_lists_of_the_catalogue_fit_in(ordered: bool) -> None:
    """Lipschitz with exponential noise inside is RestrictedPermuteAndFlip; as a set, each order of it is as likely."""
    histogram = Histogram.from_counts(COUNTS, 3)
    mine = items_law(Restricted(Lipschitz(2, 1, "exponential", ordered), 3, TEST).law(histogram))
    ready = items_law(RestrictedPermuteAndFlip(2, 3, 1, TEST).law(histogram))
    assert mine[("a", "b")] + mine[("b", "a")] == pytest.approx(ready[("a", "b")] + ready[("b", "a")], abs=1e-12)
    assert (mine[("a", "b")] == pytest.approx(ready[("a", "b")], abs=1e-12)) is ordered
    inside = Restricted(Canonical(2, "0.6"), 3, TEST)
    wanted = items_law(RestrictedCanonical(2, 3, "0.6", "0.5", TEST).law(histogram))
    assert items_law(inside.law(histogram)) == pytest.approx(wanted, abs=1e-12)
    assert inside.guarantee().epsilon == Fraction(8, 5)
