"""What every engine must do alike for questions with groups (P15).

A class that inherits it provides the fixture `engine`. Every expectation comes from plain Python (`oracle_groups.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from crestline.errors import QuestionError
from crestline.histogram.histogram import Histogram
from crestline.histogram.histogram_table import HistogramTable
from crestline.histogram.label_order import Label
from crestline.histogram.observed_table import ObservedTable
from crestline.histogram.view_kinds import View
from crestline.periods.calendar import Calendar, Periods
from crestline.question import Question
from crestline.sources import Source
from crestline.sources.groups import group_histograms as group_tables
from crestline.sources.groups import observed_scores as observed_groups
from tests.sources import oracle, oracle_groups
from tests.sources.conformance import ITEMS, TEXTS, question
from tests.sources.engines import Engine

KEY = bytes(range(32))
OTHER_KEY = bytes(range(1, 33))

MANY = pa.table(
    {
        "user": [None if i % 37 == 0 else i * 7 % 41 for i in range(600)],
        "item": [None if i % 53 == 0 else TEXTS[i * i % 11] for i in range(600)],
        "group": [None if i % 29 == 0 else TEXTS[i * 5 % 7] for i in range(600)],
        "year": [2020 + i % 3 for i in range(600)],
        "n": [i % 5 for i in range(600)],
    }
)


def tables(source: Source, asked: Question, key: bytes = KEY) -> dict[Label, Histogram]:
    source.check(asked)
    found: dict[Label, Histogram] = {}
    with source.reading(asked, key) as reading:
        parts: Iterable[HistogramTable] = reading.histogram  # type: ignore[assignment] # what a question with groups reads
        for table in parts:
            assert not found.keys() & set(table.groups)
            found |= zip(table.groups, table.histograms(), strict=True)
    return found


def agrees(
    source: Source,
    asked: Question,
    keep: Callable[[oracle.Row], Any] = lambda row: True,
    table: pa.Table = MANY,
) -> dict[Label, Histogram]:
    listed: Any = asked.groups
    expected = oracle_groups.families(table.to_pylist(), asked, KEY, keep, listed)
    found = tables(source, asked)
    assert {repr(oracle.typed(group)): oracle.view(part) for group, part in found.items()} == {
        repr(oracle.typed(group)): oracle.view(part) for group, part in expected.items()
    }
    return found


def observed(
    source: Source, asked: Question, weights: tuple[int, ...], key: bytes = KEY
) -> dict[Label, dict[Label, int]]:
    """The score of every item of every group, named by asking for all there are."""
    view, found = View("observed", weights), dict[Label, dict[Label, int]]()
    source.check(asked, view)
    with source.reading(asked, key, view) as reading:
        parts: Iterable[ObservedTable] = reading.histogram  # type: ignore[assignment] # what this view reads
        for table in parts:
            assert table.unit == weights[0]
            assert not found.keys() & set(table.groups)
            sizes = np.repeat(np.arange(len(table)), np.diff(table.starts))
            classes = zip(sizes.tolist(), table.scores.tolist(), table.sizes.tolist(), strict=True)
            picks = [(row, score, at) for row, score, many in classes for at in range(many)]
            found |= {label: {} for label in table.groups}
            for (row, score, _), name in zip(picks, table.names(picks), strict=True):
                found[table.groups[row]][name] = score
            ranks = [(row, -score) for row, score, _ in picks]
            assert ranks == sorted(ranks)
    return found


def listed(source: Source, asked: Question, key: bytes = KEY) -> dict[Label, dict[Label, int]]:
    """The count of every listed item in every listed group, named by asking for all there are."""
    source.check(asked)
    with source.reading(asked, key) as reading:
        tables: Any = reading.histogram
        (table,) = list(tables)  # of public lists
        picks = [
            (group, (count, at))
            for group, part in zip(table.groups, table.histograms(), strict=True)
            for count, many in zip(*part.distinct_counts, strict=True)
            for at in range(many)
        ]
        assert reading.labels_in is not None
        names = reading.labels_in(picks)
        assert reading.labels_in([]) == []
        found: dict[Label, dict[Label, int]] = {group: {} for group in table.groups}
        for (group, (count, _)), name in zip(picks, names, strict=True):
            assert name not in found[group]
            found[group][name] = int(count)
    return found


def grouped(k_bar: int = 5, **options: Any) -> Question:
    return question(k_bar, **({"by": "group"} | options))


class GroupConformance:
    """Inherit, and provide `engine`."""

    @pytest.mark.long
    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"groups_per_user": 3},
            {"groups_per_user": 100},
            {"contribution": 1},
            {"contribution": 2, "groups_per_user": 2},
            {"by": ("group", "year"), "groups_per_user": 2, "contribution": 1},
            {"by": "year", "item": ("item", "group"), "groups_per_user": 2},
            {"floor": 3, "groups_per_user": 4},
            {"groups": [TEXTS[0], TEXTS[3], "nobody"], "groups_per_user": 2},
            {"groups": [], "groups_per_user": 2},
            {"groups": [(TEXTS[0], 2020), ("nobody", 2021)], "by": ("group", "year")},
        ],
        ids=str,
    )
    def test_every_group_has_its_own_ranking(self, engine: Engine, options: dict[str, Any]) -> None:
        source = engine.source(MANY)
        for k_bar in (1, 4, 50):
            agrees(source, grouped(k_bar, **options))

    def test_groups_are_chosen_after_the_filter(self, engine: Engine) -> None:
        agrees(engine.source(MANY), grouped(groups_per_user=2, where="n >= 3"), lambda row: row["n"] >= 3)

    @pytest.mark.parametrize("kind", ITEMS)
    def test_groups_of_every_type(self, engine: Engine, kind: str) -> None:
        arrow, values = ITEMS[kind]
        rows = {
            "user": list(range(2 * len(values) + 1)),
            "item": ["a"] * len(values) + ["b"] * (len(values) + 1),
            "group": pa.array([*values, *values, None], arrow),
        }
        agrees(engine.source(pa.table(rows)), grouped(), table=pa.table(rows))

    def test_another_key_keeps_other_groups_and_every_user_keeps_one(self, engine: Engine) -> None:
        table = pa.table(
            {"user": [u for u in range(40) for _ in range(5)], "item": ["x"] * 200, "group": [*range(5)] * 40}
        )
        source = engine.source(table)
        first, second = (tables(source, grouped(1), key) for key in (KEY, OTHER_KEY))
        assert sum(part.counts[0] for part in first.values()) == 40
        assert sum(part.counts[0] for part in second.values()) == 40
        assert {group: part.counts for group, part in first.items()} != {
            group: part.counts for group, part in second.items()
        }

    @pytest.mark.long
    def test_over_several_periods_groups_are_chosen_in_each_and_a_user_counts_once(self, engine: Engine) -> None:
        months = [date(2026, 9, 5), date(2026, 10, 5)]
        rows: list[dict[str, Any]] = [
            {"user": user, "item": item, "group": group, "t": day}
            for user in range(30)
            for day in months
            for group in range(4)
            for item in ("x", "y")
        ]
        table = pa.table({name: [row[name] for row in rows] for name in rows[0]})
        span = Periods.from_labels(Calendar("month", "t", "UTC"), "2026-09", "2026-10")
        found = tables(engine.source(table), replace(grouped(), period=span))
        expected = oracle_groups.families([row for row in rows if row["t"] == months[0]], grouped(), KEY)
        # The rule is the same in both months, and so are the rows: each user counts once, in one group.
        assert {group: part.counts for group, part in found.items()} == {
            group: part.counts for group, part in expected.items()
        }
        moved = [row for row in rows if row["group"] == (row["user"] + months.index(row["t"])) % 4]
        table = pa.table({name: [row[name] for row in moved] for name in rows[0]})
        found = tables(engine.source(table), replace(grouped(), period=span))
        assert sum(part.counts[0] for part in found.values()) == 60  # each month one group of each user

    def test_many_groups_come_in_several_tables(self, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(group_tables, "_ROWS", 12)
        assert len(agrees(engine.source(MANY), grouped(3, groups_per_user=9))) == 7

    @pytest.mark.parametrize(
        ("options", "weights"),
        [
            ({"contribution": 2}, (1, 1)),
            ({"contribution": 1, "groups_per_user": 3}, (1,)),
            ({"contribution": 2, "groups_per_user": 4, "floor": 3}, (1, 1)),
            ({"contribution": 1, "by": ("group", "year"), "groups_per_user": 2}, (1,)),
            ({"contribution": 1, "groups": [TEXTS[0], "nobody"], "groups_per_user": 2}, (1,)),
            ({"contribution": 1, "groups": []}, (1,)),
            ({"contribution": 1, "groups_per_user": 3}, (12, 8, 6)),
            ({"contribution": 1, "groups_per_user": 4, "floor": 3}, (12, 8, 6)),
            ({"contribution": 1, "groups_per_user": 4, "floor": 2, "groups": [TEXTS[0], "nobody"]}, (12, 8, 6)),
        ],
        ids=str,
    )
    def test_every_group_has_the_scores_of_its_own_items(
        self, engine: Engine, options: dict[str, Any], weights: tuple[int, ...]
    ) -> None:
        asked = grouped(**options)
        found = observed(engine.source(MANY), asked, weights)
        assert found == oracle_groups.scores(MANY.to_pylist(), asked, KEY, weights, options.get("groups"))
        assert options.get("groups") == [] or any(found.values())

    def test_items_of_one_score_are_in_label_order(self, engine: Engine) -> None:
        table = pa.table({"user": [*range(6)], "item": ["b", "é", "a", "B", "z", "y"], "group": ["g"] * 5 + ["h"]})
        asked, view = grouped(contribution=1), View("observed", (1,))
        with engine.source(table).reading(asked, KEY, view) as reading:
            tables: Any = reading.histogram
            (part,) = list(tables)
            assert part.groups == ["g", "h"]
            assert part.names([(0, 1, at) for at in range(5)]) == ["B", "a", "b", "z", "é"]
            assert part.names([(1, 1, 0), (0, 1, 4), (1, 1, 0)]) == ["y", "é", "y"]
            assert part.names([]) == []

    @pytest.mark.long
    def test_many_groups_of_scores_come_in_several_tables(
        self, engine: Engine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(observed_groups, "_GROUPS", 3)
        monkeypatch.setattr(observed_groups, "_ROWS", 5)
        asked = grouped(contribution=2, groups_per_user=9)
        found = observed(engine.source(MANY), asked, (1, 1))
        assert found == oracle_groups.scores(MANY.to_pylist(), asked, KEY, (1, 1))
        assert len(found) == 7

    @pytest.mark.parametrize(
        "options",
        [
            {"groups_per_user": 2},
            {"groups_per_user": 3, "contribution": 1},
            {"by": ("group", "year"), "groups": [(TEXTS[0], 2020), ("nobody", 2021)]},
            {"groups": []},
            {"domain": []},
        ],
        ids=str,
    )
    def test_public_lists_have_every_item_in_every_group(self, engine: Engine, options: dict[str, Any]) -> None:
        asked = grouped(
            **{"groups": [TEXTS[0], TEXTS[3], "nobody"], "domain": [*TEXTS[:6], "nothing", "more"], **options}
        )
        items: Any = asked.domain
        listed_groups: Any = asked.groups
        rows = [row for row in MANY.to_pylist() if row["item"] in items]
        bare = replace(asked, domain=None, k_bar=50)
        family = oracle_groups.families(rows, bare, KEY, listed=listed_groups)
        expected = {
            group: dict.fromkeys(items, 0) | dict(zip(part.items[: part.filled], part.counts, strict=False))
            for group, part in family.items()
        }
        assert listed(engine.source(MANY), asked) == expected

    @pytest.mark.long
    def test_an_empty_table_has_no_scores(self, engine: Engine) -> None:
        nothing = engine.source(MANY.slice(0, 0))
        assert observed(nothing, grouped(contribution=1), (1,)) == {}
        assert observed(nothing, grouped(contribution=1, groups=["a"]), (1,)) == {"a": {}}

    def test_sums_are_ranked_within_groups(self, engine: Engine) -> None:
        table = pa.table(
            {
                "user": [1, 1, 2, 3, 3],
                "item": ["a", "b", "a", "a", "b"],
                "group": ["g", "g", "g", "h", "h"],
                "v": [5, 1, 9, 2, 0],
            }
        )
        found = tables(engine.source(table), grouped(2, score="sum(v)", clip=6))
        assert {group: (part.items[0], part.counts) for group, part in found.items()} == {
            "g": ("a", (11, 1)),
            "h": ("a", (2, 0)),
        }

    @pytest.mark.long
    def test_an_empty_table_has_no_group(self, engine: Engine) -> None:
        nothing = MANY.slice(0, 0)
        assert tables(engine.source(nothing), grouped()) == {}
        assert [part.filled for part in tables(engine.source(nothing), grouped(groups=["a", "b"])).values()] == [0, 0]

    def test_a_wrong_column_or_list_is_refused(self, engine: Engine) -> None:
        source = engine.source(MANY)
        with pytest.raises(QuestionError, match="no column 'grup'"):
            source.check(grouped(by="grup"))
        with pytest.raises(QuestionError, match="must be of the types of group"):
            source.check(grouped(groups=[1, "a"]))
