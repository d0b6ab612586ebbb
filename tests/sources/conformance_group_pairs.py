"""What every engine must do alike for the sieve in groups: the views of each group's own pairs (P15.1, P18.6).

A class that inherits it provides the fixture `engine`. Hashes are this process's own and no expectation names one: that
they are functions of labels is seen from the views themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from typing import Any, TypeAlias, cast

import numpy as np
import pyarrow as pa
import pytest

from crestline.ask import ask
from crestline.histogram.label_order import Label
from crestline.histogram.observed_items import ObservedItems
from crestline.histogram.relation import PairViews, Relation
from crestline.histogram.view_kinds import PAIRS
from crestline.mechanisms.observed.weights import gaussian_weights
from crestline.periods.calendar import Calendar, Periods
from crestline.prepare import prepare
from crestline.question import Question, QuestionFields
from crestline.randomness.entropy import replay
from crestline.sources import Source
from crestline.sources.groups import pairs as group_pairs
from tests.sources import oracle, oracle_groups, oracle_views
from tests.sources.conformance import ITEMS, TEXTS
from tests.sources.conformance_groups import KEY, MANY, OTHER_KEY, grouped
from tests.sources.engines import Engine

BUCKETS = 4
EVERY = 40  # more items than a user has: no hash decides what is kept

Naming: TypeAlias = Callable[[Sequence[Any]], list[Label]]


@contextmanager
def pairs(source: Source, asked: Question, key: bytes = KEY) -> Iterator[tuple[dict[Label, PairViews], Naming]]:
    """The views of every group's pairs, and the names of items, whatever the group; all are asked for at once."""
    source.check(asked, PAIRS)
    with source.reading(asked, key, PAIRS) as reading:
        tables: Any = reading.histogram
        (table,) = list(tables)
        assert reading.labels_in is not None
        assert len(set(table.groups)) == len(table) == len(table.groups)
        views = dict(zip(table.groups, table.histograms(), strict=True))
        picks = [(group, item) for group, part in views.items() for item in _every(part)]
        labels = dict(zip((item for _, item in picks), reading.labels_in(picks), strict=True))
        assert reading.labels_in([]) == []
        yield views, lambda numbers: [labels[number] for number in numbers]


def _every(views: PairViews) -> Sequence[Label]:
    """The numbers of all items, whatever the floor."""
    items = cast(Relation, views).with_floor(1).observed_items(KEY, np.ones(EVERY, dtype=np.int64))
    return items.names(range(items.size))


def seen(items: ObservedItems, names: Naming) -> list[tuple[int, Any]]:
    """Score and label of every item, in the order of the ranks."""
    labels = names(items.names(range(items.size)))
    return [(items.score_of(rank), oracle.typed(label)) for rank, label in enumerate(labels)]


def buckets_of(views: PairViews, names: Naming, key: bytes = KEY) -> dict[Any, int]:
    """The bucket of every item, found by leaving out all others."""
    ones, found = np.ones(EVERY, dtype=np.int64), dict[Any, int]()
    for bucket in range(BUCKETS):
        alive = views.pairs_in_buckets(key, np.arange(BUCKETS) == bucket).observed_items(key, ones)
        for _, label in seen(alive, names):
            assert repr(label) not in found
            found[repr(label)] = bucket
    return found


def every_view_agrees(theirs: PairViews, names: Naming, expected: oracle_views.Pairs, floor: int = 1) -> None:
    """With a floor, all views but the observed items are those of all pairs."""
    assert theirs.floor == floor
    if floor > 1:
        some_are_observed(theirs, names, expected, floor)
        theirs = cast(Relation, theirs).with_floor(1)
    for rank in (1, 2, 3, 1000):
        assert theirs.users_with(rank) == oracle_views.users_with(expected, rank)
    assert theirs.users_by_items().tolist() == oracle_views.users_by_items(expected)
    slots = theirs.slots(3)
    filled = slots.filled
    ranked = [
        (count, oracle.typed(label)) for count, label in zip(slots.counts, names(slots.items[:filled]), strict=False)
    ]
    assert (ranked, slots.next_count) == oracle_views.slots(expected, 3)
    for weights in (gaussian_weights(2, EVERY), np.ones(EVERY, dtype=np.int64)):
        scores = oracle_views.in_order(oracle_views.observed(expected, KEY, weights.tolist()))
        assert seen(theirs.observed_items(KEY, weights), names) == scores
    bucket = buckets_of(theirs, names)
    placed = {(user, bucket[repr(oracle.typed(item))]) for user, item in expected}
    weights, loads = gaussian_weights(1, BUCKETS), [0] * BUCKETS
    for user, place in placed:
        loads[place] += int(weights[len([1 for other, _ in placed if other == user]) - 1])
    assert theirs.bucket_loads(KEY, BUCKETS, weights).tolist() == loads
    most = np.ones(2, dtype=np.int64)
    users = {user for user, _ in expected}
    kept = sum(min(2, len([1 for other, _ in expected if other == user])) for user in users)
    assert sum(score for score, _ in seen(theirs.observed_items(KEY, most), names)) == kept


