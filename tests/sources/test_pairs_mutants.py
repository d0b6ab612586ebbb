"""The pair suite finds each fault of version 0.1 when what was done against it is taken out again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import ibis
import pytest

from crestline.audit.program.broken_rows import CSV_LINES, GLOBS
from crestline.audit.program.failing_filters import COLUMNS
from crestline.audit.program.neighbouring_files import typed_table
from crestline.errors import SourceError
from crestline.sources import open_source, table
from crestline.sources.arrow import tables
from crestline.sources.expression import column_keys, comparisons, filter_conditions, score
from crestline.sources.expression.public_list_snapshot import _read_in_engine
from crestline.sources.files import parquet
from crestline.sources.files.csv_lines import DelimitedRules
from tests.sources.between import AFTER, BEFORE, DOMAIN, answered
from tests.sources.expression.test_public_list_snapshot import made
from tests.sources.pairs import Pair, found_by_filters, found_by_keys, found_by_scores
from tests.sources.test_pairs_files import told_by_a_file, told_by_a_line

pytestmark = pytest.mark.statistics


def memory(*names: str) -> Pair:
    """A pair of tables in memory with these columns."""
    held = tuple(column for column in COLUMNS if column.name in names)
    first, second = (open_source(typed_table(side, held)) for side in (True, False))
    return Pair(first, second, held, every=5)


def uncast(value: Any, engine: str) -> Any:
    return value


def test_a_literal_that_the_engine_must_convert(monkeypatch: pytest.MonkeyPatch) -> None:
    def membership(column: Any, values: list[Decimal], engine: str) -> Any:
        return column.isin(
            [int(v) if v == v.to_integral_value() else ibis.literal(v, "decimal(38, 20)") for v in values]
        )

    pair = memory("int64", "decimal_38_0")
    assert [told for column in pair.columns for told in found_by_filters(pair, column)] == []
    monkeypatch.setattr(filter_conditions, "membership", membership)
    pair = memory("int64", "decimal_38_0")
    assert all(found_by_filters(pair, column) for column in pair.columns)


def test_moments_in_seconds_and_milliseconds(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = memory("at_s", "at_ms")
    assert [told for column in pair.columns for told in found_by_keys(pair, column)] == []
    for module in (column_keys, comparisons, score):
        monkeypatch.setattr(module, "representable", uncast)
    monkeypatch.setattr(column_keys, "total_cast", lambda value, kind, engine: value.cast(kind))
    pair = memory("at_s", "at_ms")
    for column in pair.columns:
        assert found_by_keys(pair, column)
        assert found_by_filters(pair, column)


def test_moments_with_a_zone_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_make_readable", lambda table: table)
    pair = memory("at_s_zone", "at_ms_zone")
    assert all(found_by_keys(pair, column) for column in pair.columns)


def test_a_score_that_is_converted_before_it_is_clipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score, "_clip_integers", lambda value, clip: value.cast("int64"))
    monkeypatch.setattr(score, "try_else_null", uncast)
    pair = memory("uint64")
    assert found_by_scores(Pair(pair.with_user, pair.without, pair.columns), pair.columns[0])


@pytest.mark.parametrize(
    "why", ["a quote that is opened and never closed", "text after a closing quote", "a carriage return within a field"]
)
def test_lines_that_are_read_as_one_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str) -> None:
    broken = next(line for line in CSV_LINES if line.why == why)
    monkeypatch.setattr(DelimitedRules, "regular_line_ending", lambda rules, block: "\n")
    monkeypatch.setattr(DelimitedRules, "rewrite_lines", lambda rules, block: block)
    assert told_by_a_line(tmp_path, "csv", broken)


@pytest.mark.parametrize("added", GLOBS[:2], ids=[one[0] for one in GLOBS[:2]])
def test_a_glob_that_is_read_in_the_types_of_its_first_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, added: Any
) -> None:
    monkeypatch.setattr(parquet, "_group_by_schema", lambda engine, files: [list(files)])
    assert told_by_a_file(tmp_path, added)


def test_names_that_are_read_in_a_second_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def two_statements(runner: Any, over: Any, key: bytes) -> Iterator[Any]:
        yield _read_in_engine(runner, over, over.every_count(key))

    monkeypatch.setattr(table, "open_public_list", two_statements)
    engine = ibis.duckdb.connect()
    made(engine, events=BEFORE)
    second = engine.con.cursor()

    def write() -> None:
        second.register("after", AFTER)
        second.execute("delete from events; insert into events from after")

    with pytest.raises(SourceError, match="changed"):  # one who arrives in between decides between answer and error
        answered(open_source(engine.table("events")), write, DOMAIN)
