"""What every engine must do alike for thresholds and the sieve: the views of distinct pairs (P17, P18).

A class that inherits it provides the fixture `engine`. Every expectation comes from plain Python (`oracle_views.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from decimal import Decimal
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from crestline.ask import ask
from crestline.histogram.observed_items import ObservedItems
from crestline.histogram.relation import PairViews
from crestline.histogram.view_kinds import PAIRS, View
from crestline.mechanisms.observed.weights import UNIT, gaussian_weights
from crestline.prepare import prepare
from crestline.question import Question, QuestionFields
from crestline.randomness.entropy import replay
from crestline.sources import Source
from tests.sources import oracle, oracle_views
from tests.sources.conformance import FILTERED, ITEMS, TEXTS, question
from tests.sources.engines import Engine
from tests.sources.filters import WHERE

KEY = bytes(range(32))
OTHER_KEY = bytes(range(1, 33))
BUCKETS = 64
MANY = 5  # the most items that a user keeps in these tests; some have more


@contextmanager
def views(source: Source, asked: Question) -> Iterator[PairViews]:
    source.check(asked, PAIRS)
    with source.reading(asked, KEY, PAIRS) as reading:
        assert isinstance(reading.histogram, PairViews)
        yield reading.histogram


def seen(items: ObservedItems) -> list[tuple[int, Any]]:
    """Score and label of every item, in the order of the ranks."""
    labels = items.names(range(items.size))
    return [(items.score_of(rank), oracle.typed(label)) for rank, label in enumerate(labels)]


SOME = np.array([place % 3 > 0 for place in range(BUCKETS)])
LOOKS = pytest.mark.parametrize("some", [False, True], ids=["all pairs", "some buckets"])


def agrees(
    source: Source, table: pa.Table, asked: Question, some: bool, keep: Callable[[oracle.Row], Any] = lambda row: True
) -> None:
    """Every view, of all pairs or of those in some buckets, in one snapshot."""
    pairs = oracle.pairs(table.to_pylist(), asked, keep)
    with views(source, asked) as theirs:
        if some:
            every_view_agrees(
                theirs.pairs_in_buckets(OTHER_KEY, SOME), oracle_views.within(pairs, OTHER_KEY, SOME.tolist())
            )
        else:
            every_view_agrees(theirs, pairs)


def every_view_agrees(theirs: PairViews, pairs: oracle_views.Pairs) -> None:
    for rank in (1, 2, 3, 1000):
        assert theirs.users_with(rank) == oracle_views.users_with(pairs, rank)
    for k_bar in (1, 3, 1000):
        slots = theirs.slots(k_bar)
        found = [(count, oracle.typed(label)) for label, count in zip(slots.items, slots.counts, strict=True) if count]
        assert (found, slots.next_count) == oracle_views.slots(pairs, k_bar)
        assert slots.k_bar == k_bar
    assert theirs.users_by_items().tolist() == oracle_views.users_by_items(pairs)
    weights = gaussian_weights(1, BUCKETS)
    expected = oracle_views.loads(pairs, KEY, BUCKETS, weights.tolist())
    assert theirs.bucket_loads(KEY, BUCKETS, weights).tolist() == expected
    for table in (gaussian_weights(2, MANY), np.ones(MANY, dtype=np.int64)):
        items = theirs.observed_items(KEY, table)
        assert items.unit == table[0]
        assert seen(items) == oracle_views.in_order(oracle_views.observed(pairs, KEY, table.tolist()))
        every_count_agrees(items, pairs)


def every_count_agrees(items: ObservedItems, pairs: oracle_views.Pairs) -> None:
    """Numbers of users of the items at any ranks: without the cap and the weights of their scores."""
    known = {repr(oracle.typed(label)): many for label, many in oracle.counts(pairs).items()}
    ranks = [*range(items.size)][::-2]
    assert list(items.count_users(ranks)) == [known[repr(oracle.typed(label))] for label in items.names(ranks)]
    assert not items.count_users([])


def crowd(items: list[Any], kind: pa.DataType) -> pa.Table:
    """Users with 1, 2, 3, … of the items, each row twice, and rows with nulls."""
    rows = [
        (f"u{user}", item)
        for user in range(12)
        for item in (*(items[(user * 7 + place) % len(items)] for place in range(user + 1)), None)
    ]
    users, parts = [*(user for user, _ in rows * 2), None], [*(item for _, item in rows * 2), items[0]]
    return pa.table({"user": users, "item": pa.array(parts, kind)})


class ViewConformance:
    """Inherit, and provide `engine`."""

    # Floats and decimals have a text of their own on every engine; no bucket of theirs is compared with the oracle's.
    @LOOKS
    @pytest.mark.parametrize("kind", ["text", "integer", "boolean", "date", "bytes"])
    def test_views_of_items_of_every_type(self, engine: Engine, kind: str, some: bool) -> None:
        arrow, items = ITEMS[kind]
        table = crowd(items, arrow)
        agrees(engine.source(table), table, question(), some)

    @pytest.mark.long
    @LOOKS
    @pytest.mark.parametrize("columns", [("item", "n"), ("item", "day", "n")], ids=["two", "three"])
    def test_views_of_several_columns(self, engine: Engine, columns: tuple[str, ...], some: bool) -> None:
        table = pa.table(
            {
                "user": [1, 1, 1, 2, 2, 3, 3, 3, 4, None],
                "item": ["1", "11", "", "1", "b", "1", None, "é", "1", "1"],
                "day": pa.array([date(2026, 1, 1 + i % 2) for i in range(10)]),
                "n": [1, 10, 9, 1, -1, 1, 1, None, 10, 1],
            }
        )
        agrees(engine.source(table), table, question(item=columns), some)

    @LOOKS
    def test_views_of_filtered_rows(self, engine: Engine, some: bool) -> None:
        agrees(engine.source(FILTERED), FILTERED, question(user="yes", where="n > 2"), some, WHERE["n > 2"])

    @LOOKS
    def test_views_of_an_empty_table(self, engine: Engine, some: bool) -> None:
        table = crowd(TEXTS, pa.string()).slice(0, 0)
        agrees(engine.source(table), table, question(), some)

    def test_views_when_nothing_is_alive(self, engine: Engine) -> None:
        table = crowd(TEXTS, pa.string())
        with views(engine.source(table), question()) as pairs:
            every_view_agrees(pairs.pairs_in_buckets(KEY, np.zeros(BUCKETS, dtype=np.bool_)), set())

    @pytest.mark.parametrize("kind", ["decimal", "floating"])
    def test_equal_numbers_share_a_bucket_however_they_are_written(self, engine: Engine, kind: str) -> None:
        values = [Decimal("1.5"), Decimal("1.50"), Decimal("10")] if kind == "decimal" else [0.0, -0.0, 1.0]
        table = pa.table({"user": [1, 2, 3], "item": pa.array(values, ITEMS[kind][0])})
        with views(engine.source(table), question()) as pairs:
            loads = pairs.bucket_loads(KEY, 1 << 14, gaussian_weights(1, 1 << 14))
            assert sorted(loads[loads > 0].tolist()) == [UNIT, 2 * UNIT]
            assert [pairs.observed_items(KEY, np.ones(1, dtype=np.int64)).score_of(rank) for rank in (0, 1)] == [2, 1]

    @pytest.mark.parametrize("place", ["first", "middle", "last"])
    def test_one_user_moves_each_view_by_what_the_theorems_say(self, engine: Engine, place: str) -> None:
        """The same table with one user more: P18.3 for the looks, P18.1 for the loads, P17.1 for the scores."""
        table = crowd(TEXTS, pa.string())
        items = ["of nobody else", *TEXTS[-6:], *TEXTS[:6]]
        before = {"first": 0, "middle": len(table) // 2, "last": len(table)}[place]
        added = pa.table({"user": ["the one"] * len(items), "item": items})
        more = pa.concat_tables([table.slice(0, before), added, table.slice(before)])
        weights, rounds = gaussian_weights(2, MANY), gaussian_weights(1, BUCKETS)
        with views(engine.source(table), question()) as without, views(engine.source(more), question()) as with_user:
            for rank in (1, 5, len(TEXTS)):
                assert 0 <= with_user.users_with(rank) - without.users_with(rank) <= 1
            moved = with_user.users_by_items() - without.users_by_items()
            assert sorted(moved.tolist()) == [0] * (len(moved) - 1) + [1]
            moved = with_user.bucket_loads(KEY, BUCKETS, rounds) - without.bucket_loads(KEY, BUCKETS, rounds)
            assert moved.min() == 0
            assert 0 < int((moved**2).sum()) <= UNIT**2
            scores = [dict(_by_label(pairs.observed_items(KEY, weights))) for pairs in (with_user, without)]
            changes = [score - scores[1].get(label, 0) for label, score in scores[0].items()]
            assert set(scores[1]) <= set(scores[0])
            assert sorted(set(changes)) == [0, int(weights[MANY - 1])]
            assert sum(change > 0 for change in changes) == MANY

    def test_no_view_depends_on_the_order_of_rows(self, engine: Engine) -> None:
        """A user who is first, in the middle, last or anywhere: the hash of a label is the same."""
        table = crowd(TEXTS, pa.string())
        shuffled = np.random.default_rng(3).permutation(len(table))
        orders = [np.arange(len(table)), np.arange(len(table))[::-1], np.roll(np.arange(len(table)), 40), shuffled]
        assert len({_everything(engine.source(table.take(order))) for order in orders}) == 1

    def test_views_of_columns_that_are_declared_not_null(self, engine: Engine) -> None:
        table = crowd(TEXTS, pa.string())
        table = table.filter(pc.and_(table["user"].is_valid(), table["item"].is_valid()))
        declared = pa.schema([field.with_nullable(False) for field in table.schema])
        agrees(engine.source(table.cast(declared)), table, question(), some=False)

    def test_observed_items_are_read_for_a_mechanism_that_looks_at_them(self, engine: Engine) -> None:
        table = crowd(TEXTS, pa.string())
        source, asked, weights = engine.source(table), question(contribution=3), (1,) * 3
        source.check(asked, View("observed", weights))
        pairs = oracle.pairs(table.to_pylist(), asked)
        with source.reading(asked, KEY, View("observed", weights)) as reading:
            assert isinstance(reading.histogram, ObservedItems)
            assert seen(reading.histogram) == oracle_views.in_order(oracle_views.observed(pairs, KEY, weights))

    @pytest.mark.parametrize("options", [{"mechanism": "Observed", "contribution": 2}, {"mechanism": "Sieve"}])
    def test_what_stands_out_is_named(self, engine: Engine, options: dict[str, Any]) -> None:
        users = [f"u{n}" for n in range(400)]
        table = pa.table({"user": [*users, *users, "u0"], "item": ["a"] * 400 + ["é"] * 400 + ["of one"]})
        source = engine.source(table)
        prepared = prepare(
            Question.from_fields(cast(QuestionFields, {"k": 3, "epsilon": 8, "delta": "1e-6"} | options)),
            limits=source.limits,
        )
        answer = ask(prepared, source=source, entropy=replay("stands out"))
        assert set(answer.items) == {"a", "é"}


def _everything(source: Source) -> str:
    """What a mechanism may see, with a bound that cuts: the loads, the cells and the scores."""
    with views(source, question()) as pairs:
        alive = pairs.pairs_in_buckets(OTHER_KEY, SOME)
        return repr(
            [
                (
                    part.bucket_loads(KEY, BUCKETS, gaussian_weights(1, BUCKETS)).tolist(),
                    part.users_by_items().tolist(),
                    seen(part.observed_items(KEY, gaussian_weights(1, 2))),
                    part.slots(3).items,
                )
                for part in (pairs, alive)
            ]
        )


def _by_label(items: ObservedItems) -> Iterator[tuple[str, int]]:
    for rank, label in enumerate(items.names(range(items.size))):
        yield str(oracle.typed(label)), items.score_of(rank)
