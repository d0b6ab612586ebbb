"""The pairs of several groups: each has the views of its own, whatever the numbers are by which pairs are called."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crestline.histogram.relation import Counts, GroupedRelation, Relation, Rows, SplitMixHashing
from crestline.mechanisms.observed.weights import gaussian_weights

KEY = bytes(range(32))
USERS, ITEMS = 6, 9
LABELS = ["g", "h", "nobody", "i"]
WEIGHTS = gaussian_weights(1, 2)
triples = st.sets(
    st.tuples(st.sampled_from([0, 1, 3]), st.integers(0, USERS - 1), st.integers(0, ITEMS - 1)), max_size=60
)


def made(found: list[tuple[int, int, int]], users: Counts, items: Counts) -> GroupedRelation:
    which, user, item = np.array(found, dtype=np.int64).reshape(-1, 3).T
    return GroupedRelation.from_rows(LABELS, Rows(user, item, groups=which), SplitMixHashing(users, items))


def views(pairs: Relation) -> list[object]:
    """Everything that may be looked at; two items of a user are kept, and a round is over four buckets."""
    observed = pairs.observed_items(KEY, WEIGHTS)
    alive = pairs.pairs_in_buckets(KEY, np.array([True, False, True, False])).observed_items(KEY, WEIGHTS)
    return [
        [pairs.users_with(rank) for rank in range(1, 12)],
        pairs.users_by_items().tolist(),
        pairs.bucket_loads(KEY, 4, gaussian_weights(1, 4)).tolist(),
        *([(part.score_of(rank), part.name(rank)) for rank in range(part.size)] for part in (observed, alive)),
    ]


@pytest.mark.long
@given(triples)
def test_each_group_has_the_views_of_its_own_pairs(found: set[tuple[int, int, int]]) -> None:
    """Digests are the numbers themselves here, as those of pairs in memory are."""
    table = made(list(found), np.arange(USERS), np.arange(ITEMS))
    assert len(table) == 4
    for place, pairs in enumerate(table.histograms()):
        own = np.array([(user, item) for which, user, item in found if which == place], dtype=np.int64).reshape(-1, 2)
        assert views(pairs) == views(Relation(own[:, 0], own[:, 1]))


@pytest.mark.long
@given(triples, st.integers(1, 5))
def test_views_do_not_depend_on_the_numbers_of_users_and_items(found: set[tuple[int, int, int]], more: int) -> None:
    """Somebody else's items, which come first in label order, change every number and no view of other groups."""
    users, items = np.array([5, 17, 2, 11, 3, 29]), np.array([31, 7, 8, 40, 12, 3, 99, 5, 64])
    table = made(list(found), users, items)
    moved = [(which, user + 1, item + more) for which, user, item in found] + [(2, 0, item) for item in range(more)]
    other = made(moved, np.append(77, users), np.append(np.arange(100, 100 + more), items))
    for place, (one, two) in enumerate(zip(table.histograms(), other.histograms(), strict=True)):
        if place != 2:
            first, second = views(one), views(two)
            assert first[:3] == second[:3]
            renamed = [[(score, name + more) for score, name in part] for part in first[3:]]  # type: ignore[attr-defined]
            assert renamed == second[3:]


def test_nothing_private_is_shown() -> None:
    assert str(made([(0, 1, 2)], np.arange(USERS), np.arange(ITEMS))) == "GroupedRelation()"
