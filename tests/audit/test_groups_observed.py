"""Thresholds in groups under attack: within the promise on every small pair, and nearly all of it; twins are caught."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from tests.audit.broken.groups import EveryGroupListed

from crestline.audit.testers.groups import Family, family_pairs, undercharged_selections, worst_family
from crestline.histogram.observed_items import ObservedItems
from crestline.mechanisms import Observed
from crestline.mechanisms.in_groups import InGroups
from crestline.mechanisms.privacy_total import PrivacyTotal
from crestline.mechanisms.selection import GroupSelections, Selection

EPSILON, DELTA = 1.0, Fraction(1, 20)
SIZES = (0, 1, 8)
ROUNDING = 1e-9


def made(groups: int, noise: str) -> Observed:
    return Observed.fit(PrivacyTotal(2, 1, DELTA, contribution=2), groups=groups, noise=noise)


def laws(family: InGroups) -> Callable[[Family], Mapping[Any, float]]:
    @cache
    def law(groups: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]) -> Mapping[GroupSelections, float]:
        return family.law({label: ObservedItems.from_scores(dict(counts)) for label, counts in groups})

    return lambda groups: law(tuple((label, tuple(counts.items())) for label, counts in groups.items()))


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("groups_per_user", [1, 2])
def test_all_pairs_are_within_the_promise_and_a_new_group_uses_it_up(groups_per_user: int, noise: str) -> None:
    family = InGroups.from_mechanism(made(groups_per_user, noise), groups_per_user, delta=DELTA)
    promise: Any = family.guarantee()
    assert (promise.epsilon, promise.delta) == (1, DELTA)
    found = worst_family(laws(family), family_pairs(groups_per_user, SIZES), EPSILON)
    assert 0.9999 * DELTA < found.delta <= float(DELTA) + ROUNDING
    assert found.pair is not None
    assert found.pair.why == f"a new group, {groups_per_user} of {groups_per_user} groups"


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_a_threshold_for_one_group_is_too_low_for_users_of_two(noise: str) -> None:
    right = made(2, noise)
    wrong = replace(right, delta=DELTA, promise=None)  # the whole δ in each group
    found = worst_family(laws(InGroups.from_mechanism(wrong, 2)), family_pairs(2, SIZES), EPSILON)
    assert found.delta > 1.9 * DELTA


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_the_price_of_one_group_is_too_low_for_users_of_two(noise: str) -> None:
    found = worst_family(laws(InGroups.from_mechanism(made(1, noise), 1)), family_pairs(2, SIZES), EPSILON)
    assert found.delta > 1.9 * DELTA


@pytest.mark.parametrize(("noise", "near"), [("laplace", (8, 9)), ("gaussian", (5, 6))])
def test_noise_for_the_items_of_one_group_is_too_small_for_users_of_two(noise: str, near: tuple[int, int]) -> None:
    """Nothing is new here, and counts are near the threshold: only the noise can be wrong."""
    right, shared = made(2, noise), [pair for pair in family_pairs(2, near) if len(pair.without) == 2]
    wrong = replace(right, scale=made(1, noise).scale, promise=None)
    assert worst_family(laws(InGroups.from_mechanism(wrong, 2)), shared, EPSILON).delta > 1.6 * DELTA
    assert worst_family(laws(InGroups.from_mechanism(right, 2)), shared, EPSILON).delta < 0.6 * DELTA


def test_a_group_that_is_listed_though_nothing_is_named_is_noticed() -> None:
    found = worst_family(laws(EveryGroupListed(made(1, "gaussian"), 1, Fraction(0))), family_pairs(1, SIZES), EPSILON)
    assert found.delta > 0.999


@pytest.mark.parametrize("groups_per_user", [1, 2])
def test_a_group_that_names_nothing_costs_as_much_as_every_other(groups_per_user: int) -> None:
    mechanism = made(groups_per_user, "gaussian")
    family = InGroups.from_mechanism(mechanism, groups_per_user, delta=DELTA)
    outcomes = [Selection((), True), Selection(("a",), True), Selection(("a", "b"), False)]
    assert not list(
        undercharged_selections(family.settlement_cost, mechanism.settlement_cost, outcomes, groups_per_user)
    )
    nothing, worst = family.settlement_cost(GroupSelections(())), family.cost()
    assert (nothing.rho, nothing.delta) == (worst.rho, worst.delta)
