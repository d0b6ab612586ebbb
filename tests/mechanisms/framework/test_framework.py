"""Choose, test, name: what the framework adds to a choice and a test, held against both on their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.mechanisms.conformance import items_law

from crestline.errors import MechanismError
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.framework.canonical import RestrictedCanonical
from crestline.mechanisms.framework.framework import Framework, check_test, selections_of_slots, slot_view
from crestline.mechanisms.framework.gap_tests.gap_test import GapTest, JointTest, pass_chance
from crestline.mechanisms.framework.gap_tests.shared_threshold import SharedThreshold
from crestline.mechanisms.framework.gap_tests.sparse import ExponentialTest, LaplaceTest
from crestline.mechanisms.framework.gumbel import RestrictedGumbel
from crestline.mechanisms.framework.normal import RestrictedNormal
from crestline.mechanisms.framework.one_shot import RestrictedLaplace
from crestline.mechanisms.selection import Selection
from crestline.mechanisms.slot_checks import NO_SLOT
from crestline.randomness.entropy import replay

TESTS: list[GapTest] = [LaplaceTest("0.8", "1e-3"), ExponentialTest("0.7", "0.3", "1e-3"), JointTest("0.8", "1e-3")]


@pytest.mark.parametrize("test", TESTS, ids=lambda test: type(test).__name__)
def test_the_margin_is_one_user_more_than_the_gap(test: GapTest) -> None:
    for wanted in (0.3, 0.95):
        lead = RestrictedGumbel(2, 9, 1, test).margin(wanted)
        assert pass_chance(test, [lead - 1]) == pytest.approx(wanted, rel=1e-9)
    beta = 0.01
    assert RestrictedGumbel(2, 9, 1, test).margin_for_all(1 - beta) == pytest.approx(test.margin_for_all(2, 1 - beta))


@pytest.mark.parametrize("test", TESTS, ids=lambda test: type(test).__name__)
@pytest.mark.parametrize("step", [1, 3])
def test_one_slot_is_named_when_it_passes(test: GapTest, step: int) -> None:
    """The gap is the count, less the next, less one step."""
    histogram = Histogram.from_counts({"a": 30 * step, "b": 4 * step}, 1, unit=step)
    law = items_law(RestrictedGumbel(1, 1, 1, test).law(histogram))
    assert law[("a",)] == pytest.approx(pass_chance(test, [25.0]), rel=1e-12)
    assert law[()] == pytest.approx(1 - pass_chance(test, [25.0]), rel=1e-9)


@pytest.mark.parametrize("test", TESTS, ids=lambda test: type(test).__name__)
def test_a_law_lists_what_can_happen(test: GapTest) -> None:
    law = RestrictedGumbel(2, 3, 1, test).law(Histogram.from_counts({"a": 30, "b": 28, "c": 9, "d": 4}, 3))
    assert all(share > 0 for share in law.values())
    assert sum(law.values()) == pytest.approx(1, abs=1e-12)
    if isinstance(test, JointTest):  # all of the choice or nothing
        assert {len(selection) for selection in law} == {0, 2}


def test_where_nothing_was_left_out_everything_is_named() -> None:
    """P0.8, and a public list smaller than k is a stop."""
    test = ExponentialTest("0.7", "0.3", "1e-9")
    law = RestrictedGumbel(2, 3, 1, test).law(Histogram.over_domain({"a": 2, "b": 1, "c": 0}))
    assert all(len(selection) == 2 and not selection.stopped for selection in law)
    small = RestrictedGumbel(2, 3, 1, test).law(Histogram.over_domain({"a": 2}))
    assert small == {Selection(("a",), True): pytest.approx(1)}


@pytest.mark.parametrize("test", TESTS, ids=lambda test: type(test).__name__)
def test_there_are_as_many_lengths_as_slots_and_one(test: GapTest) -> None:
    """Whether something was left out or not; a shorter order ends sooner, and every row adds up to one."""
    mechanism = RestrictedGumbel(2, 3, 1, test)
    orders = np.array([[0, 1, 2], [1, 0, NO_SLOT], [NO_SLOT, NO_SLOT, NO_SLOT]])
    for histogram in (Histogram.over_domain({"a": 9, "b": 5, "c": 2}), Histogram.from_counts({"a": 9, "b": 5}, 3)):
        found = mechanism._pass_count_law(histogram, orders)
        assert found.shape == (3, 4)
        assert found.sum(axis=1) == pytest.approx(np.ones(3))
        assert found[1, 3] == 0
        assert found[2].tolist() == pytest.approx([1, 0, 0, 0])
        if histogram.next_count is not None:  # a slot that was not chosen fails no test
            assert found[1, 2] == pytest.approx(pass_chance(test, [4.0, 8.0]))
            assert found[0, 3] == pytest.approx(pass_chance(test, [8.0, 4.0, -1.0]))


@pytest.mark.parametrize("test", TESTS, ids=lambda test: type(test).__name__)
def test_a_slot_that_was_not_chosen_fails_no_test(test: GapTest) -> None:
    """Two of three slots lead by far, the third not at all: whoever chooses the two names them."""
    histogram = Histogram.from_counts({"a": 10**6, "b": 10**6}, 3)
    chosen = np.tile(np.array([[1, 0, NO_SLOT]]), (50, 1))
    assert RestrictedGumbel(2, 3, 1, test)._count_passes(histogram, chosen, replay("chosen")).tolist() == [2] * 50


STEPPED = [
    RestrictedGumbel(2, 3, "0.4", TESTS[1]),
    RestrictedNormal(2, 3, 3, TESTS[1]),
    RestrictedLaplace(2, 3, 1, TESTS[0]),
    RestrictedCanonical(2, 3, "0.5", "0.4", TESTS[2]),
]


@pytest.mark.parametrize("mechanism", STEPPED, ids=lambda one: type(one).__name__)
def test_a_step_is_a_unit_of_counts(mechanism: Framework) -> None:
    """Three times the counts with a step of three are the same data: the same law, and from the same bits the same."""
    counts = {"a": 24, "b": 19, "c": 12, "d": 1}
    plain = Histogram.from_counts(counts, 3)
    scaled = Histogram.from_counts({label: 3 * count for label, count in counts.items()}, 3, unit=3)
    assert mechanism.law(scaled) == pytest.approx(mechanism.law(plain), abs=1e-12)
    drawn = mechanism.release_many(plain, 100, replay("step"))
    assert mechanism.release_many(scaled, 100, replay("step")) == drawn
    assert len(set(drawn)) > 2


def test_slots_that_were_not_chosen_are_not_counted() -> None:
    histogram = Histogram.from_counts({"a": 9, "b": 5, "c": 1}, 3)
    chosen = np.array([[0, 1, NO_SLOT], [2, 0, 1], [1, NO_SLOT, NO_SLOT], [2, 1, 0]])
    assert selections_of_slots(histogram, chosen, np.array([2, 3, 1, 0]), np.array([2, 3, 2, 3])) == [
        Selection(("a", "b"), False),
        Selection(("c", "a", "b"), False),
        Selection(("b",), True),
        Selection((), True),
    ]


def test_the_choice_sees_numbers_and_no_names() -> None:
    histogram = Histogram.from_counts({"a": 9, "b": 5}, 3, unit=2)
    view = slot_view(histogram, 3)
    assert list(view.items) == [0, 1, 2]
    assert view.counts == histogram.counts
    assert (view.next_count, view.domain_size, view.unit) == (None, 3, 2)


def test_tests_in_order_until_the_first_failure() -> None:
    """Two nodes of the threshold's noise, by hand: slot 1 first, then slot 0."""
    table = SharedThreshold(np.array([[0.5, 0.25], [0.2, 0.8]]), np.array([0.4, 0.6]))
    first = 0.4 * 0.2 + 0.6 * 0.8
    both = 0.4 * 0.2 * 0.5 + 0.6 * 0.8 * 0.25
    assert table.lengths(np.array([[1, 0]])) == pytest.approx(np.array([[1 - first, first - both, both]]))
    assert table.lengths(np.zeros((2, 0), dtype=np.int64)) == pytest.approx(np.ones((2, 1)))


@pytest.mark.parametrize("missing", ["delta", "cost", "passed", "lengths", "margin_for_all"])
def test_a_test_must_have_all_its_methods(missing: str) -> None:
    have = {name: None for name in ("delta", "cost", "passed", "lengths", "margin_for_all") if name != missing}
    test: Any = type("Test", (), have)()
    with pytest.raises(MechanismError, match="have their methods"):
        check_test(test)
