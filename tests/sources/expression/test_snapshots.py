"""The SQL that engines get to see, pinned. After a change that is meant, run with CRESTLINE_SNAPSHOTS=write."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import ibis
import pytest

from crestline.question import Question, QuestionFields
from crestline.sources.engine.dialects.untested import COMPILED
from crestline.sources.engine.engine_functions import EMBEDDED
from crestline.sources.expression.counting import Counting
from crestline.sources.expression.public_list import domain_counting

WRITTEN_BY = "12."  # another Ibis may lay out the same statement differently
SNAPSHOTS = Path(__file__).parent / "snapshots"
EVENTS = {
    "user": "string", "item": "string", "n": "int64", "x": "float64", "price": "decimal(12, 2)", "day": "date",
    "at": "timestamp(6)", "yes": "boolean",
}  # fmt: skip
QUESTIONS: dict[str, dict[str, Any]] = {
    "count": {},
    "several_columns": {"item": ("item", "n", "x", "price", "day", "at")},
    "contribution": {"contribution": 5},
    "where": {"where": "item >= 'a''b' and not (n in (1, 2) or x between 0.5 and 1) and day < '2026-01-31' and yes"},
    "score": {"score": "sum(price)", "clip": 100},
}
DOMAIN = ("domain_multiplicities", "domain_names", "domain_found", "domain_places")


@pytest.mark.skipif(not ibis.__version__.startswith(WRITTEN_BY), reason=f"pinned with Ibis {WRITTEN_BY}x")
@pytest.mark.parametrize("engine", ["duckdb", EMBEDDED, "postgres", "pyspark"])
@pytest.mark.parametrize("name", [*QUESTIONS, *DOMAIN])
@pytest.mark.filterwarnings("ignore")  # importing PySpark warns
def test_the_sql_of_every_engine(engine: str, name: str) -> None:
    dialect = "duckdb" if engine == EMBEDDED else engine
    getattr(ibis, dialect)  # registers the engine's options
    usual: dict[str, Any] = {"user": "user", "item": ("item",), "k": 10, "k_bar": 100}
    asked = Question.from_fields(cast(QuestionFields, usual | QUESTIONS.get(name, {})))
    counting = Counting(ibis.table(EVENTS, name="events"), asked, engine)
    sql = str(ibis.to_sql(expression(counting, name), dialect=dialect)) + "\n"
    pinned = SNAPSHOTS / engine / f"{name}.sql"
    if os.environ.get("CRESTLINE_SNAPSHOTS") == "write":
        pinned.parent.mkdir(parents=True, exist_ok=True)
        pinned.write_text(sql)
    assert sql == pinned.read_text()


@pytest.mark.parametrize("engine", COMPILED)
def test_questions_compile_for_engines_that_are_not_here(engine: str) -> None:
    """What their SQL does is not known; Trino has no function LEFT, which Ibis writes for a beginning."""
    compiler = import_module(f"ibis.backends.sql.compilers.{engine}").compiler
    usual: dict[str, Any] = {"user": "user", "item": ("item",), "k": 10, "k_bar": 100}
    for name, fields in QUESTIONS.items():
        counting = Counting(ibis.table(EVENTS, name="events"), Question.from_fields(usual | fields), engine)  # type: ignore[arg-type] # made of parts
        sql = compiler.to_sqlglot(expression(counting, name)).sql(compiler.dialect).upper()
        assert sql
        assert "LEFT(" not in sql or engine != "trino"


def expression(counting: Counting, name: str) -> Any:
    key = bytes(range(16))
    if name in QUESTIONS:
        return counting.top_counts(key)
    over = domain_counting(counting, ibis.table({"item": "string"}, name="catalogue"), lambda other: None)
    every = over.every_count(key)
    return {
        "domain_multiplicities": over.multiplicities(every),
        "domain_names": over.names(every, [(3, 0), (0, 12)]),
        "domain_found": over.counted_items(key),
        "domain_places": over.items_at([3, 7]),
    }[name]