def some_are_observed(theirs: PairViews, names: Naming, expected: oracle_views.Pairs, floor: int) -> None:
    """Only items that so many users keep, with what their scores are above the weights of one user fewer."""
    for weights in (gaussian_weights(1, EVERY), np.ones(EVERY, dtype=np.int64)):
        scores, users = oracle_views.observed(expected, KEY, weights.tolist()), oracle.counts(expected)
        above = {item: score - (floor - 1) * int(weights[0]) for item, score in scores.items() if users[item] >= floor}
        assert seen(theirs.observed_items(KEY, weights), names) == oracle_views.in_order(above)


def every_view_of_periods_agrees(theirs: PairViews, names: Naming, periods: Sequence[oracle_views.Pairs]) -> None:
    """The views of pairs of several periods: each user counts once, by what they have in one period."""
    once, users = set().union(*periods), {user for part in periods for user, _ in part}
    for rank in (1, 2, 3, 1000):
        assert theirs.users_with(rank) == oracle_views.users_with(once, rank)
    slots = theirs.slots(2)
    assert [(count, oracle.typed(label)) for count, label in zip(slots.counts, names(slots.items), strict=True)] == (
        oracle_views.slots(once, 2)[0]
    )
    most = [max((part for part in periods), key=lambda part: len(_of(part, user))) for user in users]
    fullest = {pair for user, part in zip(users, most, strict=True) for pair in part if pair[0] == user}
    assert theirs.users_by_items().tolist() == oracle_views.users_by_items(fullest)
    bucket, wide = buckets_of(theirs, names), gaussian_weights(1, EVERY)
    placed = [{(user, bucket[repr(oracle.typed(item))]) for user, item in part} for part in periods]
    loads = _largest(placed, wide.tolist())
    assert theirs.bucket_loads(KEY, BUCKETS, wide).tolist() == [loads.get(place, 0) for place in range(BUCKETS)]
    scores = oracle_views.in_order(_largest(periods, wide.tolist()))
    assert seen(theirs.observed_items(KEY, wide), names) == scores
    kept = theirs.observed_items(KEY, np.ones(1, dtype=np.int64))  # one item of each user in each period
    total = sum(score for score, _ in seen(kept, names))
    assert len(users) <= total <= sum(len({user for user, _ in part}) for part in periods)


def _of(pairs: oracle_views.Pairs, user: Any) -> set[Label]:
    return {item for owner, item in pairs if owner == user}


def _largest(periods: Sequence[oracle_views.Pairs], weights: Sequence[int]) -> dict[Label, int]:
    """For each item the sum over users of the largest weight that they give it in a period."""
    found: dict[tuple[Any, Label], int] = {}
    for part in periods:
        for user, item in part:
            found[user, item] = max(found.get((user, item), 0), weights[len(_of(part, user)) - 1])
    result: Counter[Label] = Counter()
    for (_, item), weight in found.items():
        result[item] += weight
    return dict(result)


def agrees(
    source: Source, table: pa.Table, asked: Question, keep: Callable[[oracle.Row], Any] = lambda row: True
) -> dict[Label, oracle_views.Pairs]:
    listed: Any = asked.groups
    expected = oracle_groups.pairs_of(oracle_groups.triples(table.to_pylist(), asked, keep), asked, KEY, listed)
    if listed is None:
        expected = {group: part for group, part in expected.items() if len({user for user, _ in part}) >= asked.floor}
    with pairs(source, asked) as (theirs, names):
        assert {repr(oracle.typed(group)) for group in theirs} == {repr(oracle.typed(group)) for group in expected}
        mine = {repr(oracle.typed(group)): part for group, part in expected.items()}
        for group, views in theirs.items():
            every_view_agrees(views, names, mine[repr(oracle.typed(group))], asked.floor)
    return expected


