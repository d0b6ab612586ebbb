"""What every engine must do alike: the suite each of them inherits.

A class that inherits it provides the fixture `engine`. Every expectation comes from plain Python (`oracle.py`), so
engines that pass agree with each other in every histogram: labels and their types, counts, the order of ties.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, cast

import pyarrow as pa
import pytest

from crestline.errors import QuestionError
from crestline.histogram.histogram import Histogram
from crestline.histogram.label_order import Padding
from crestline.question import Question, QuestionFields
from crestline.sources.engine.runner import Runner
from crestline.sources.source import SlotSource
from crestline.sources.table import TableSource
from tests.sources import oracle, total
from tests.sources.engines import Engine
from tests.sources.filters import WHERE
from tests.sources.gaps import gap

KEY = bytes(range(16))
OTHER_KEY = bytes(range(1, 17))

# Orders differ here: by code unit the emoji comes before U+FB00, by locale é stands next to e and case is ignored.
TEXTS = [
    "a", "A", "b", "B", "z", "Z", "e", "é", "e\u0301", "É", "ﬀ", "😀", "日本", "ß", "ss", "", " ", " a", "a ", "10",
    "9", "a'b", 'a"b', "a\\b", "a%b", "a_b", "a;b", "--", "\t", "\n", "\u200d", "nan", "null", "İ", "ı", "\uffff",
    "\U0010ffff",
]  # fmt: skip

DECIMAL = pa.decimal128(20, 6)
FILTERED = pa.table(
    {
        "user": list(range(len(TEXTS))),
        "item": TEXTS,
        "n": [None if i % 5 == 0 else i % 5 for i in range(len(TEXTS))],
        "x": [0.1 if i % 2 else -3.0 for i in range(len(TEXTS))],
        "price": pa.array([Decimal(i % 3) / 10 for i in range(len(TEXTS))], DECIMAL),
        "day": pa.array([date(2026, 1, 1 + i % 4) for i in range(len(TEXTS))]),
        "at": pa.array([datetime(2026, 1, 1 + i % 4, 6 * (i % 4)) for i in range(len(TEXTS))], pa.timestamp("us")),
        "yes": [i % 3 == 0 for i in range(len(TEXTS))],
    }
)
ITEMS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "text": (pa.string(), TEXTS),
    "integer": (pa.int64(), [0, 1, -1, 9, 10, 2**63 - 1, -(2**63)]),
    "boolean": (pa.bool_(), [True, False]),
    "date": (pa.date32(), [date(2026, 1, 31), date(1969, 12, 31), date(1, 1, 1), date(9999, 12, 31)]),
    "timestamp": (pa.timestamp("us"), [datetime(2026, 1, 31, 12), datetime(1969, 7, 20, 20, 17, 40, 123456)]),
    "decimal": (DECIMAL, [Decimal("1.5"), Decimal("-0.000001"), Decimal("10"), Decimal("9"), Decimal("0")]),
    "floating": (pa.float64(), [0.1, -2.5, 1e300, 1e-300, math.inf, -math.inf, 10.0, 9.0]),
    "bytes": (pa.binary(), [b"a", b"\xff", b"\x80", b""]),
}


def events(kind: pa.DataType, items: list[Any], users: list[Any] | None = None) -> pa.Table:
    users = [f"u{i}" for i in range(len(items))] if users is None else users
    return pa.table({"user": users, "item": pa.array(items, kind)})


def ask(source: SlotSource, question: Question, key: bytes = KEY) -> Histogram:
    source.check(question)
    return source.top_counts(question, key)


def question(k_bar: int = 50, **options: Any) -> Question:
    fields: dict[str, Any] = {"user": "user", "item": ("item",), "k": 1, "k_bar": k_bar}
    return Question.from_fields(cast(QuestionFields, fields | options))


def agrees(
    source: SlotSource, table: pa.Table, asked: Question, keep: Callable[[oracle.Row], Any] = lambda row: True
) -> Histogram:
    histogram = ask(source, asked)
    expected = oracle.top(table.to_pylist(), asked, KEY, keep)
    assert oracle.view(histogram) == oracle.view(expected)
    return histogram


class SourceConformance:
    """Inherit, and provide `engine`."""

    @pytest.mark.parametrize("kind", ITEMS)
    def test_ties_are_in_byte_order_and_labels_are_plain_values(self, engine: Engine, kind: str) -> None:
        table = events(*ITEMS[kind])
        agrees(engine.source(table), table, question())

    def test_a_tie_is_cut_at_the_same_place(self, engine: Engine) -> None:
        table = events(pa.string(), TEXTS + ["top"] * 2, [f"u{i}" for i in range(len(TEXTS) + 2)])
        source = engine.source(table)
        for k_bar in (1, 2, 7, len(TEXTS), len(TEXTS) + 1):
            agrees(source, table, question(k_bar))

    def test_a_user_counts_once_per_item(self, engine: Engine) -> None:
        table = pa.table({"user": [1, 1, 1, 2, 2, 3], "item": ["a", "a", "b", "a", "b", "c"]})
        assert agrees(engine.source(table), table, question(3)).counts == (2, 2, 1)

    def test_nulls_are_dropped_in_the_user_and_in_any_item_column(self, engine: Engine) -> None:
        rows = [(None, "a", 1), (1, None, 1), (1, "a", None), (1, "a", 1), (2, "a", 1), (2, "b", 1), (None, None, None)]
        table = pa.table(dict(zip(("user", "item", "other"), map(list, zip(*rows, strict=True)), strict=True)))
        source = engine.source(table)
        agrees(source, table, question())
        assert agrees(source, table, question(item=("item", "other"))).items[0] == ("a", 1)

    def test_several_columns_make_a_tuple_ranked_part_by_part(self, engine: Engine) -> None:
        table = pa.table(
            {
                "user": list(range(8)),
                "item": ["b", "a", "a", "B", "a", "é", "z", "a"],
                "day": pa.array([date(2026, 1, 1 + i % 2) for i in range(8)]),
                "n": [1, 10, 9, 1, -1, 1, 1, 10],
            }
        )
        histogram = agrees(engine.source(table), table, question(item=("item", "day", "n")))
        assert ("a", date(2026, 1, 2), 10) in histogram.items

    @pytest.mark.parametrize("kind", ["integer", "floating", "date", "text", "bytes", "decimal"])
    def test_users_of_every_type(self, engine: Engine, kind: str) -> None:
        arrow, users = ITEMS[kind]
        table = pa.table({"user": pa.array([*users, *users, None], arrow), "item": ["x"] * (2 * len(users) + 1)})
        assert ask(engine.source(table), question(1)).counts == (len(users),)

    def test_nan_is_dropped_and_zero_has_one_sign(self, engine: Engine) -> None:
        table = events(pa.float64(), [0.0, -0.0, -0.0, math.nan, math.nan, 1.0])
        histogram = ask(engine.source(table), question(3))
        assert oracle.view(histogram)[:2] == ([*map(oracle.typed, (0.0, 1.0)), oracle.typed(Padding(0))], (3, 1, 0))
        swapped = pa.table({"user": table["item"], "item": pa.array(["x"] * 6)})
        assert ask(engine.source(swapped), question(1)).counts == (2,)

    def test_times_with_a_zone_come_back_in_utc(self, engine: Engine) -> None:
        moment = datetime(2026, 1, 31, 12, tzinfo=UTC)
        table = events(pa.timestamp("us", tz="UTC"), [moment, moment])
        assert ask(engine.source(table), question(1)).items == (moment,)

    def test_an_empty_table_is_a_legal_histogram(self, engine: Engine) -> None:
        table = events(pa.string(), []).cast(pa.schema([("user", pa.string()), ("item", pa.string())]))
        assert agrees(engine.source(table), table, question(2)).counts == (0, 0)
        assert agrees(engine.source(table), table, question(2, contribution=1)).counts == (0, 0)

    @pytest.mark.parametrize("kind", ["text", "integer", "boolean", "date", "bytes"])
    @pytest.mark.parametrize("contribution", [1, 3])
    def test_contribution_keeps_the_items_of_smallest_hash(self, engine: Engine, kind: str, contribution: int) -> None:
        arrow, items = ITEMS[kind]
        rows = [(user, item) for user in ("u", "ü 1", "3") for item in items for _ in range(2)]
        table = events(arrow, [item for _, item in rows], [user for user, _ in rows])
        histogram = agrees(engine.source(table), table, question(contribution=contribution))
        assert sum(histogram.counts) == 3 * min(contribution, len(items))

    def test_contribution_over_several_columns(self, engine: Engine) -> None:
        # Joined without their lengths, ("1", "1") and ("11", "") would hash alike.
        table = pa.table(
            {"user": [1] * 4 + [11] * 4, "item": ["1", "11", "", "1"] * 2, "other": ["1", "", "11", "x"] * 2}
        )
        agrees(engine.source(table), table, question(item=("item", "other"), contribution=2))

    def test_another_key_keeps_other_items_and_a_wide_bound_keeps_all(self, engine: Engine) -> None:
        table = events(pa.string(), TEXTS, ["one"] * len(TEXTS))
        source, bound = engine.source(table), question(contribution=5)
        assert ask(source, bound).items != ask(source, bound, OTHER_KEY).items
        assert oracle.same(ask(source, question(contribution=len(TEXTS))), ask(source, question()))

    @pytest.fixture(scope="class")
    @classmethod
    def filtered(cls, engine: Engine) -> SlotSource:
        return engine.source(FILTERED)

    @pytest.mark.parametrize("text", WHERE)
    def test_where(self, filtered: SlotSource, text: str) -> None:
        agrees(filtered, FILTERED, question(where=text), WHERE[text])

    def test_every_filter_in_one_statement(self, request: pytest.FixtureRequest, filtered: SlotSource) -> None:
        """What `test_where` asks one by one: each filter as a column, which is true of the rows it keeps."""
        assert isinstance(filtered, TableSource)
        engine = getattr(request.cls, "tested_engine", "pyspark")
        texts = [text for text in WHERE if gap(engine, f"test_where[{text}]") is None]
        rows = total.verdicts(filtered, texts)
        assert len(rows) == FILTERED.num_rows
        for row in FILTERED.to_pylist():
            kept = [text for text, verdict in zip(texts, rows[row["user"]], strict=True) if verdict]
            assert (row, kept) == (row, [text for text in texts if WHERE[text](row)])

    @pytest.mark.long
    @pytest.mark.parametrize("name", total.COLUMNS)
    def test_comparisons_are_defined_for_every_value(self, engine: Engine, name: str) -> None:
        kind, cells, values = total.COLUMNS[name]
        cells = [*cells, None]
        source = engine.source(total.table(kind, cells))
        assert isinstance(source, TableSource)
        total.agrees_on_every_value(source, kind, cells, values)

    def test_where_goes_before_the_contribution_bound(self, filtered: SlotSource) -> None:
        asked = question(user="yes", where="n > 2", contribution=2)
        agrees(filtered, FILTERED, asked, WHERE["n > 2"])

    @pytest.mark.long
    def test_hostile_column_names(self, engine: Engine) -> None:
        names = [
            "select",
            'quo"te',
            "sp ace",
            "semi;colon",
            "it's",
            "ünïcödé 😀",
            "back`tick",
            "per%cent",
            "user",
            "item_0",
        ]
        table = pa.table({name: ["a", "b", "b"] for name in names} | {"who": [1, 2, 3]})
        source = engine.source(table)
        for name in names:
            quoted = '"' + name.replace('"', '""') + '"'
            asked = question(2, user="who", item=(name,), where=f"{quoted} = 'b'", contribution=1)
            assert agrees(source, table, asked, lambda row: row["who"] > 1).items[0] == "b"
        agrees(source, table, question(2, user="who", item=tuple(names)))
        with pytest.raises(QuestionError, match="no column"):
            source.check(question(item=('who" or 1=1 --',)))

    def test_injection_attempts_are_values_or_refusals(self, engine: Engine) -> None:
        texts = [
            "'; drop table events; --",
            "' or '1'='1",
            "\\' or 1=1 --",
            "${spark.app.name}",
            "${env:PATH}",
            "%s %(x)s",
            "{0}",
            ":x",
            "?",
        ]
        table = events(pa.string(), [*texts, "innocent"])
        source = engine.source(table)
        for text in texts:
            quoted = text.replace("'", "''")
            histogram = agrees(
                source, table, question(where=f"item = '{quoted}'"), lambda row, text=text: row["item"] == text
            )
            assert histogram.items[:2] == (text, Padding(0))
            with pytest.raises(QuestionError):
                ask(source, question(where=f"item = '{text}' or true; drop table events"))
        agrees(source, table, question())

    @pytest.mark.long
    def test_a_label_of_a_megabyte(self, engine: Engine) -> None:
        long = "é" * 500_000
        table = events(pa.string(), [long, long, long + "x", "short"])
        source = engine.source(table)
        assert agrees(source, table, question(2)).items[0] == long
        agrees(source, table, question(3, contribution=1))

    @pytest.mark.long
    def test_a_user_in_every_item_and_an_item_in_every_user(self, engine: Engine) -> None:
        n = 2_000
        users = [*range(n), *([n] * n), *range(n)]
        items = [*(f"own {i}" for i in range(n)), *(f"own {i}" for i in range(n)), *(["all"] * n)]
        table = pa.table({"user": users, "item": items})
        source = engine.source(table)
        assert agrees(source, table, question(3)).counts == (n, 2, 2)
        assert agrees(source, table, question(3, contribution=1)).k_bar == 3

    @pytest.mark.long
    def test_a_hundred_thousand_rows_of_one_user(self, engine: Engine) -> None:
        """A plan that compares all rows with each other would take 10^10 steps."""
        _one_user_has_rows(engine, 100_000)

    @pytest.mark.slow
    @pytest.mark.full
    def test_a_million_rows_of_one_user(self, engine: Engine) -> None:
        _one_user_has_rows(engine, 1_000_000)

    @pytest.mark.long
    def test_no_query_returns_more_than_k_bar_and_one_rows(
        self, engine: Engine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        source, fetched = engine.source(events(pa.string(), TEXTS)), list[int]()

        def spied(original: Any) -> Any:
            def spy(*asked: Any) -> Any:
                answer = original(*asked)
                fetched.append(len(answer))
                return answer

            return spy

        for name in ("rows", "run_prepared"):
            monkeypatch.setattr(Runner, name, spied(getattr(Runner, name)))
        for k_bar in (1, 3, 10):
            for options in ({}, {"contribution": 1}, {"where": "item <> 'a'"}):
                ask(source, question(k_bar, **options))
        assert fetched == [2] * 3 + [4] * 3 + [11] * 3


def _one_user_has_rows(engine: Engine, n: int) -> None:
    table = pa.table({"user": pa.repeat("one", n), "item": pa.array([i % 1000 for i in range(n)])})
    source = engine.source(table)
    assert ask(source, question(5)).counts == (1,) * 5
    assert sum(ask(source, question(1000, contribution=7)).counts) == 7
