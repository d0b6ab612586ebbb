"""What every engine must do alike with periods: which rows are read, and bounds for a user and a period (P16)."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest

from crestline.errors import QuestionError
from crestline.histogram.observed_items import ObservedItems
from crestline.histogram.relation import PairViews
from crestline.histogram.view_kinds import PAIRS, View
from crestline.mechanisms.observed.weights import gaussian_weights
from crestline.periods.calendar import Calendar, Periods, period_index
from crestline.question import Question
from tests.sources import oracle, oracle_views
from tests.sources.conformance import KEY, ask, question
from tests.sources.conformance_views import every_count_agrees
from tests.sources.engines import Engine

BERLIN = "Europe/Berlin"
MOMENTS = [datetime(2026, 9, 30, 21, 59, 59, 999_999), datetime(2026, 9, 30, 22), datetime(2026, 9, 30, 23, 59, 59),
           datetime(2026, 10, 1), datetime(2026, 10, 31, 22, 59, 59), datetime(2026, 10, 31, 23), datetime(2026, 11, 1),
           datetime(1, 1, 2), datetime(9999, 12, 30), None]  # fmt: skip


def asked(first: str, last: str | None = None, per: str = "month", zone: str = "UTC", **more: Any) -> Question:
    return replace(question(20, **more), period=Periods.from_labels(Calendar(per, "t", zone), first, last or first))


def local(moment: datetime, zone: str, aware: bool, engine: str) -> date:
    """The day of a row: by the clock of the zone, or, where a timestamp has none, as it is written."""
    in_utc = aware or engine in ("pyspark", "clickhouse")
    return moment.replace(tzinfo=UTC).astimezone(ZoneInfo(zone)).date() if in_utc else moment.date()


class PeriodConformance:
    """Inherit, and provide `engine`."""

    @pytest.mark.parametrize("zone", ["UTC", BERLIN])
    @pytest.mark.parametrize("kind", ["date", "timestamp", "timestamp with zone"])
    def test_the_rows_of_a_period_are_read_and_no_others(self, engine: Engine, kind: str, zone: str) -> None:
        aware = kind == "timestamp with zone"
        types = {"date": pa.date32(), "timestamp": pa.timestamp("us"), "timestamp with zone": pa.timestamp("us", "UTC")}
        values: list[Any] = MOMENTS
        if kind == "date":
            values = [None if moment is None else moment.date() for moment in MOMENTS]
        elif aware:
            values = [None if moment is None else moment.replace(tzinfo=UTC) for moment in MOMENTS]
        table = pa.table(
            {"user": list(range(len(values))), "item": list(range(len(values))), "t": pa.array(values, types[kind])}
        )
        found = ask(engine.source(table), asked("2026-10", zone=zone))
        in_october = period_index("month", date(2026, 10, 1))
        expected = {
            place
            for place, moment in enumerate(MOMENTS)
            if moment is not None
            and abs(moment.year - 2026) < 2
            and period_index("month", moment.date() if kind == "date" else local(moment, zone, aware, engine.name))
            == in_october
        }
        assert {item for item, count in zip(found.items, found.counts, strict=True) if count} == expected

    @pytest.mark.parametrize("contribution", [None, 1, 2])
    @pytest.mark.parametrize("per", ["day", "week", "month"])
    def test_bounds_are_for_a_user_and_a_period(self, engine: Engine, per: str, contribution: int | None) -> None:
        rows = made_up()
        table = pa.table({name: [row[name] for row in rows] for name in rows[0]})
        periods = asked("2026-09-28", "2026-10-11", per) if per != "month" else asked("2026-09", "2026-10", per)
        assert periods.periods is not None
        kept: set[tuple[Any, Any]] = set()
        for index in periods.periods.indices:
            inside = {(row["user"], row["item"]) for row in rows if row["t"] and period_index(per, row["t"]) == index}
            kept |= oracle.bounded(inside, contribution, KEY)
        found = ask(engine.source(table), replace(periods, contribution=contribution))
        counted = {item: count for item, count in zip(found.items, found.counts, strict=True) if count}
        assert counted == dict(Counter(item for _, item in kept))

    @pytest.mark.parametrize("contribution", [None, 1])
    def test_sums_are_clipped_for_a_user_a_period_and_an_item(self, engine: Engine, contribution: int | None) -> None:
        rows = made_up()
        table = pa.table({name: [row[name] for row in rows] for name in rows[0]})
        expected: Counter[str] = Counter()
        for index in (period_index("month", date(2026, month, 1)) for month in (9, 10)):
            sums: Counter[tuple[int, str]] = Counter()
            for row in rows:
                if row["t"] and period_index("month", row["t"]) == index:
                    sums[row["user"], row["item"]] += row["v"]
            for user, item in oracle.bounded({pair for pair, units in sums.items() if units}, contribution, KEY):
                expected[item] += min(sums[user, item], 4)
        found = ask(
            engine.source(table), asked("2026-09", "2026-10", score="sum(v)", clip=4, contribution=contribution)
        )
        assert {item: count for item, count in zip(found.items, found.counts, strict=True) if count} == dict(expected)

    @pytest.mark.long
    @pytest.mark.parametrize("weights", [(1, 1), (4, 3, 2)])
    def test_an_item_weighs_the_largest_of_a_users_weights(self, engine: Engine, weights: tuple[int, ...]) -> None:
        rows = made_up()
        table = pa.table({name: [row[name] for row in rows] for name in rows[0]})
        heaviest: dict[tuple[Any, Any], int] = {}
        for index in (period_index("week", date(2026, 9, 28) + timedelta(days=7 * week)) for week in range(2)):
            inside = {
                (row["user"], row["item"]) for row in rows if row["t"] and period_index("week", row["t"]) == index
            }
            many = Counter(user for user, _ in inside)
            for user, item in oracle_views.bounded(inside, len(weights), KEY):
                weight = weights[min(many[user], len(weights)) - 1]
                heaviest[user, item] = max(weight, heaviest.get((user, item), 0))
        expected: Counter[str] = Counter()
        for (_, item), weight in heaviest.items():
            expected[item] += weight
        one = asked("2026-W40", "2026-W41", "week", contribution=len(weights))
        with engine.source(table).reading(one, KEY, View("observed", weights)) as reading:
            assert isinstance(reading.histogram, ObservedItems)
            observed, places = reading.histogram, range(reading.histogram.size)
            found = dict(zip(observed.names(places), map(observed.score_of, places), strict=True))
        assert found == dict(expected)

    @pytest.mark.long
    def test_views_of_pairs_are_for_a_user_and_a_period(self, engine: Engine) -> None:
        """The views of the sieve over two weeks, of all pairs and of those in some buckets (P16.2)."""
        rows, buckets = made_up(), 8
        table = pa.table({name: [row[name] for row in rows] for name in rows[0]})
        weeks = [period_index("week", date(2026, 9, 28) + timedelta(days=7 * week)) for week in range(2)]
        inside = [
            {(row["user"], row["item"]) for row in rows if row["t"] and period_index("week", row["t"]) == index}
            for index in weeks
        ]
        one = asked("2026-W40", "2026-W41", "week")
        source = engine.source(table)
        source.check(one, PAIRS)
        kept = np.array([place % 3 > 0 for place in range(buckets)])
        with source.reading(one, KEY, PAIRS) as reading:
            assert isinstance(reading.histogram, PairViews)
            agrees_by_period(reading.histogram, inside, buckets)
            alive = [oracle_views.within(pairs, KEY, kept.tolist()) for pairs in inside]
            assert any(alive)
            agrees_by_period(reading.histogram.pairs_in_buckets(KEY, kept), alive, buckets)

    def test_what_is_no_time_is_refused_before_a_row_is_read(self, engine: Engine) -> None:
        source = engine.source(pa.table({"user": [1], "item": ["a"], "t": [5]}))
        with pytest.raises(QuestionError, match="the column that says when holds dates or timestamps"):
            source.check(asked("2026-10"))
        with pytest.raises(QuestionError, match="there is no column 'when'"):
            source.check(replace(asked("2026-10"), period=Periods(Calendar("month", "when"), 2026 * 12)))


def agrees_by_period(views: PairViews, inside: list[oracle_views.Pairs], buckets: int) -> None:
    """Every view, against plain Python: numbers of users over all periods, caps and weights for each of them."""
    everything = set().union(*inside)
    for rank in (1, 3, 1000):
        assert views.users_with(rank) == oracle_views.users_with(everything, rank)
    slots = views.slots(3)
    found = [(count, oracle.typed(label)) for label, count in zip(slots.items, slots.counts, strict=True) if count]
    assert (found, slots.next_count) == oracle_views.slots(everything, 3)
    most: Counter[Any] = Counter()
    for pairs in inside:
        for user, many in Counter(user for user, _ in pairs).items():
            most[user] = max(most[user], many)
    alike = {(user, item) for user, many in most.items() for item in range(many)}  # as many items as in their fullest
    assert views.users_by_items().tolist() == oracle_views.users_by_items(alike)
    weights = gaussian_weights(1, buckets)
    heaviest: dict[tuple[Any, int], int] = {}
    for pairs in inside:
        placed = {(user, oracle_views.bucket(item, KEY, buckets)) for user, item in pairs}
        different = Counter(user for user, _ in placed)
        for user, place in placed:
            weight = int(weights[different[user] - 1])
            heaviest[user, place] = max(weight, heaviest.get((user, place), 0))
    loads = [sum(weight for (_, at), weight in heaviest.items() if at == place) for place in range(buckets)]
    assert views.bucket_loads(KEY, buckets, weights).tolist() == loads
    table = gaussian_weights(2, 3)
    scores: dict[tuple[Any, Any], int] = {}
    for pairs in inside:
        sizes = Counter(user for user, _ in pairs)
        for user, item in oracle_views.bounded(pairs, len(table), KEY):
            weight = int(table[min(sizes[user], len(table)) - 1])
            scores[user, item] = max(weight, scores.get((user, item), 0))
    expected: Counter[Any] = Counter()
    for (_, item), weight in scores.items():
        expected[item] += weight
    items = views.observed_items(KEY, table)
    places = range(items.size)
    every_count_agrees(items, everything)
    assert dict(zip(items.names(places), map(items.score_of, places), strict=True)) == dict(expected)


def made_up() -> list[dict[str, Any]]:
    """Users with many items in several periods, and some rows without a time."""
    choice = random.Random(16)
    days = [date(2026, 9, 20) + timedelta(days=shift) for shift in range(25)]
    return [
        {
            "user": choice.randrange(9),
            "item": choice.choice("abcdefgh"),
            "t": None if choice.random() < 0.1 else choice.choice(days),
            "v": choice.randrange(4),
        }
        for _ in range(150)
    ]
