"""Families of groups under attack: ours are within their promise, every broken twin is caught (P15)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache, partial
from typing import Any

import pytest
from tests.audit.broken.groups import (
    EveryGroupListed,
    FewGroupsRead,
    delta_is_given_back,
    only_listed_groups_pay,
    only_the_largest_pays,
    settled_at_the_mean,
)

from crestline.audit.testers.groups import Family, FamilyPair, family_pairs, undercharged_selections, worst_family
from crestline.guarantees.cost import Cost
from crestline.histogram.histogram import Histogram
from crestline.mechanisms import LimitedDomain, OptimalThreshold, RestrictedGumbel
from crestline.mechanisms.framework.gap_tests.sparse import ExponentialTest, LaplaceTest
from crestline.mechanisms.in_groups import InGroups
from crestline.mechanisms.selection import GroupSelections, Selection

ROUNDING = 1e-9
DRAWN = LimitedDomain(1, 2, 1, "0.05")  # the setting of P15.1, "audited"
OUTCOMES = [
    Selection((), True),
    Selection(("a",), True),
    Selection(("a", "b"), True),
    Selection(("a", "b", "c"), False),
]
PAYING = [
    LimitedDomain(3, 6, "0.5", "0.01"),
    OptimalThreshold(3, 6, "0.5", "0.01"),
    RestrictedGumbel(3, 6, "0.5", ExponentialTest("0.5", "0.5", "0.01"), lazy=True),
    RestrictedGumbel(3, 6, "0.5", LaplaceTest("0.5", "0.01")),
]
SETTLEMENTS: dict[str, Callable[[InGroups, GroupSelections], Cost]] = {
    "the mean": settled_at_the_mean,
    "only listed groups": only_listed_groups_pay,
    "only the largest": only_the_largest_pays,
    "delta given back": delta_is_given_back,
}


def laws(family: InGroups, k_bar: int) -> Callable[[Family], Mapping[Any, float]]:
    @cache
    def law(groups: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]) -> Mapping[GroupSelections, float]:
        return family.law({label: Histogram.from_counts(dict(counts), k_bar) for label, counts in groups})

    return lambda groups: law(tuple((label, tuple(counts.items())) for label, counts in groups.items()))


@pytest.mark.parametrize(("groups_per_user", "worst"), [(1, 0.0476), (2, 0.0930)])
def test_limited_domain_in_groups_needs_what_was_computed_by_hand(groups_per_user: int, worst: float) -> None:
    family = InGroups.from_mechanism(DRAWN, groups_per_user)
    promise = family.guarantee()
    assert (promise.epsilon, promise.delta) == (groups_per_user, Fraction(groups_per_user, 20))  # type: ignore[attr-defined] # one with a delta
    found = worst_family(laws(family, 2), family_pairs(groups_per_user), float(groups_per_user))
    assert found.delta == pytest.approx(worst, abs=5e-5)
    assert found.delta <= groups_per_user * 0.05


@pytest.mark.parametrize(
    "mechanism",
    [RestrictedGumbel(1, 2, "0.4", ExponentialTest("0.3", "0.3", "0.05")), OptimalThreshold(1, 2, "0.5", "0.05")],
    ids=str,
)
def test_others_in_groups_stay_within_their_promise(mechanism: Any) -> None:
    family = InGroups.from_mechanism(mechanism, 1)
    promise: Any = family.guarantee()
    found = worst_family(laws(family, 2), family_pairs(1), float(promise.epsilon))
    assert 0 < found.delta <= float(promise.delta) + ROUNDING


def test_the_price_of_one_group_is_too_low_for_users_of_two() -> None:
    """The bound on a user's groups is not enforced: the promise is for one, the user has two."""
    found = worst_family(laws(InGroups.from_mechanism(DRAWN, 1), 2), family_pairs(2), 1.0)
    assert found.delta == pytest.approx(0.0930, abs=5e-5)  # of 0.05


def test_a_group_that_is_listed_though_nothing_is_named_is_noticed() -> None:
    found = worst_family(laws(EveryGroupListed(DRAWN, 1, Fraction(0)), 2), family_pairs(1), 1.0)
    assert found.delta > 0.999
    assert found.pair is not None
    assert found.pair.why.startswith("a new group")


def test_a_cap_on_observed_groups_is_noticed() -> None:
    heavy = {"a": 25}
    pair = FamilyPair({"g": heavy, "h": {"a": 1}}, {"g": heavy}, "a new group beside a heavy one")
    for epsilon in (1.0, 10.0):
        found = worst_family(laws(FewGroupsRead(DRAWN, 1, Fraction(0)), 2), [pair], epsilon)
        assert found.delta == pytest.approx(0.5, abs=0.01)
    assert worst_family(laws(InGroups.from_mechanism(DRAWN, 1), 2), [pair], 1.0).delta <= 0.05


@pytest.mark.parametrize("groups_per_user", [1, 2])
@pytest.mark.parametrize("mechanism", PAYING, ids=str)
def test_whatever_comes_back_any_groups_of_a_user_are_paid_for(mechanism: Any, groups_per_user: int) -> None:
    family = InGroups.from_mechanism(mechanism, groups_per_user)
    assert not list(
        undercharged_selections(family.settlement_cost, mechanism.settlement_cost, OUTCOMES, groups_per_user)
    )


@pytest.mark.parametrize("settlement", SETTLEMENTS)
def test_a_wrong_settlement_is_noticed(settlement: str) -> None:
    family = InGroups.from_mechanism(PAYING[0], 2)
    settle = partial(SETTLEMENTS[settlement], family)
    assert list(undercharged_selections(settle, family.mechanism.settlement_cost, OUTCOMES, 2))
