"""The record of an engine: everything in which engines differ, as far as questions can tell.

The defaults are those of an engine of which nothing is known but that Ibis speaks to it: its text is no key, nothing
is set on its connection, and what several statements need is fetched into this process.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from crestline.sources.engine.connection import Engine
from crestline.sources.engine.dialects.functions import Expression, Function, cast, engine_function, identity

if TYPE_CHECKING:
    import pyarrow
    from ibis.expr.datatypes import DataType

    from crestline.sources.engine.bind_parameters import Values
    from crestline.sources.engine.statements import Statement

Rows: TypeAlias = list[tuple[Any, ...]]
Interrupt: TypeAlias = Callable[[], None]


@dataclass(frozen=True)
class Codec:
    """An engine's functions between text and bytes.

    encode   from text to what is compared: its UTF-8 bytes, or text itself where that is compared by its bytes
    decode   from there back to text
    hex      from any bytes to hexadecimal digits
    sent     from what is compared to what is sent back: bytes, which nothing on the way can refuse
    """

    encode: Function
    decode: Function
    hex: Function
    sent: Function = identity


def ibis_rows(engine: Engine, expression: Expression) -> Rows:
    """The rows of an expression, by way of Arrow, as every engine of Ibis has it."""
    return table_rows(engine.to_pyarrow(expression))


def table_rows(table: Expression) -> Rows:
    """The rows of an Arrow table."""
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def ibis_table(engine: Engine, name: str, database: str | None = None) -> Expression:
    return engine.table(name) if database is None else engine.table(name, database=database)


def do_nothing(subject: object) -> None:
    """Nothing to do, and nothing to refuse."""


def ping_engine(engine: Engine) -> None:
    with closing(engine.raw_sql("SELECT 1")):
        pass


@contextmanager
def without_interrupt(engine: Engine) -> Iterator[Interrupt | None]:
    yield None


@contextmanager
def no_context(engine: Engine) -> Iterator[None]:
    yield


@contextmanager
def no_transaction(engine: Engine, timeout: float) -> Iterator[None]:
    yield


def memory_table(table: pyarrow.Table) -> Expression:
    """An Arrow table as one that Ibis makes known to the engine when a statement needs it."""
    import ibis

    return ibis.memtable(table)


def left_md5(text: Expression, digits: int) -> Expression:
    return engine_function("left", "string", "string", option=digits)(engine_function("md5", "string", "string")(text))


def concat_texts(texts: Sequence[Expression]) -> Expression:
    return engine_function("concat", *["string"] * (len(texts) + 1))(*texts)


def floor_in_doubles(value: Expression, size: int) -> Expression:
    return engine_function("floor", "float64", "float64")(value.cast("float64") / size) * size


def text_of(value: Expression) -> Expression:
    return value.cast("string")


@dataclass(frozen=True)
class TempTables:
    """How an engine keeps the rows of an expression for later statements.

    stored    keeps them under a name of their own, as they are, without a conversion that could fail
    dropped   ends that
    lasting   whether what was counted over a public list is kept this way as well
    """

    store_rows: Callable[[Engine, Expression], Expression]
    drop_table: Callable[[Engine, Expression], None]
    for_public_lists: bool = True


@dataclass(frozen=True)
class PreparedStatements:
    """How an engine runs a statement that was written before, with values in its places.

    rows       its rows
    numbered   whether values are sent beside the statement, as parameters with numbers; else they are written into its
               tree as literals
    """

    rows: Callable[[Engine, Expression, Statement, Values], Rows]
    numbered_parameters: bool


@dataclass(frozen=True)
class ArrayTransfer:
    """How an engine keeps rows in tables whose names are given.

    table     the table of a name, with the columns of an expression; it need not be there yet
    stored    store the rows of a statement under a name (letters, digits, underscores), and say how many they are
    dropped   drop tables, as far as they are there
    """

    table: Callable[[Engine, str, Expression], Expression]
    store_rows: Callable[[Engine, str, Statement, Values], int]
    drop_tables: Callable[[Engine, Sequence[str]], None]


RecordBatches: TypeAlias = "Callable[[Engine, Expression, Statement | None, Values], pyarrow.RecordBatchReader]"


@dataclass(frozen=True)
class Dialect:
    """An engine. Every function of a value is defined for each value of its type: none can fail on a row.

    name             as Ibis calls it, or a name of our own for an engine that is used in another way
    codec            between text and bytes; None: nobody knows here what the engine takes for equal

    Text and hashes
    md5              the first digits of the MD5 of a text, in lower-case hexadecimal
    number_of        eight hexadecimal digits as a whole number below 2^32
    joined           texts one after the other, in one call
    text_of          a number, a boolean, a date or a moment as a text that only equal values share
    key              bytes that are to be grouped and ranked; null where the engine cannot do so by all of them
    plain_text       text is UTF-8 for sure and compared by its bytes as it stands
    reads_text       text columns may be read as numbers and as times

    Values
    readable         a table whose columns hold nothing but values of their types
    attempted        the value, and null on a row where computing it fails
    total_cast       the value in another type, and null where that type cannot hold it
    representable    a column in a type that can be compared with every value of ours
    is_number        whether a double is a number
    in_utc           a moment as what a clock in UTC showed; null where that is not defined
    part             a part of a moment (its year, week, …) as a whole number
    floored          the largest multiple of a whole number that is not above a small number
    any_decimal      decimals have any length, and some are no numbers
    careful          products of doubles that are too close to zero fail
    nanoseconds      timestamps without a zone may be in nanoseconds, and are compared in them
    in_utc_unmarked  timestamps without a zone are moments in UTC
    remainder        of a division of whole numbers, with the sign of the first
    trimmed          a decimal without the zeros at its end, where they are kept

    Connections
    opened           what is done with a connection before anything is asked; may refuse it
    found            a table by its name, and that of its schema
    given            refuses a table of Ibis that somebody else made, where that cannot be asked

    Statements
    lifted           an Arrow table without nulls as an expression, without writing to the engine
    fetched          the rows of an expression as Python values
    batched          the same, so many at a time, within `read_transaction`; None: all at once
    binding          how statements are run again with other values; None: each is written anew
    arrays           how rows are kept under given names; None: they are not
    record_batches   the rows of an expression as Arrow batches, some at a time, by its statement where that was written
                     before; None: the engine is not in this process, and pairs are counted in it
    pinged           fails where the connection is lost; None: the engine is in this process
    reading          a transaction that only reads, sees one state of the tables and gives statements up in time
    interrupting     how to interrupt what this thread runs; None: we cannot
    surroundings     what must hold around every statement
    keeping          how rows are kept for later statements; None: they are not
    has_snapshots    whether `read_transaction` gives several statements one state of the tables now
    keeps_snapshots  whether it does so for all tables that an expression reads
    """

    name: str
    codec: Codec | None = None

    md5: Callable[[Expression, int], Expression] = left_md5
    number_of: Function | None = None
    join_texts: Callable[[Sequence[Expression]], Expression] = concat_texts
    text_of: Function = text_of
    key: Function = identity
    plain_text: bool = False
    reads_text: bool = False

    readable_table: Function = identity
    try_else_null: Function = identity
    total_cast: Callable[[Expression, DataType], Expression] = cast
    representable: Function = identity
    is_number: Function = lambda value: ~value.isnan()
    in_utc: Function = lambda value: value.cast("timestamp(6)")
    extract_part: Function = identity
    floor_to_multiple: Callable[[Expression, int], Expression] = floor_in_doubles
    unbounded_decimals: bool = False
    products_may_underflow: bool = False
    nanoseconds: bool = False
    unmarked_is_utc: bool = False
    remainder: Callable[[Expression, int], Expression] = lambda value, size: value % size
    strip_trailing_zeros: Function = identity

    check_connection: Callable[[Engine], None] = do_nothing
    find_table: Callable[..., Expression] = ibis_table
    check_given_table: Callable[[Expression], None] = do_nothing

    inline_table: Callable[[pyarrow.Table], Expression] = memory_table
    fetch_rows: Callable[[Engine, Expression], Rows] = ibis_rows
    fetch_batches: Callable[[Engine, Expression, int], Generator[Rows, None, None]] | None = None
    prepared_statements: PreparedStatements | None = None
    array_transfer: ArrayTransfer | None = None
    record_batches: RecordBatches | None = None
    ping: Callable[[Engine], None] | None = ping_engine
    read_transaction: Callable[[Engine, float], AbstractContextManager[None]] = no_transaction
    interrupt_handle: Callable[[Engine], AbstractContextManager[Interrupt | None]] = without_interrupt
    around_statement: Callable[[Engine], AbstractContextManager[None]] = no_context
    temp_tables: TempTables | None = None
    has_snapshots: Callable[[Engine], bool] = lambda engine: False
    keeps_snapshots: Callable[[Expression], bool] = lambda table: True
