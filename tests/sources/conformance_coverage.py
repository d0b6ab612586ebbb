"""What every engine must do alike for coverage: users who have one of some items, and users who have none (P3.7)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from typing import Any

import pyarrow as pa
import pytest

from crestline.errors import QuestionError
from crestline.histogram.view_kinds import PAIRS, SLOTS, View
from crestline.periods.calendar import period_index
from crestline.question import Question
from crestline.sources import Source
from tests.sources import oracle
from tests.sources.conformance import FILTERED, ITEMS, KEY, TEXTS, question
from tests.sources.conformance_periods import asked, made_up
from tests.sources.conformance_views import crowd
from tests.sources.engines import Engine
from tests.sources.filters import WHERE


def reached(source: Source, asked: Question, labels: Sequence[Any], view: View = SLOTS) -> tuple[int, int]:
    source.check(asked, view)
    with source.reading(asked, KEY, view) as reading:
        assert reading.coverage is not None
        return reading.coverage(labels)


def expected(
    table: pa.Table, asked: Question, labels: Sequence[Any], keep: Callable[[oracle.Row], Any] = lambda row: True
) -> tuple[int, int]:
    """The same in plain Python."""
    pairs = oracle.pairs(table.to_pylist(), asked, keep)
    everybody, some = {user for user, _ in pairs}, {user for user, item in pairs if item in labels}
    return len(some), len(everybody - some)


class CoverageConformance:
    """Inherit, and provide `engine`."""

    @pytest.mark.long
    @pytest.mark.parametrize("kind", ITEMS)
    def test_users_of_items_of_every_type(self, engine: Engine, kind: str) -> None:
        arrow, items = ITEMS[kind]
        table, one = crowd(items, arrow), question(coverage=True)
        source = engine.source(table)
        if (engine.name, kind) == ("postgres", "decimal"):  # its numerics may have any number of digits
            with pytest.raises(QuestionError, match="decimals of any length"):
                source.check(one)
            return
        source.check(one)
        with source.reading(one, KEY) as reading:
            assert reading.coverage is not None
            for labels in ([], items[:1], items[1:3], items):
                assert reading.coverage(labels) == expected(table, one, labels)
            named = [label for label in reading.histogram.items if label in items]  # type: ignore[union-attr]
            assert len(named) == len(items)  # what is named is found again
            assert reading.coverage(named) == expected(table, one, items)

    @pytest.mark.parametrize("view", [PAIRS, View("observed", (3, 2)), SLOTS], ids=lambda view: view.kind)
    def test_whatever_the_mechanism_looks_at(self, engine: Engine, view: View) -> None:
        table = crowd(TEXTS, pa.string())
        one = question(coverage=True, contribution=2 if view.kind == "observed" else None)
        assert reached(engine.source(table), one, TEXTS[:2], view) == expected(table, one, TEXTS[:2])

    def test_over_a_public_list_users_of_other_items_are_users_too(self, engine: Engine) -> None:
        table, one = crowd(TEXTS, pa.string()), question(coverage=True, domain=TEXTS[:3])
        assert reached(engine.source(table), one, TEXTS[:1]) == expected(table, one, TEXTS[:1])

    def test_several_columns_and_a_filter(self, engine: Engine) -> None:
        source, one = engine.source(FILTERED), question(user="yes", item=("item", "n"), where="n > 2", coverage=True)
        pairs = oracle.pairs(FILTERED.to_pylist(), one, WHERE["n > 2"])
        labels = sorted({item for _, item in pairs}, key=repr)[:1]
        assert reached(source, one, labels) == expected(FILTERED, one, labels, WHERE["n > 2"])

    @pytest.mark.long
    @pytest.mark.parametrize("contribution", [None, 1])
    def test_over_several_periods_a_user_counts_once(self, engine: Engine, contribution: int | None) -> None:
        rows = made_up()
        table = pa.table({name: [row[name] for row in rows] for name in rows[0]})
        one = asked("2026-09", "2026-10", coverage=True, contribution=contribution)
        months = {period_index("month", date(2026, month, 1)) for month in (9, 10)}

        def there(row: oracle.Row) -> bool:
            return row["t"] is not None and period_index("month", row["t"]) in months

        source = engine.source(table)
        for labels in ([], ["a"], ["a", "b", "c"]):
            assert reached(source, one, labels) == expected(table, one, labels, there)

    def test_no_user_at_all(self, engine: Engine) -> None:
        table = crowd(TEXTS, pa.string()).slice(0, 0)
        assert reached(engine.source(table), question(coverage=True), ["a"]) == (0, 0)
