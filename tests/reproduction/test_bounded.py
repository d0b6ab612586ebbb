from __future__ import annotations

import numpy as np

from reproduction.bounded import bounded_items, sampler

USERS = np.array([3, 1, 1, 1, 2, 3, 1])
ITEMS = np.array([0, 0, 1, 2, 1, 4, 3])


def test_no_user_counts_for_more_than_the_bound() -> None:
    for bound, kept in ((1, 3), (2, 5), (4, 7), (9, 7)):
        assert len(bounded_items(USERS, ITEMS, bound, sampler("bound"))) == kept


def test_each_item_of_a_user_is_as_likely() -> None:
    """User 1 keeps one of four items: 4,000 samples, six standard errors (a false alarm in 1e8)."""
    chance = sampler("uniform")
    alone = USERS == 1
    seen = np.bincount([bounded_items(USERS[alone], ITEMS[alone], 1, chance)[0] for _ in range(4_000)], minlength=4)
    assert np.abs(seen - 1_000).max() < 6 * np.sqrt(4_000 * 0.25 * 0.75)


def test_the_same_key_gives_the_same_sample() -> None:
    first, second = (bounded_items(USERS, ITEMS, 1, sampler("key")).tolist() for _ in range(2))
    assert first == second
