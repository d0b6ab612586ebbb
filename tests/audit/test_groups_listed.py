"""Public lists of groups and items under attack: within the promise; on observed groups they tell that one exists."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from typing import Any

import pytest

from crestline.audit.testers.groups import Family, FamilyPair, family_pairs, undercharged_selections, worst_family
from crestline.histogram.histogram import Histogram
from crestline.mechanisms import Canonical, Lipschitz
from crestline.mechanisms.in_groups import InGroups
from crestline.mechanisms.mechanism import BuiltIn
from crestline.mechanisms.selection import GroupSelections, Selection

NOBODY = {"a": 0, "b": 0, "c": 0}
SIZES = (0, 1, 3)
ROUNDING = 1e-9
LISTED = ("g", "h")
MECHANISMS = {"peeling": Lipschitz(2, "0.5", noise="gumbel"), "sets": Canonical(2, "0.5")}


def laws(family: InGroups, groups: tuple[str, ...] | None) -> Callable[[Family], Mapping[Any, float]]:
    """The law of everything published over a public list of groups; None: of the groups that somebody is in."""

    @cache
    def law(counts: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]) -> Mapping[GroupSelections, float]:
        there = {group: dict(part) for group, part in counts}
        public = there if groups is None else dict.fromkeys(groups)
        return family.law({group: Histogram.over_domain({**NOBODY, **there.get(group, {})}) for group in public})

    return lambda counts: law(tuple((label, tuple(part.items())) for label, part in counts.items()))


def listed_pairs(groups_per_user: int) -> list[FamilyPair]:
    """Pairs of families in which all groups are on the public list; some of its groups nobody is in."""
    return [pair for pair in family_pairs(groups_per_user, SIZES) if set(pair.with_user) <= set(LISTED)]


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("groups_per_user", [1, 2])
def test_public_lists_are_within_their_promise(groups_per_user: int, name: str) -> None:
    family = InGroups.from_mechanism(MECHANISMS[name], groups_per_user, public=True)
    promise: Any = family.guarantee()
    assert promise.epsilon is not None
    found = worst_family(laws(family, LISTED), listed_pairs(groups_per_user), float(promise.epsilon))
    assert found.delta <= float(getattr(promise, "delta", 0)) + ROUNDING


def test_the_price_of_one_group_is_too_low_for_users_of_two() -> None:
    """At the ε of one group no δ is claimed, and one is needed."""
    one = InGroups.from_mechanism(MECHANISMS["peeling"], 1, public=True)
    assert worst_family(laws(one, LISTED), listed_pairs(2), 0.5).delta > 1e-3
    assert worst_family(laws(one, LISTED), listed_pairs(1), 0.5).delta <= ROUNDING


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_public_list_of_items_on_observed_groups_is_noticed(name: str) -> None:
    family = InGroups.from_mechanism(MECHANISMS[name], 1, public=True)
    found = worst_family(laws(family, None), family_pairs(1, SIZES), 1.0)
    assert found.delta == pytest.approx(1.0)
    assert found.pair is not None
    assert found.pair.why.startswith("a new group")


@pytest.mark.parametrize("groups_per_user", [1, 2])
@pytest.mark.parametrize("name", MECHANISMS)
def test_whatever_comes_back_any_groups_of_a_user_are_paid_for(name: str, groups_per_user: int) -> None:
    mechanism: BuiltIn = MECHANISMS[name]
    family = InGroups.from_mechanism(mechanism, groups_per_user, public=True, delta=Fraction(1, 100))
    outcomes = [Selection(("a", "b"), False), Selection(("b", "c"), False)]
    assert not list(
        undercharged_selections(family.settlement_cost, mechanism.settlement_cost, outcomes, groups_per_user)
    )
