"""The one expression behind a question with groups: the top `k_bar + 1` items of every group, in one statement (P15).

Each user counts in a few groups, those of the smallest keyed hash of (key, user, group): a choice that looks at that
user alone. Ranks are computed in the engine, group by group. How many groups there are is private, so nothing here
limits their number (P15.3); a public floor leaves out what fewer users have, and then every count is taken above it.
Where all pairs of a group are looked at, it leaves out the groups of fewer users, in which nothing can be named.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from crestline.sources.engine.bind_parameters import KEY
from crestline.sources.engine.engine_functions import Expression
from crestline.sources.expression.contribution import bound_pairs, hash_digits, key_values
from crestline.sources.expression.counting import COUNT, USER, Counting, Items

PLACE = "place"
NUMBER = "number"


@dataclass(frozen=True)
class GroupCounting:
    """One question with groups, put to one table. `public_groups` holds a public list of groups, each once, as keys;
    `items`
    a public list of all items."""

    counting: Counting
    public_groups: Expression | None = None
    items: Expression | None = None

    @property
    def groups(self) -> Items:
        return self.counting.groups

    @property
    def hidden_floor(self) -> int:
        """What is taken off every count: the floor less one user, at the most that one user can add (P15.3)."""
        return (self.counting.question.floor - 1) * self.counting.step

    def group_tops(self, key: bytes) -> Expression:
        """Group, item, count, place and the group's number, of the first `k_bar + 1` items of every group.

        Counts are those above the floor, which is the same as padding with dummies of one user less than it.
        """
        import ibis

        counts, groups, items = self.counts(key), self.groups, self.counting.items
        order = [ibis.desc(counts[COUNT]), *(counts[name] for name in items.names)]
        placed = counts.mutate(**{PLACE: ibis.row_number().over(group_by=list(groups.names), order_by=order)})
        first = placed.filter(placed[PLACE] <= self.counting.question.slots)  # places count from 0
        number = ibis.dense_rank().over(order_by=[first[name] for name in groups.names])
        fetched = {**groups.result_columns(first), **items.result_columns(first)}
        return first.select(**fetched, **{COUNT: first[COUNT], PLACE: first[PLACE], NUMBER: number})

    def order_groups(self, top: Expression, first: int = 0, last: int | None = None) -> Expression:
        """Group after group, best items first; only the groups of some numbers, where they are given."""
        part = top if last is None else top.filter((top[NUMBER] >= first) & (top[NUMBER] < last))
        return part.order_by([part[NUMBER], part[PLACE]])

    def counts(self, key: bytes) -> Expression:
        """The count of every item in every group, as far as it is above the floor."""
        counts = self.counting.counts(self.bounded_pairs(key), key)
        if not self.hidden_floor:
            return counts
        above = counts.filter(counts[COUNT] > self.hidden_floor)
        return above.mutate(**{COUNT: above[COUNT] - self.hidden_floor})

    def bounded_pairs(self, key: bytes) -> Expression:
        """The pairs of every user (over several periods: in each of them) in at most `groups_per_user` groups."""
        counting, names = self.counting, self.groups.names
        pairs = self.on_lists(counting.pairs)
        users = pairs.select(*counting.bounded_by, *names).distinct()
        texts = counting.texts(users, (USER, *names))
        most = counting.question.groups_per_user
        kept = bound_pairs(users, counting.bounded_by, names, texts, most, group_key(key), counting.engine)
        return pairs.semi_join(kept, [*counting.bounded_by, *names])

    def on_lists(self, pairs: Expression) -> Expression:
        """The pairs, or rows, whose groups and items are on their public lists: what is on none of them is never
        released, and must not use up a user's groups."""
        if self.public_groups is not None:
            pairs = pairs.semi_join(self.public_groups, list(self.groups.names))
        if self.items is not None:
            pairs = pairs.semi_join(self.items, list(self.counting.items.names))
        return pairs

    def in_large_groups(self, pairs: Expression) -> Expression:
        """Of pairs that are kept, those in groups of as many users as the floor says: over several periods a user
        counts once. In any other group no item has so many users, and nothing is named with certainty (P15.3). All
        groups of a public list stay: what a release looked at there is published whether it names something or not."""
        if self.counting.question.floor == 1 or self.public_groups is not None:
            return pairs
        names = list(self.groups.names)
        users = pairs.select(USER, *names).distinct()
        many = users.group_by(names).agg(**{COUNT: users.count()})
        large = many.filter(many[COUNT] >= self.counting.question.floor)
        return pairs.semi_join(large, names)

    def all_groups(self) -> Expression:
        """The public list of groups, as it is sent back; no private row is read."""
        assert self.public_groups is not None, "only a public list is read"
        return self.public_groups.select(**self.groups.result_columns(self.public_groups))


def group_key(key: bytes) -> bytes:
    """The key that chooses a user's groups: another than the one that chooses items within them."""
    return hashlib.sha256(b"groups" + key).digest()


def group_key_values(key: bytes) -> dict[str, str]:
    """What stands in the places of a release's key, and of the one that chooses groups."""
    return {**key_values(key), hash_digits(group_key(KEY)): hash_digits(group_key(key))}
