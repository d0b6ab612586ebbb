"""Expressions for thresholds in groups: the score of every observed item of every group, how many have each (P15.1).

Nothing here runs. Groups are numbered in label order, so that later statements speak of them by number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crestline.histogram.observed_items import floor_reduction
from crestline.histogram.observed_table import Pick
from crestline.sources.engine.engine_functions import Expression
from crestline.sources.engine.inline_tables import inline_int_table
from crestline.sources.expression.counting import COUNT, PERIOD, USER
from crestline.sources.groups.counting import NUMBER, GroupCounting

_HOW_MANY, _INDEX, _MANY, _WEIGHT = "how_many", "index", "many", "weight"


@dataclass(frozen=True)
class GroupScoring:
    """Scores in groups: in each of them a user keeps as many items as there are weights, and each of m kept items
    scores the m-th weight. Without weights scores are what the question counts. With a floor scores are what is left
    above it; weights of less than one may leave less than nothing (P17.6)."""

    over: GroupCounting
    weights: tuple[int, ...] = ()

    @property
    def largest_weight(self) -> int:
        """What one user gives an item at most."""
        return self.weights[0] if self.weights else self.over.counting.step

    @property
    def floor(self) -> int:
        """How many users an item needs to be there at all."""
        return self.over.counting.question.floor

    def scores(self, key: bytes) -> Expression:
        """Every item that so many users keep in a group as the floor says, with what its score there is above it."""
        over, cap = self.over, len(self.weights)
        if not cap or (set(self.weights) == {1} and over.counting.question.contribution == cap):
            return over.counts(key)
        counting, groups = over.counting, over.groups.names
        pairs = counting.bound_pairs(over.bounded_pairs(key), cap, key)
        whose = [*counting.bounded_by, *groups]
        table = inline_int_table({_MANY: range(1, cap + 1), _WEIGHT: self.weights}, counting.engine)
        many = pairs.group_by(whose).agg(**{_MANY: pairs.count()})
        weighed = pairs.inner_join(many.inner_join(table, _MANY), whose)
        labels = [*groups, *counting.items.names]
        if PERIOD in counting.bounded_by:  # of a user who has the item in several periods, the largest weight (P16.2)
            weighed = weighed.group_by([USER, *labels]).agg(**{_WEIGHT: weighed[_WEIGHT].max()})
        total = weighed[_WEIGHT].sum().cast("int64")
        if self.floor == 1:
            return weighed.group_by(labels).agg(**{COUNT: total})
        scores = weighed.group_by(labels).agg(**{COUNT: total, _MANY: weighed.count()})  # each user is there once
        above = scores.filter(scores[_MANY] >= self.floor).drop(_MANY)
        return above.mutate(**{COUNT: above[COUNT] - floor_reduction(self.floor, self.largest_weight)})

    def number_groups(self, scores: Expression) -> Expression:
        """Every group of the scores once, with its number from 0 on in label order."""
        import ibis

        groups = scores.select(*self.over.groups.names).distinct()
        order = [groups[name] for name in self.over.groups.names]
        return groups.mutate(**{NUMBER: ibis.row_number().over(order_by=order)})

    def score_classes(self, scores: Expression, group_numbers: Expression) -> Expression:
        """Group, number, score, and how many items of the group have it."""
        names = self.over.groups.names
        counted = scores.group_by([*names, COUNT]).agg(**{_HOW_MANY: scores.count()})
        joined = counted.inner_join(group_numbers, list(names))
        return joined.select(**self.over.groups.result_columns(joined), **{name: joined[name] for name in _CLASS})

    def order_classes(self, classes: Expression, first: int = 0, last: int | None = None) -> Expression:
        """Group after group, the largest scores first; only the groups of some numbers, where they are given."""
        import ibis

        part = classes if last is None else classes.filter((classes[NUMBER] >= first) & (classes[NUMBER] < last))
        return part.order_by([part[NUMBER], ibis.desc(part[COUNT])])

    def pick_labels(self, scores: Expression, group_numbers: Expression, picks: Sequence[Pick]) -> Expression:
        """Number of the group, score, index and label of the picked items. The index is the item's place among those of
        its group and score, in label order."""
        import ibis

        items, engine = self.over.counting.items, self.over.counting.engine
        columns = dict(zip((NUMBER, COUNT, _INDEX), zip(*sorted(set(picks)), strict=True), strict=True))
        wanted = inline_int_table(columns, engine)
        some = inline_int_table({NUMBER: sorted(set(columns[NUMBER]))}, engine)
        joined = scores.inner_join(group_numbers.inner_join(some, NUMBER), list(self.over.groups.names))
        near = joined.inner_join(wanted.select(NUMBER, COUNT).distinct(), [NUMBER, COUNT])
        order = [near[name] for name in items.names]
        placed = near.mutate(**{_INDEX: ibis.row_number().over(group_by=[NUMBER, COUNT], order_by=order)})
        found = placed.inner_join(wanted, [NUMBER, COUNT, _INDEX])
        return found.select(NUMBER, COUNT, _INDEX, **items.result_columns(found))

    def absent_labels(
        self, scores: Expression, group_numbers: Expression, picks: Sequence[tuple[int, int]]
    ) -> Expression:
        """Number of the group, index and label of items of the public list that nobody has in the group. The index is
        the item's place among those, in label order; a number that no group has stands for one that nobody is in."""
        import ibis

        items, listed, engine = self.over.counting.items, self.over.items, self.over.counting.engine
        assert listed is not None, "only of a public list items are picked that nobody has"
        numbers, places = zip(*sorted(set(picks)), strict=True)
        some = inline_int_table({NUMBER: sorted(set(numbers))}, engine)
        had = scores.inner_join(group_numbers.inner_join(some, NUMBER), list(self.over.groups.names))
        free = some.cross_join(listed).anti_join(had.select(NUMBER, *items.names), [NUMBER, *items.names])
        order = [free[name] for name in items.names]
        placed = free.mutate(**{_INDEX: ibis.row_number().over(group_by=NUMBER, order_by=order)})
        found = placed.inner_join(inline_int_table({NUMBER: numbers, _INDEX: places}, engine), [NUMBER, _INDEX])
        return found.select(NUMBER, _INDEX, **items.result_columns(found))

    def numbers(self, group_numbers: Expression) -> Expression:
        """Every group with its number, as it is sent back."""
        return group_numbers.select(**self.over.groups.result_columns(group_numbers), **{NUMBER: group_numbers[NUMBER]})

    def size(self) -> Expression:
        """How many items the public list has, as one row; no private row is read."""
        assert self.over.items is not None, "only a public list has a size"
        return self.over.items.aggregate(**{_HOW_MANY: self.over.items.count()})

    def all_items(self) -> Expression:
        """The public list of items in label order, as it is sent back; no private row is read."""
        listed, items = self.over.items, self.over.counting.items
        assert listed is not None, "only a public list is read"
        return listed.order_by([listed[name] for name in items.names]).select(**items.result_columns(listed))

    def all_scores(self, scores: Expression) -> Expression:
        """Group, label and score of every item: for engines that keep nothing between two statements."""
        groups, items = self.over.groups, self.over.counting.items
        return scores.select(**groups.result_columns(scores), **items.result_columns(scores), **{COUNT: scores[COUNT]})


_CLASS = (NUMBER, COUNT, _HOW_MANY)
