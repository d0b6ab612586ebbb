"""SQLite: its columns hold values of any type, whatever type was declared.

A value that is not of the type of its column counts as null, row by row (`readable`):

    whole numbers            stored as integers
    floats, decimals         stored as integers or reals, read as doubles: SQLite has no decimals
    booleans                 the integers 0 and 1
    text, and no type        text; numbers as SQLite writes them; no blobs
    bytes                    blobs
    dates                    text as in 2026-01-31
    timestamps               text in ISO 8601; one with an offset is turned into UTC

Types come from the table's definition, never from a row. SQLite has no hash function, so that a few functions of ours
are put on the connection; they take bytes and whole numbers, and give null where they are not defined.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from crestline.errors import QuestionError
from crestline.sources.engine.connection import Driver, Engine
from crestline.sources.engine.dialects.dialect import Codec, Dialect, Keeping, Rows
from crestline.sources.engine.dialects.duckdb import interrupting
from crestline.sources.engine.dialects.functions import Expression, cast, declared, hex_digits

if TYPE_CHECKING:
    import pyarrow
    from ibis.expr.datatypes import DataType

_MD5, _NUMBER, _MOMENT, _REMAINDER = "crestline_md5", "crestline_number", "crestline_moment", "crestline_remainder"
_TEXT = "string"


def _md5(raw: object, digits: int) -> str | None:
    return hashlib.md5(raw, usedforsecurity=False).hexdigest()[:digits] if isinstance(raw, bytes) else None


def _number(digits: object) -> int | None:
    try:
        return int(str(digits), 16)
    except ValueError:
        return None


def _moment(raw: object) -> str | None:
    """A moment as SQLite would write it, with microseconds if there are any: such texts are ordered like moments."""
    try:
        moment = datetime.fromisoformat(bytes(raw).decode())  # type: ignore[call-overload] # whatever it is
        return (moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment).isoformat(" ")
    except (ValueError, OverflowError, TypeError):
        return None


def _remainder(number: object, size: int) -> int | None:
    """With the sign of the number; SQLite's own mod() is one of doubles."""
    if not isinstance(number, int):
        return None
    rest = abs(number) % size
    return rest if number >= 0 else -rest


_FUNCTIONS: dict[str, tuple[int, Callable[..., Any]]] = {
    _MD5: (2, _md5),
    _NUMBER: (1, _number),
    _MOMENT: (1, _moment),
    _REMAINDER: (2, _remainder),
}


def _opened(engine: Engine) -> None:
    """Put our functions on the connection, keep temporary tables in memory, and refuse text that is no UTF-8."""
    (encoding,) = engine.con.execute("PRAGMA encoding").fetchone()
    if encoding != "UTF-8":
        raise QuestionError(f"the database is encoded in {encoding}; only UTF-8 can be asked: copy it with VACUUM INTO")
    for name, (arguments, function) in _FUNCTIONS.items():
        engine.con.create_function(name, arguments, function, deterministic=True)


def found(engine: Engine, name: str, database: str | None = None) -> Expression:
    """A table with the types of its definition. Ibis would take the type of the first row where none is declared."""
    import ibis
    from ibis.expr.operations import DatabaseTable, Namespace

    columns = _declared_columns(engine.con, name, database)
    if not columns:
        raise LookupError(name)
    schema = ibis.schema({column: _kind(engine, written) for column, written in columns})
    return DatabaseTable(name, schema=schema, source=engine, namespace=Namespace(database=database or "main")).to_expr()


def _declared_columns(connection: Driver, name: str, database: str | None) -> list[tuple[str, str]]:
    query = "SELECT name, type FROM pragma_table_info(?, ?)"
    rows: list[tuple[str, str]] = connection.execute(query, (name, database or "main")).fetchall()
    return rows


