"""The sieve in groups: the total covers all groups of a user; every group has noise and hashes of its own (P15.1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from crestline.guarantees.gaussian import delta_of
from crestline.guarantees.guarantee import ApproxDP
from crestline.histogram.relation import GroupedRelation, Relation, Rows, SplitMixHashing
from crestline.mechanisms import Sieve
from crestline.mechanisms.in_groups import InGroups
from crestline.mechanisms.observed import bucket_rounds, sieve
from crestline.mechanisms.observed.bucket_rounds import ROUNDS
from crestline.mechanisms.observed.noisy_query import NoisyQuery, noisy_query
from crestline.mechanisms.privacy_total import PrivacyTotal
from crestline.mechanisms.selection import GroupSelections, Selection
from crestline.randomness.entropy import replay

pytestmark = pytest.mark.long

TOTAL = PrivacyTotal(5, 1, "1e-8")
POPULAR = 3
LABELS = ["many", "of one user", "nobody"]


def planted() -> GroupedRelation:
    """A group of 2,000 users with 20 items each, three of which all of them have; one of one user; an empty one."""
    rng = np.random.default_rng(11)
    rows = [
        (0, user, item)
        for user in range(2_000)
        for item in {*range(POPULAR), *rng.integers(POPULAR, 5_000, 20).tolist()}
    ]
    rows += [(1, 7, item) for item in range(POPULAR)]
    which, users, items = np.array(rows).T
    digests = SplitMixHashing(rng.integers(0, 1 << 31, 2_000), rng.integers(0, 1 << 31, 5_000))
    return GroupedRelation.from_rows(LABELS, Rows(users, items, groups=which), digests)


@pytest.mark.parametrize("many", [2, 3, 40])
def test_a_total_is_for_all_groups_of_a_user(many: int) -> None:
    alone, made = Sieve.fit(TOTAL), Sieve.fit(TOTAL, groups=many)
    family = InGroups.from_mechanism(made, many, delta=TOTAL.delta)
    promise: Any = family.guarantee()
    assert promise.theorem.startswith("P15.1, P18.2;")
    assert Fraction(99, 100) <= promise.epsilon <= 1
    assert promise.delta == TOTAL.delta
    assert (made.mu_squared, made.delta_new) == (alone.mu_squared / many, alone.delta_new / many)
    assert delta_of(TOTAL.epsilon, many * made.mu_squared) <= Fraction(6, 10) * TOTAL.delta
    # In a ledger: c steps of μ²/2 and c times δ_T, whatever is named.
    assert (family.cost().rho, family.cost().delta) == (many * made.mu_squared / 2, many * made.delta_new)
    for published in (GroupSelections(()), GroupSelections((("g", Selection(("a",), True)),))):
        settled = family.settlement_cost(published)
        assert (settled.rho, settled.delta) == (family.cost().rho, family.cost().delta)


def test_one_group_is_what_it_was() -> None:
    assert Sieve.fit(TOTAL, groups=1) == Sieve.fit(TOTAL) == Sieve(5, 1, "1e-8")
    assert Sieve.fit(TOTAL).guarantee().theorem.startswith("P18.2;")


def test_a_promise_for_fewer_groups_is_not_that_of_more() -> None:
    made = Sieve.fit(TOTAL, groups=2)
    assert made.guarantee_in_groups(1) == made.guarantee_in_groups(2) == made.guarantee()
    assert made.guarantee_in_groups(3) is None
    added: Any = InGroups.from_mechanism(made, 3).guarantee()  # step by step
    assert isinstance(added, ApproxDP)
    assert added.delta > TOTAL.delta
    assert (
        InGroups.from_mechanism(made, 2).guarantee() == made.guarantee()
    )  # also where the object is given with a question


def test_what_stands_out_is_named_and_of_other_groups_nothing_is_said() -> None:
    for public in (False, True):
        family = InGroups.from_mechanism(Sieve.fit(TOTAL), 1, public=public)
        found = dict(family.release([planted()], replay("groups")).groups)
        assert set(found.pop("many").items) == set(range(POPULAR))
        assert found == ({"nobody": Selection((), True), "of one user": Selection((), True)} if public else {})


@pytest.mark.parametrize("floor", [2, 500])
def test_with_a_floor_a_group_of_fewer_users_names_nothing_with_certainty(floor: int) -> None:
    """So it does not matter whether such a group is read; whatever the noise is, even where it is nearly all."""
    wild = Sieve.fit(PrivacyTotal(5, "0.01", "0.99"))
    for key in range(20):
        found = dict(zip(LABELS, wild.release_groups(replace(planted(), floor=floor), replay(key)), strict=True))
        assert found["of one user"].items == found["nobody"].items == ()
    without = [wild.release_groups(planted(), replay(key))[1].items for key in range(60)]
    assert any(without)  # the check has power


def test_a_floor_is_part_of_what_an_item_needs() -> None:
    low, high = (
        Sieve.fit(TOTAL).release_groups(replace(planted(), floor=floor), replay("floor"))[0] for floor in (1, 300)
    )
    assert low.needed is not None
    assert high.needed is not None
    assert low.needed + 299 < high.needed < 2_000  # users weigh less than one each, so that more of them are needed
    assert set(high.items) == set(range(POPULAR))
    none = Sieve.fit(TOTAL).release_groups(replace(planted(), floor=2_001), replay("floor"))[0]
    assert none.items == ()


def test_counts_above_a_floor_have_it_back() -> None:
    """Of 2,000 users all have the popular items; scores are taken above a floor, and counts are not."""
    for floor in (1, 300):
        mechanism = replace(Sieve.fit(TOTAL), counts=True)
        found = mechanism.release_groups(replace(planted(), floor=floor), replay("floor"))[0]
        assert found.counts is not None
        assert found.bounds is not None
        assert all(abs(count - 2_000) < 400 for count in found.counts)
        assert all(
            floor <= bound.low <= count <= bound.high for count, bound in zip(found.counts, found.bounds, strict=True)
        )
        assert any(bound.low <= 2_000 <= bound.high for bound in found.bounds)


def spied(monkeypatch: pytest.MonkeyPatch, name: str, seen: Callable[..., Any]) -> None:
    original: Any = getattr(Relation, name)

    def spy(self: Relation, *given: Any) -> Any:
        seen(*given)
        return original(self, *given)

    monkeypatch.setattr(Relation, name, spy)


def test_every_bucket_of_every_group_gets_noise_and_no_key_is_used_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in a group of one user, and in one that is empty: nothing depends on how much is there."""
    keys, looks = list[bytes](), list[int]()
    for name in ("bucket_loads", "observed_items"):
        spied(monkeypatch, name, lambda key, *_: keys.append(key))

    def counted(numbers: Any, unit: int, mu_squared: Fraction, entropy: Any) -> NoisyQuery:
        looks.append(len(numbers))
        return noisy_query(numbers, unit, mu_squared, entropy)

    for place in (sieve, bucket_rounds):
        monkeypatch.setattr(place, "noisy_query", counted)
    mechanism = Sieve.fit(TOTAL, groups=2)
    mechanism.release_groups(planted(), replay("keys"))
    assert len(keys) == 3 * (ROUNDS + 1)
    assert len(set(keys)) == 3 * 2  # one key for all rounds of a group, and one for its last step
    assert looks.count(mechanism.buckets) == 3  # where nothing is known, too
    assert looks.count(5_734) == looks.count(2_007) == looks.count(702) == 3  # 35% after each round
    assert looks.count(13) == 6  # of each group, before and after its rounds
    assert looks.count(1) == 3
