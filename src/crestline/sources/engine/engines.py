"""What an engine needs beyond the common expression: its own functions from text to UTF-8 bytes, and back.

Engines compare text by a collation, which a server, a database or a column may set. Bytes have only one order and one
equality, so text is turned into bytes before it is grouped or ranked (P0.5). The functions below are the engines' own,
called through Ibis; no SQL is written by hand. On an engine that is not listed text cannot be a key. Files are
read by a DuckDB of our own, where nobody set a collation, and which checks that text is UTF-8: it has the order of its
bytes as it is. (Tables in memory are not checked, and DuckDB ranks text that is none in an order of its own.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any, TypeAlias

from crestline.errors import QuestionError
from crestline.question import Question

if TYPE_CHECKING:
    from ibis.backends.duckdb import Backend as DuckDB
    from ibis.expr.datatypes import DataType

Expression: TypeAlias = Any  # an Ibis expression; Ibis carries no types that a checker could follow
Function: TypeAlias = Callable[[Expression], Expression]


EMBEDDED = "embedded"
DUCKDB = ("duckdb", EMBEDDED)
_ADVICE = "Use whole numbers as ids, or copy the table to what is tested: a Parquet file, DuckDB, PostgreSQL or Spark"


def embedded() -> DuckDB:
    """A DuckDB of our own, in memory, for files and tables. It gives memory back while it counts, and not at the end:
    at 10^7 rows its peak is a tenth lower, at no cost in time."""
    import ibis

    flush = dict.fromkeys(("allocator_flush_threshold", "allocator_bulk_deallocation_flush_threshold"), "64MB")
    return ibis.duckdb.connect(**flush)


@dataclass(frozen=True)
class Codec:
    """An engine's functions.

    encode   from text to what is compared: its UTF-8 bytes, or text itself where that is compared by its bytes
    decode   from there back to text
    hex      from any bytes to hexadecimal digits
    sent     from what is compared to what is sent back: bytes, which nothing on the way can refuse
    """

    encode: Function
    decode: Function
    hex: Function
    sent: Function = lambda compared: compared


def tested(engine: str) -> bool:
    """Whether it is known here how the engine compares text by its bytes."""
    return engine in _codecs()


def codec(engine: str) -> Codec:
    """The functions of an engine. On one that is not listed nobody knows what it takes for equal: refused."""
    if not tested(engine):
        raise QuestionError(
            f"on {engine} a collation decides which texts are equal and how they are ordered, so that one user's "
            "spelling could become the name of an item: text, UUIDs and bytes cannot be users or items there, and text "
            f"cannot be compared by order or with `like`. {_ADVICE}"
        )
    return _codecs()[engine]


def comparable(value: Expression, name: str, engine: str) -> Expression:
    """A column that is to be a key. A column of SQLite may hold values of any type: only whole numbers are taken, and
    whatever else stands there is made one by the engine, which cannot fail."""
    if engine != "sqlite":
        return value
    if not value.type().is_integer():
        raise QuestionError(
            f"column {name!r} is of type {value.type()}; on SQLite users and items must be whole numbers, because its "
            f"columns hold values of any type and compare text by a collation. {_ADVICE}"
        )
    return value & -1


def allowed(question: Question, engine: str) -> None:
    """Refuse what an engine has no functions for."""
    if engine == "sqlite" and question.by:
        raise QuestionError(f"SQLite has no hash function to choose a user's groups by: no `by`. {_ADVICE}")
    if engine == "sqlite" and question.contribution is not None:
        raise QuestionError(f"SQLite has no hash function to choose a user's items by: no `contribution`. {_ADVICE}")
    if engine == "sqlite" and question.period is not None:
        raise QuestionError(f"columns of SQLite hold values of any type: no time, and so no periods. {_ADVICE}")
    if engine == "sqlite" and question.score is not None:
        raise QuestionError(f"columns of SQLite hold values of any type, which cannot be summed: no `score`. {_ADVICE}")


def one_period(question: Question, engine: str) -> None:
    """Refuse several periods where pairs are counted here and not in the engine: they carry no period."""
    if question.periods is not None and question.periods.size > 1:
        raise QuestionError(f"on {engine} a mechanism that looks at all items reads one period at a time. {_ADVICE}")


def md5(text: Expression, digits: int) -> Expression:
    """The first digits of the MD5 of a text, in lower-case hexadecimal; every engine calls the two functions so."""
    return _declared("left", "string", "string", option=digits)(_declared("md5", "string", "string")(text))


def number_of(digits: Expression, engine: str) -> Expression:
    """Eight hexadecimal digits as a whole number below 2^32, each engine by a way that cannot fail on them."""
    if engine in DUCKDB:
        return total_cast(joined(["0x", digits], engine), "int64", engine)
    if engine == "pyspark":
        converted = _declared("conv", "string", "int64", "int64", "string")(digits, 16, 10)
        return total_cast(converted, "int64", engine)
    raw = _declared("decode", "string", "binary", option="hex")(digits)  # PostgreSQL
    places = [_declared("get_byte", "binary", "int32", option=place)(raw) for place in range(4)]
    first, second, third, last = (place.cast("int64") for place in places)
    return ((first * 256 + second) * 256 + third) * 256 + last


def joined(texts: Sequence[Expression], engine: str) -> Expression:
    """Texts one after the other, in one call: DuckDB copies the whole for every `||`, as which it would be written if
    the function were not named with its schema."""
    schema = "main" if engine in DUCKDB else None
    return _declared("concat", *["string"] * (len(texts) + 1), schema=schema)(*texts)


def attempted(value: Expression, engine: str) -> Expression:
    """The value, and null on a row where computing it fails, on engines that have a word for it.

    What is inside is built so that it cannot fail; this is the second line of defence, for what an engine does
    against its own documentation.
    """
    kind = str(value.type().copy(nullable=True))
    return _declared("try", kind, kind)(value) if engine in DUCKDB else value


def in_utc(value: Expression, engine: str) -> Expression:
    """A moment as what a clock in UTC showed, whatever the time zone of the session; null where that is not defined."""
    moment = "timestamp('UTC', 6)"
    if engine in DUCKDB:
        microseconds = _declared("epoch_us", moment, "int64")(value)
        return attempted(_declared("make_timestamp", "int64", "timestamp(6)")(microseconds), engine)
    if engine == "postgres":
        return _declared("timezone", "string", moment, "timestamp(6)")("UTC", value)
    return value.cast("timestamp(6)")


def floored(value: Expression, size: int, engine: str) -> Expression:
    """The largest multiple of a whole number that is not above a number, as a double; the number must be small enough
    that it has one."""
    kind = "decimal" if value.type().is_decimal() and engine == "postgres" else "float64"
    number = value if kind == "decimal" else value.cast("float64")
    return (_declared("floor", kind, kind)(number / size) * size).cast("float64")


def trimmed(value: Expression) -> Expression:
    """A numeric of PostgreSQL without the zeros at its end: 1.5 and 1.50 are equal, and get one text."""
    return _declared("trim_scale", "decimal", "decimal")(value)


def total_cast(value: Expression, kind: DataType, engine: str) -> Expression:
    """The value in another type, and null where that type cannot hold it.

    The cast is written even where Ibis calls both types the same. PostgreSQL has no such cast; what is cast there
    must fit.
    """
    from ibis.expr.operations import Cast, TryCast

    return (TryCast if engine in (*DUCKDB, "pyspark") else Cast)(value, kind).to_expr()


@cache
def _codecs() -> dict[str, Codec]:
    duckdb_hex, spark_hex = _declared("hex", "binary", "string"), _declared("hex", "binary", "string")
    duckdb_encode = _declared("encode", "string", "binary")
    return {
        "duckdb": Codec(duckdb_encode, _duckdb_decode, lambda raw: duckdb_hex(raw).lower()),
        EMBEDDED: Codec(_same, _same, lambda raw: duckdb_hex(raw).lower(), sent=duckdb_encode),
        "postgres": Codec(
            _declared("convert_to", "string", "binary", option="UTF8"),
            _declared("convert_from", "binary", "string", option="UTF8"),
            _declared("encode", "binary", "string", option="hex"),
        ),
        # Spark's own encode() fails on text that is not well-formed; a cast takes the bytes as they are.
        "pyspark": Codec(
            lambda text: text.cast("binary"), lambda raw: raw.cast("string"), lambda raw: spark_hex(raw).lower()
        ),
    }


def _duckdb_decode(raw: Expression) -> Expression:
    """Bytes as text; those of no text, which a frame may hold, in hexadecimal: one row must not make an error."""
    text = attempted(_declared("decode", "binary", "string")(raw), EMBEDDED)
    return text.coalesce(_declared("hex", "binary", "string")(raw))


@cache
def _declared(
    name: str, *kinds: str, option: str | int | None = None, schema: str | None = None
) -> Callable[..., Expression]:
    """An engine's own function, made known to Ibis by its name and the kinds it takes; the last is what it returns."""
    import ibis
    from ibis.expr import datatypes as types

    *takes, returns = kinds
    if option is not None:
        takes.append("string" if isinstance(option, str) else "int64")
    signature = tuple(types.dtype(kind) for kind in takes), types.dtype(returns)
    function = ibis.udf.scalar.builtin(_shape(len(takes)), name=name, database=schema, signature=signature)
    return function if option is None else (lambda value: function(value, option))


def _same(value: Expression) -> Expression:
    return value


def _shape(arguments: int) -> Callable[..., Any]:
    """The shape of an engine's function of so many arguments; the engine has the body."""

    def shape(*values: object) -> None: ...

    named = [Parameter(f"value_{i}", Parameter.POSITIONAL_OR_KEYWORD) for i in range(arguments)]
    shape.__signature__ = Signature(named)  # type: ignore[attr-defined] # inspect reads it, mypy does not know it
    return shape