def _kind(engine: Engine, written: str) -> str:
    """The type of a column from what was declared: as Ibis reads it, else by SQLite's own rules, else text."""
    try:
        kind = engine.compiler.type_mapper.from_string(written) if written else None
    except Exception:  # what Ibis and its parser raise of a text that is no type of theirs
        kind = None
    kind = None if kind is None or kind.is_unknown() else kind
    for test, ours in (("is_integer", "int64"), ("is_floating", "float64"), ("is_decimal", "float64")):
        if kind is not None and getattr(kind, test)():
            return ours
    if kind is not None and kind.is_timestamp():
        return "timestamp('UTC', 6)" if kind.timezone else "timestamp(6)"
    if kind is not None and (kind.is_boolean() or kind.is_date() or kind.is_binary()):
        return str(kind.copy(nullable=True))
    rules = (("INT", "int64"), ("REAL", "float64"), ("FLOA", "float64"), ("DOUB", "float64"), ("BLOB", "binary"))
    return next((ours for part, ours in rules if part in written.upper() and kind is None), _TEXT)


def _given(table: Expression) -> None:
    """Refuse a table of Ibis with a column that has no declared type: Ibis took that of its first row."""
    from ibis.expr.operations import DatabaseTable

    for leaf in table.op().find(DatabaseTable):
        columns = _declared_columns(leaf.source.con, leaf.name, leaf.namespace.database)
        if any(not written for _, written in columns):
            raise QuestionError(
                f"table {leaf.name!r} has a column without a declared type, and Ibis took the type of its first row: "
                "open the table by its address (sqlite:///…), where such a column is text"
            )


def _readable(table: Expression) -> Expression:
    return table.select(**{name: _value(table[name]) for name in table.columns})


def _value(column: Expression) -> Expression:
    """A column in which there is nothing but values of its type; other values are null."""
    import ibis

    kind = column.type()
    stored = declared("typeof", _name(column), _TEXT)(column)

    def only(condition: Expression, value: Expression) -> Expression:
        return ibis.cases((condition, value), else_=ibis.null(value.type()))

    if kind.is_integer():
        return only(stored == "integer", _as(column, "int64"))
    if kind.is_boolean():
        return only((stored == "integer") & _as(column, "int64").isin([0, 1]), column)
    if kind.is_floating() or kind.is_decimal():
        return only(stored.isin(["integer", "real"]), _cast(column, "float64"))
    if kind.is_binary():
        return only(stored == "blob", column)
    if kind.is_date():
        # Only when a day is moved, if by nothing, does SQLite notice that there is no 30th of February.
        day = declared("date", _TEXT, _TEXT, option="+0 days")(_as(column, _TEXT))
        return only((stored == "text") & (_encoded(day) == _encoded(_as(column, _TEXT))), _as(day, "date"))
    if kind.is_timestamp():
        ours = "timestamp('UTC', 6)" if kind.timezone else "timestamp(6)"
        return only(stored == "text", declared(_MOMENT, "binary", ours)(_encoded(_as(column, _TEXT))))
    return only(stored != "blob", _cast(column, _TEXT))


def _name(value: Expression) -> str:
    return str(value.type().copy(nullable=True))


def _as(value: Expression, kind: str) -> Expression:
    """The same value under another type of Ibis: likely() gives back what it gets."""
    return declared("likely", _name(value), kind)(value)


def _cast(value: Expression, kind: str) -> Expression:
    from ibis.expr import datatypes as types

    return cast(_as(value, "binary"), types.dtype(kind))


def _total_cast(value: Expression, kind: DataType) -> Expression:
    """Moments are texts already; a cast of Ibis would cut them to milliseconds. Other casts cannot fail here."""
    return _as(value, str(kind)) if kind.is_timestamp() and value.type().is_timestamp() else cast(value, kind)


def _encoded(text: Expression) -> Expression:
    return _cast(text, "binary")


def _decoded(raw: Expression) -> Expression:
    return _cast(raw, _TEXT)


def _joined(texts: Sequence[Expression]) -> Expression:
    first, *others = texts
    for text in others:
        first = first + text
    return first


def _hashed(text: Expression, digits: int) -> Expression:
    return declared(_MD5, "binary", _TEXT, option=digits)(_encoded(text))


