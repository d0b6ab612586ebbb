"""Pairs that are counted in this process, held against the engine's own statements: the same for every key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pytest

from crestline.histogram.label_order import Label
from crestline.histogram.observed_items import ObservedItems
from crestline.histogram.relation import GroupedRelation, PairViews, Relation
from crestline.histogram.view_kinds import PAIRS
from crestline.mechanisms.observed.weights import gaussian_weights
from crestline.question import Question
from crestline.sources import Source, open_source
from crestline.sources.pairs import fetched
from crestline.sources.pairs.pair_views import EnginePairs
from tests.sources.engines import DataFusion, SQLite

KEYS = [bytes([number]) * 32 for number in range(3)]
BUCKETS = 8


def table() -> pa.Table:
    """Users with up to twelve items, texts whose byte order is not that of any language, nulls in every column."""
    rng = np.random.default_rng(7)
    users = [None if rng.random() < 0.05 else f"user {rng.integers(60)}" for _ in range(900)]
    names = ["a", "B", "é", "Z", "z", "", "aa", "ß", "\u2028", "Ω", "10", "9"]
    items = [None if rng.random() < 0.05 else names[min(11, rng.geometric(0.25) - 1)] for _ in users]
    return pa.table(
        {"user": users, "item": items, "year": rng.integers(2020, 2023, 900), "place": rng.choice(["x", "y'"], 900)}
    )


def source(kind: str, folder: Path = Path()) -> Source:
    if kind == "frame":
        return open_source(table())
    if kind != "database":
        return (SQLite(folder) if kind == "sqlite" else DataFusion()).source(table())
    engine = ibis.duckdb.connect()
    engine.con.register("arrow", table())
    engine.con.execute("create table events as from arrow; drop view arrow")
    return open_source(engine.table("events"))


def ranked(items: ObservedItems) -> list[tuple[int, Label]]:
    """Score and label of every item, in the order of the ranks; the labels are asked for together."""
    return [(items.score_of(rank), label) for rank, label in enumerate(items.names(range(items.size)))]


def seen(pairs: PairViews) -> list[Any]:
    """Everything that may be looked at, also after two rounds of the sieve."""
    found: list[Any] = [pairs.users_with(rank) for rank in (1, 3, 50)] + [pairs.users_by_items().tolist()]
    for key, cap in zip(KEYS, (1, 3, 40), strict=True):
        found.append(pairs.bucket_loads(key, BUCKETS, gaussian_weights(1, BUCKETS)).tolist())
        left = pairs.pairs_in_buckets(key, np.arange(BUCKETS) % 3 > 0).pairs_in_buckets(
            KEYS[0], np.arange(BUCKETS) != 5
        )
        for views in (pairs, left):
            found.append(ranked(views.observed_items(key, gaussian_weights(1, cap))))
            slots = views.slots(4)
            found.append((slots.items[: slots.filled], slots.counts, slots.next_count))
    return found


@pytest.mark.long
@pytest.mark.parametrize("kind", ["frame", "database", "sqlite", "datafusion"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"where": "place = 'y''' and year >= 2021"},
        {"item": ("item", "year")},
        {"user": "year", "item": ("user",)},
        {"where": "place = 'nowhere'"},
    ],
    ids=str,
)
def test_every_view_is_the_same_in_this_process_and_in_the_engine(
    kind: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = Question(k=1, k_bar=1, **options)
    with source(kind, tmp_path).reading(asked, KEYS[0], PAIRS) as reading:
        assert isinstance(reading.histogram, Relation)
        here = seen(reading.histogram)
    monkeypatch.setenv("CRESTLINE_MEMORY", "1")
    with source(kind, tmp_path).reading(asked, KEYS[0], PAIRS) as reading:
        nothing = here[0] == 0  # no row takes no memory
        assert isinstance(reading.histogram, Relation if nothing else EnginePairs)
        assert seen(reading.histogram) == here


def no_text() -> pa.Table:
    """Items and users that are no UTF-8, which a frame may hold: bytes declared as text, as Arrow lets them be."""
    names = [b"a", b"\xff", b"\xe9t\xe9", b"FF", b"\xc3", b"\xc3\xa9", b"e"]
    rng = np.random.default_rng(11)
    users = [b"user \xfe" + bytes([48 + number]) for number in rng.integers(0, 9, 200).tolist()]
    columns = {"user": users, "item": [names[number] for number in rng.integers(0, 7, 200).tolist()]}
    texts = {name: pa.array(values, pa.binary()).cast(pa.string(), safe=False) for name, values in columns.items()}
    return pa.table({**texts, "year": [2020 + number % 2 for number in range(200)]})


@pytest.mark.long
@pytest.mark.parametrize("item", [("item",), ("item", "year")], ids=str)
def test_text_that_is_no_utf_8_has_one_hash_however_many_pairs_there_are(
    item: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """How many pairs there are decides who hashes, and one user decides how many pairs there are: a label that had two
    hashes would move to another bucket with that user."""
    asked = Question(k=1, k_bar=1, item=item)
    with open_source(no_text()).reading(asked, KEYS[0], PAIRS) as reading:
        few = seen(reading.histogram)  # type: ignore[arg-type] # pairs were asked for
    monkeypatch.setenv("CRESTLINE_MEMORY", "1")
    with open_source(no_text()).reading(asked, KEYS[0], PAIRS) as reading:
        assert seen(reading.histogram) == few  # type: ignore[arg-type] # pairs were asked for


@pytest.mark.long
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"floor": 20},
        {"groups": ["y'", "nobody"]},
        {"groups_per_user": 2},
        {"by": ("place", "year"), "groups_per_user": 2},
        {"by": ("year",), "item": ("item", "place")},
    ],
    ids=str,
)
def test_groups_are_the_same_in_this_process_and_bounded_in_the_engine(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def looked() -> list[Any]:
        asked, found = Question(k=1, k_bar=1, **{"by": ("place",), **options}), list[Any]()
        with source("frame").reading(asked, KEYS[1], PAIRS) as reading:
            (groups,) = list(reading.group_tables)
            assert isinstance(groups, GroupedRelation)
            for group, views in zip(groups.groups, groups.histograms(), strict=True):
                assert reading.labels_in is not None
                scores = ranked(views.observed_items(KEYS[0], gaussian_weights(1, 3)))
                labels = reading.labels_in([(group, item) for _, item in scores])
                loads = views.bucket_loads(KEYS[2], BUCKETS, gaussian_weights(1, BUCKETS)).tolist()
                found.append((group, [score for score, _ in scores], labels, loads, views.users_by_items().tolist()))
        return found

    here = looked()
    monkeypatch.setenv("CRESTLINE_MEMORY", "1")
    assert looked() == here


def in_two_orders(options: dict[str, Any]) -> list[list[Any]]:
    rows = table().take(np.random.default_rng(5).permutation(900))
    found = []
    for one in (table(), rows):
        with open_source(one).reading(Question(k=1, k_bar=1, **options), KEYS[0], PAIRS) as reading:
            found.append(seen(reading.histogram))  # type: ignore[arg-type] # pairs were asked for
    return found


def test_a_hash_of_numbers_in_place_of_labels_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers are given as rows arrive, so that one user who comes first moves all others' items."""
    first, other = in_two_orders({})
    assert first == other
    monkeypatch.setattr(fetched, "_label_order", lambda key, values: np.arange(len(values)))
    monkeypatch.setattr(fetched.Labels, "hash_below", lambda self, numbers, key, below: numbers * 7919 % below)
    first, other = in_two_orders({})
    assert first != other


def test_labels_that_share_a_hash_are_not_one(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, _ = in_two_orders({})
    monkeypatch.setattr(fetched, "_first_bits", lambda texts, bits: np.zeros(len(texts), dtype=np.int64))
    found, again = in_two_orders({})
    assert found == again
    assert found[:4] == whole[:4]  # ranks and cells
    assert sum(found[4]) == gaussian_weights(1, 1)[0] * sum(found[3])  # all in one bucket, with full weights
    assert sum(score for score, _ in found[5]) == sum(score for score, _ in whole[5])


def test_questions_at_the_same_time_have_tables_of_their_own() -> None:
    both = source("database")
    one, other = (Question(k=1, k_bar=1, where=f"year = {year}") for year in (2020, 2021))
    with both.reading(one, KEYS[0], PAIRS) as first, both.reading(other, KEYS[0], PAIRS) as second:
        together = [seen(views.histogram) for views in (first, second)]  # type: ignore[arg-type] # pairs were asked for
    for asked, expected in zip((one, other), together, strict=True):
        with both.reading(asked, KEYS[0], PAIRS) as alone:
            assert seen(alone.histogram) == expected  # type: ignore[arg-type] # pairs were asked for
