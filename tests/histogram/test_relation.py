"""The relation in this process: every view against plain Python, and what one user can change of each."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crestline.histogram.relation import CELLS, Relation, Rows, SplitMixHashing, cell_of_count
from crestline.mechanisms.observed.weights import UNIT, gaussian_weights

pytestmark = pytest.mark.long

KEY = bytes(range(32))
pairs = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 12)), max_size=60)


def made(rows: list[tuple[int, int]]) -> Relation:
    return Relation(np.array([u for u, _ in rows], dtype=np.int64), np.array([i for _, i in rows], dtype=np.int64))


@given(pairs)
def test_views_are_those_of_plain_python(rows: list[tuple[int, int]]) -> None:
    view, distinct = made(rows), set(rows)
    counts = sorted(Counter(item for _, item in distinct).values(), reverse=True)
    assert [view.users_with(rank) for rank in range(1, 15)] == [*counts, *[0] * (14 - len(counts))]
    ranked = sorted(Counter(item for _, item in distinct).items(), key=lambda pair: (-pair[1], pair[0]))
    slots = view.slots(4)
    assert list(zip(slots.items, slots.counts, strict=True))[: slots.filled] == ranked[:4]
    assert slots.next_count == view.users_with(5)
    of_users = Counter(user for user, _ in distinct)
    cells = Counter(math.ceil(math.log2(many)) for many in of_users.values())
    assert view.users_by_items().tolist() == [cells[j] for j in range(CELLS)]


@given(pairs, st.sampled_from([1, 2, 5]))
def test_users_add_one_weight_to_each_of_their_different_buckets(rows: list[tuple[int, int]], buckets: int) -> None:
    view, weights = made(rows), gaussian_weights(1, buckets)
    every = made([(0, item) for item in range(13)])
    bucket_of = {item: b for b in range(buckets) for item in _alive(every, b, buckets)}
    held: dict[int, set[int]] = defaultdict(set)
    for user, item in rows:
        held[user].add(bucket_of[item])
    wanted = [0] * buckets
    for mine in held.values():
        for bucket in mine:
            wanted[bucket] += int(weights[len(mine) - 1])
    assert view.bucket_loads(KEY, buckets, weights).tolist() == wanted


def _alive(every: Relation, bucket: int, buckets: int) -> list[int]:
    """Which items of one user lie in a bucket, found through the views alone."""
    kept = np.arange(buckets) == bucket
    items = every.pairs_in_buckets(KEY, kept).observed_items(KEY, np.full(13, UNIT))
    return [int(items.name(rank)) for rank in range(items.size)]


@given(pairs, st.integers(1, 4))
def test_users_keep_at_most_the_cap_and_their_weight_depends_on_what_they_keep(
    rows: list[tuple[int, int]], cap: int
) -> None:
    weights = gaussian_weights(1, cap)
    of_users = Counter(user for user, _ in set(rows))
    scores = made(rows).observed_items(KEY, weights)
    total = sum(scores.score_of(rank) for rank in range(scores.size))
    assert total == sum(min(many, cap) * int(weights[min(many, cap) - 1]) for many in of_users.values())


@given(pairs, st.integers(1, 4), st.integers(2, 4))
def test_above_a_floor_only_items_with_that_number_of_users_are_observed(
    rows: list[tuple[int, int]], cap: int, floor: int
) -> None:
    """Kept are those after the cap, and of each the same score is left, less one user fewer than the floor."""
    weights = gaussian_weights(1, cap)
    every, ones = (made(rows).observed_items(KEY, table) for table in (weights, np.ones(cap, dtype=np.int64)))
    users = {ones.name(rank): ones.score_of(rank) for rank in range(ones.size)}
    wanted = {every.name(rank): every.score_of(rank) - (floor - 1) * UNIT for rank in range(every.size)}
    found = made(rows).with_floor(floor).observed_items(KEY, weights)
    assert {found.name(rank): found.score_of(rank) for rank in range(found.size)} == {
        item: score for item, score in wanted.items() if users[item] >= floor
    }
    assert (found.floor, every.floor) == (floor, 1)
    alive = np.array([True, False])
    assert made(rows).with_floor(floor).pairs_in_buckets(KEY, alive).floor == floor


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(0, 3)), max_size=40), st.integers(2, 4))
def test_over_several_periods_a_user_counts_once_for_a_floor(rows: list[tuple[int, int, int]], floor: int) -> None:
    user, period, item = np.array(sorted(set(rows)), dtype=np.int64).reshape(-1, 3).T
    hashing = SplitMixHashing(np.arange(5), np.arange(4))
    over = Relation.from_rows(Rows(user, item, period), list, hashing, floor)
    found = over.observed_items(KEY, gaussian_weights(1, 4))
    once = Counter(item for _, item in {(user, item) for user, _, item in rows})
    assert {found.name(rank) for rank in range(found.size)} == {item for item, many in once.items() if many >= floor}
    every = Relation.from_rows(Rows(user, item, period), list, hashing)
    whole = every.observed_items(KEY, gaussian_weights(1, 4))
    scores = {whole.name(rank): whole.score_of(rank) for rank in range(whole.size)}
    for rank in range(found.size):
        assert found.score_of(rank) == scores[found.name(rank)] - (floor - 1) * UNIT


@given(pairs, st.lists(st.integers(0, 12), min_size=1, max_size=8), st.integers(1, 6))
def test_one_user_changes_little(rows: list[tuple[int, int]], items: list[int], buckets: int) -> None:
    before, after = made(rows), made([*rows, *((99, item) for item in items)])
    weights = gaussian_weights(1, buckets)
    moved = after.bucket_loads(KEY, buckets, weights) - before.bucket_loads(KEY, buckets, weights)
    assert (moved >= 0).all()
    assert (moved.astype(object) ** 2).sum() <= UNIT**2
    cells = after.users_by_items() - before.users_by_items()
    assert sorted(cells.tolist()) == [*[0] * (CELLS - 1), 1]
    for rank in (1, 2, 5):
        assert after.users_with(rank) - before.users_with(rank) in (0, 1)


def test_cells_are_exact_at_powers_of_two() -> None:
    assert cell_of_count(np.array([1, 2, 3, 4, 5, 8, 9, 2048, 2049, 4096, 4097, 10**9])).tolist() == [
        0, 1, 2, 2, 3, 3, 4, 11, 12, 12, 12, 12,
    ]  # fmt: skip