def _text_of(value: Expression) -> Expression:
    """Booleans as other engines write them, and doubles with all their digits."""
    import ibis

    if value.type().is_boolean():
        return ibis.cases((value, "true"), (~value, "false"), else_=ibis.null(_TEXT))
    if value.type().is_floating():
        return declared("printf", _TEXT, "float64", _TEXT)("%!.17g", value)
    return _cast(value, _TEXT)


def _lifted(table: pyarrow.Table) -> Expression:
    """Through a temporary table, which also a read-only connection may have, with values as SQLite stores them."""
    import ibis
    import pyarrow

    kinds = ibis.memtable(table).schema()
    stored = {name: [_storable(value) for value in table[name].to_pylist()] for name in kinds}
    arrow = {
        name: pyarrow.string() if _is_text(kind) else table.schema.field(name).type for name, kind in kinds.items()
    }
    held = ibis.memtable(pyarrow.table({name: pyarrow.array(stored[name], arrow[name]) for name in kinds}))
    return held.select(
        **{name: _as(held[name], str(kind)) if _is_text(kind) else held[name] for name, kind in kinds.items()}
    )


def _is_text(kind: DataType) -> bool:
    return bool(kind.is_date() or kind.is_timestamp())


def _storable(value: object) -> object:
    """Days and moments as `readable` writes them."""
    if isinstance(value, datetime):
        return (value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value).isoformat(" ")
    return value.isoformat() if isinstance(value, date) else value


def _compiled(engine: Engine, expression: Expression) -> str:
    """The statement, with a name for every part: SQLite's parser gives up at parts within parts within parts."""
    from sqlglot.optimizer.eliminate_subqueries import eliminate_subqueries

    query = eliminate_subqueries(engine.compiler.to_sqlglot(expression))
    return str(query.sql(dialect=engine.compiler.dialect))


def _fetched(engine: Engine, expression: Expression) -> Rows:
    engine._run_pre_execute_hooks(expression)
    rows = engine.con.execute(_compiled(engine, expression)).fetchall()
    ways = [_way(kind) for kind in expression.schema().types]
    return [tuple(v if v is None or way is None else way(v) for v, way in zip(row, ways, strict=True)) for row in rows]


def _way(kind: DataType) -> Callable[[Any], Any] | None:
    """From what SQLite returns to a Python value, where that is another."""
    if kind.is_boolean():
        return bool
    if kind.is_date():
        return date.fromisoformat
    if kind.is_timestamp():
        return _aware if kind.timezone else datetime.fromisoformat
    return None


def _aware(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def _stored(engine: Engine, expression: Expression) -> Expression:
    """A temporary table, which also a read-only connection may have."""
    import ibis
    from ibis.expr.operations import DatabaseTable, Namespace

    name = ibis.util.gen_name("crestline")  # letters, digits and underscores
    engine._run_pre_execute_hooks(expression)  # lists of items become known to the engine
    engine.con.execute(f"CREATE TEMPORARY TABLE {name} AS {_compiled(engine, expression)}")
    namespace = Namespace(database="temp")
    return DatabaseTable(name, schema=expression.schema(), source=engine, namespace=namespace).to_expr()


def _dropped(engine: Engine, table: Expression) -> None:
    engine.con.execute(f"DROP TABLE temp.{table.op().name}")


SQLITE = Dialect(
    "sqlite",
    Codec(_encoded, _decoded, hex_digits),
    md5=_hashed,
    number_of=lambda digits: declared(_NUMBER, _TEXT, "int64")(digits),
    joined=_joined,
    text_of=_text_of,
    readable=_readable,
    total_cast=_total_cast,
    part=lambda number: _cast(number, "int64"),  # weeks and quarters are quotients
    is_number=lambda value: value.notnull(),  # nan is null there
    in_utc=lambda value: _as(value, "timestamp(6)"),
    remainder=lambda value, size: declared(_REMAINDER, "int64", "int64", option=size)(value),
    opened=_opened,
    found=found,
    given=_given,
    lifted=_lifted,
    fetched=_fetched,
    pinged=None,
    interrupting=interrupting,
    keeping=Keeping(_stored, _dropped),
)
