"""What an engine needs beyond the common expression: its own functions from text to UTF-8 bytes and back, and more.

Engines compare text by a collation, which a server, a database or a column may set. Bytes have only one order and one
equality, so text is turned into bytes before it is grouped or ranked (P0.5). What an engine does in its own way stands
in its record (`dialects/`); the functions below look it up by the engine's name. On an engine without a record text
cannot be a key. Files are read by a DuckDB of our own, where nobody set a collation, and which checks that text is
UTF-8: it has the order of its bytes as it is. (Tables in memory are not checked, and DuckDB ranks text that is none in
an order of its own.)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from crestline.errors import QuestionError
from crestline.sources.engine.connection import Engine
from crestline.sources.engine.dialects.clickhouse import CLICKHOUSE
from crestline.sources.engine.dialects.datafusion import DATAFUSION
from crestline.sources.engine.dialects.dialect import Codec, Dialect
from crestline.sources.engine.dialects.duckdb import DUCKDB, EMBEDDED, OWN
from crestline.sources.engine.dialects.functions import Expression, Function
from crestline.sources.engine.dialects.mariadb import MARIADB, is_mariadb
from crestline.sources.engine.dialects.postgres import POSTGRES
from crestline.sources.engine.dialects.spark import SPARK
from crestline.sources.engine.dialects.sqlite import SQLITE
from crestline.sources.engine.dialects.untested import COMPILED

if TYPE_CHECKING:
    from ibis.backends.duckdb import Backend as DuckDB
    from ibis.expr.datatypes import DataType

__all__ = ["EMBEDDED", "Expression", "Function", "codec_or_refuse", "dialect"]

RECORDS = {record.name: record for record in (DUCKDB, OWN, POSTGRES, SPARK, SQLITE, MARIADB, CLICKHOUSE, DATAFUSION)}
_ADVICE = (
    "Use whole numbers as ids, or copy the table to what is tested: a Parquet file, DuckDB, PostgreSQL, MariaDB, "
    "SQLite or Spark"
)


@cache
def dialect(engine: str) -> Dialect:
    """The record of an engine; of one that is not listed nothing is known."""
    return RECORDS.get(engine) or COMPILED.get(engine) or Dialect(engine)


def name_of(engine: Engine) -> str:
    """The name of an engine's record: as Ibis calls it, but for MariaDB, which Ibis calls MySQL."""
    return MARIADB.name if is_mariadb(engine) else str(engine.name)


def embedded_duckdb() -> DuckDB:
    """A DuckDB of our own, in memory, for files and tables. It gives memory back while it counts, and not at the end:
    at 10^7 rows its peak is a tenth lower, at no cost in time."""
    import ibis

    flush = dict.fromkeys(("allocator_flush_threshold", "allocator_bulk_deallocation_flush_threshold"), "64MB")
    return ibis.duckdb.connect(**flush)


def has_codec(engine: str) -> bool:
    """Whether it is known here how the engine compares text by its bytes."""
    return dialect(engine).codec is not None


def codec_or_refuse(engine: str) -> Codec:
    """The functions of an engine. On one that is not listed nobody knows what it takes for equal: refused."""
    found = dialect(engine).codec
    if found is None:
        raise QuestionError(
            f"{_never_run_note(engine)}on {engine} a collation decides which texts are equal and how they are "
            f"ordered, so "
            "that one user's spelling could become the name of an item: text, UUIDs and bytes cannot be users or items "
            f"there, and text cannot be compared by order or with `like`. {_ADVICE}"
        )
    return found


def _never_run_note(engine: str) -> str:
    """What is easily mistaken for an engine that was run."""
    return "this server is MySQL, which was never run here, and not MariaDB, which was: " if engine == "mysql" else ""


def readable_table(table: Expression, engine: str) -> Expression:
    """A table whose columns hold nothing but values of their types."""
    return dialect(engine).readable_table(table)


def remainder(value: Expression, size: int, engine: str) -> Expression:
    """What is left of a whole number after division by another, with the sign of the first."""
    return dialect(engine).remainder(value, size)


def md5(text: Expression, digits: int, engine: str) -> Expression:
    """The first digits of the MD5 of a text, in lower-case hexadecimal. An engine without a record may not have the
    function, which it would say only after the charge: refused."""
    if not has_codec(engine):
        raise QuestionError(
            f"{_never_run_note(engine)}nobody has tried on {engine} how some of a user's items or groups are "
            f"chosen: no "
            f"`contribution` and no `by`. {_ADVICE}"
        )
    return dialect(engine).md5(text, digits)


def number_of(digits: Expression, engine: str) -> Expression:
    """Eight hexadecimal digits as a whole number below 2^32, each engine by a way that cannot fail on them."""
    function = dialect(engine).number_of
    assert function is not None, "an engine that hashes has one"
    return function(digits)


def join_texts(texts: Sequence[Expression], engine: str) -> Expression:
    """Texts one after the other, in one call."""
    return dialect(engine).join_texts(texts)


def try_else_null(value: Expression, engine: str) -> Expression:
    """The value, and null on a row where computing it fails, on engines that have a word for it.

    What is inside is built so that it cannot fail; this is the second line of defence, for what an engine does
    against its own documentation.
    """
    return dialect(engine).try_else_null(value)


def in_utc(value: Expression, engine: str) -> Expression:
    """A moment as what a clock in UTC showed, whatever the time zone of the session; null where that is not defined."""
    return dialect(engine).in_utc(value)


def floor_to_multiple(value: Expression, size: int, engine: str) -> Expression:
    """The largest multiple of a whole number that is not above a number, as a double; the number must be small enough
    that it has one."""
    return dialect(engine).floor_to_multiple(value, size).cast("float64")


def total_cast(value: Expression, kind: DataType, engine: str) -> Expression:
    """The value in another type, and null where that type cannot hold it.

    The cast is written even where Ibis calls both types the same. PostgreSQL has no such cast; what is cast there
    must fit.
    """
    return dialect(engine).total_cast(value, kind)