class GroupPairConformance:
    """Inherit, and provide `engine`."""

    @pytest.mark.long
    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"groups_per_user": 3},
            {"groups_per_user": 100},
            {"by": ("group", "year"), "groups_per_user": 2},
            {"by": "year", "item": ("item", "group"), "groups_per_user": 2},
            {"groups": [TEXTS[0], TEXTS[3], "nobody"], "groups_per_user": 2},
            {"groups": []},
            {"floor": 2, "groups_per_user": 2},
            {"floor": 7, "by": ("group", "year"), "groups_per_user": 3},
            {"floor": 3, "groups": [TEXTS[0], "nobody"], "groups_per_user": 2},
        ],
        ids=str,
    )
    def test_every_group_has_the_views_of_its_own_pairs(self, engine: Engine, options: dict[str, Any]) -> None:
        found = agrees(engine.source(MANY), MANY, grouped(**options))
        assert options.get("groups") == [] or any(found.values())

    def test_pairs_of_groups_are_those_of_filtered_rows(self, engine: Engine) -> None:
        agrees(engine.source(MANY), MANY, grouped(groups_per_user=2, where="n >= 3"), lambda row: row["n"] >= 3)

    @pytest.mark.parametrize("kind", ["text", "integer", "date", "bytes"])
    def test_pairs_of_groups_and_items_of_every_type(self, engine: Engine, kind: str) -> None:
        arrow, values = ITEMS[kind]
        many = len(values)
        rows = {
            "user": [place // 3 for place in range(4 * many)] + [0, None],
            "item": pa.array([*values * 4, None, values[0]], arrow),
            "group": pa.array([*values * 2, *values[::-1] * 2, values[0], values[0]], arrow),
        }
        agrees(engine.source(pa.table(rows)), pa.table(rows), grouped(groups_per_user=2))

    @pytest.mark.long
    def test_no_pairs_no_groups_unless_they_are_listed(self, engine: Engine) -> None:
        nothing = MANY.slice(0, 0)
        assert agrees(engine.source(nothing), nothing, grouped()) == {}
        assert agrees(engine.source(nothing), nothing, grouped(groups=["a", "b"])) == {"a": set(), "b": set()}

    def test_many_pairs_come_some_at_a_time(self, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(group_pairs, "_ROWS", 7)
        agrees(engine.source(MANY), MANY, grouped(groups_per_user=9))

    @pytest.mark.long
    def test_one_user_moves_only_a_few_groups_and_no_hash_of_others(self, engine: Engine) -> None:
        """Without a user every other item stays in its bucket and every other user keeps what they kept, though all
        numbers are others: P18.2 for every key."""
        first = next(row for row in MANY.to_pylist() if None not in row.values())["user"]
        more = pa.table({"user": [first] * 6, "item": [" first", *TEXTS[:5]], "group": ["", *[TEXTS[0]] * 5]})
        every = pa.concat_tables([MANY.select(["user", "item", "group"]), more])
        others = pa.Table.from_pylist([row for row in every.to_pylist() if row["user"] != first], schema=every.schema)
        asked, one = grouped(groups_per_user=2), np.ones(1, dtype=np.int64)
        with pairs(engine.source(every), asked) as (theirs, names):
            scores = {group: seen(views.observed_items(KEY, one), names) for group, views in theirs.items()}
            placed = {group: buckets_of(views, names) for group, views in theirs.items()}
            elsewhere = {group: buckets_of(views, names, OTHER_KEY) for group, views in theirs.items()}
        assert placed != elsewhere
        with pairs(engine.source(others), asked) as (theirs, names):
            fewer = {group: seen(views.observed_items(KEY, one), names) for group, views in theirs.items()}
            again = {group: buckets_of(views, names) for group, views in theirs.items()}
        assert len({*scores}) >= len({*fewer})
        moved = {group for group in scores if scores[group] != fewer.get(group)}
        assert 1 <= len(moved) <= 2
        for group in fewer:
            assert again[group].items() <= placed[group].items()
            before, after = ({repr(label): score for score, label in part} for part in (fewer[group], scores[group]))
            changes = [after[label] - before.get(label, 0) for label in after]
            assert before.keys() <= after.keys()
            assert sorted(set(changes) - {0}) in ([], [1])
            assert sum(changes) <= 1  # who keeps one item moves one

    def test_over_several_periods_bounds_and_weights_are_for_a_user_and_a_period(self, engine: Engine) -> None:
        """P16.2: groups are kept in each period, and an item or a bucket gets the largest weight of a user."""
        rows: list[dict[str, Any]] = [
            {"user": n * 7 % 13, "item": TEXTS[n * n % 11], "group": TEXTS[n * 5 % 3], "t": date(2026, 9 + n % 2, 5)}
            for n in range(90)
        ]
        table = pa.table({name: [row[name] for row in rows] for name in rows[0]})
        asked = grouped(groups_per_user=2)
        months = [[row for row in rows if row["t"].month == month] for month in (9, 10)]
        kept = [oracle_groups.pairs_of(oracle_groups.triples(part, asked), asked, KEY) for part in months]
        span = Periods.from_labels(Calendar("month", "t", "UTC"), "2026-09", "2026-10")
        with pairs(engine.source(table), replace(asked, period=span)) as (theirs, names):
            assert set(theirs) == {group for part in kept for group in part}
            for group, views in theirs.items():
                every_view_of_periods_agrees(views, names, [part.get(group, set()) for part in kept])

    @pytest.mark.long
    def test_over_several_periods_a_user_counts_once_for_a_floor(self, engine: Engine) -> None:
        """Of a group as of an item: somebody in two periods is one user."""
        rows: list[dict[str, Any]] = [
            {"user": user, "item": item, "group": group, "t": date(2026, month, 5)}
            for user, item, group, month in [
                (1, "a", "two users", 9), (1, "a", "two users", 10), (2, "a", "two users", 10),
                (3, "a", "three", 9), (3, "a", "three", 10), (4, "a", "three", 9), (5, "a", "three", 10),
                (3, "b", "three", 9), (3, "b", "three", 10), (4, "b", "three", 9),
            ]
        ]  # fmt: skip
        source = engine.source(pa.table({name: [row[name] for row in rows] for name in rows[0]}))
        span = Periods.from_labels(Calendar("month", "t", "UTC"), "2026-09", "2026-10")
        asked, weights = replace(grouped(), period=span), gaussian_weights(1, 2)
        for floor, wanted in ((2, {"two users": ["a"], "three": ["a", "b"]}), (3, {"three": ["a"]})):
            with pairs(source, replace(asked, floor=floor)) as (theirs, names):
                assert {group: names(views.observed_items(KEY, weights).names(range(len(wanted[str(group)]))))
                        for group, views in theirs.items()} == wanted  # fmt: skip
                score = {group: views.observed_items(KEY, weights).score_of(0) for group, views in theirs.items()}
        half = int(weights[1])
        assert score == {"three": 2 * half + int(weights[0]) - 2 * int(weights[0])}  # a user of two items weighs less

    @pytest.mark.long
    def test_what_stands_out_in_a_group_is_named_by_the_sieve(self, engine: Engine) -> None:
        users = [f"u{n}" for n in range(400)]
        table = pa.table(
            {
                "user": [*users, *users, "u0", "alone"],
                "item": ["a"] * 400 + ["é"] * 400 + ["of one", "a"],
                "group": ["g"] * 200 + ["h"] * 200 + ["g"] * 200 + ["h"] * 200 + ["g", "of one user"],
            }
        )
        source = engine.source(table)
        fields = {"k": 3, "by": "group", "epsilon": 8, "delta": "1e-6", "mechanism": "Sieve", "groups_per_user": 2}
        for listed in (None, ["g", "nobody"]):
            prepared = prepare(
                Question.from_fields(cast(QuestionFields, {**fields, "groups": listed})), limits=source.limits
            )
            answer = ask(prepared, source=source, entropy=replay("stands out in groups"))
            found = {group: set(part.items) for group, part in answer.groups.items()}
            assert found == (
                {"g": {"a", "é"}, "h": {"a", "é"}} if listed is None else {"g": {"a", "é"}, "nobody": set()}
            )
