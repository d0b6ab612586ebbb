"""The tables of a ledger, and their version.

crestline_books      one row: version of the tables, number of entries, hash of the last. The lock of every writer.
crestline_accounts   one row per budget: a data set, or an analyst under it; the sums over its entries; for a data set,
                     the user column that they fix
crestline_periods    one row for each period, or window of periods, that was asked about, where a budget is by period
crestline_entries    append-only; everything else can be computed from it, and `verify` does
crestline_verified   one row: what a check of all entries found out, up to one of them, signed by a key outside
crestline_refusals   one row per account that was ever refused: a day, and how many refusals there were on it
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    FromClause,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    insert,
    inspect,
    literal_column,
    select,
    text,
)
from sqlalchemy.schema import SchemaItem

from crestline.errors import LedgerError
from crestline.ledger.entries import ENDINGS, GENESIS

VERSION = 1  # the first release has this one; migrations come with the first release that changes the tables

metadata = MetaData()

_BUILDING = 0x63726573  # the number of a lock: any that all writers share


def head_columns() -> tuple[SchemaItem, ...]:
    """The columns that say where a chain ends: the number of its entries, and the hash of the last."""
    return Column("length", BigInteger, nullable=False), Column("head", Text, nullable=False)


chain_head = Table(
    "crestline_books",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("version", Integer, nullable=False),
    *head_columns(),
)

accounts = Table(
    "crestline_accounts",
    metadata,
    Column("dataset", Text, primary_key=True),
    Column("analyst", Text, primary_key=True),  # empty: the data set itself
    Column("budget", Text, nullable=False),
    Column("settled", Text, nullable=False),
    Column("held", Text, nullable=False),
    Column("user_column", Text),  # of a data set: what its entries say; null before anything names one, and of analysts
)

periods = Table(
    "crestline_periods",
    metadata,
    Column("dataset", Text, primary_key=True),
    Column("analyst", Text, primary_key=True),  # as above
    Column("period", Text, primary_key=True),  # its label; of a window, that of its first period
    Column("span", Integer, primary_key=True, autoincrement=False),  # 1, or how many periods the window has
    Column("settled", Text, nullable=False),
    Column("held", Text, nullable=False),
)

verified = Table(
    "crestline_verified",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("statement", Text, nullable=False),
)

refusals = Table(
    "crestline_refusals",
    metadata,
    Column("dataset", Text, primary_key=True),
    Column("analyst", Text, primary_key=True),  # as above
    Column("day", Text, nullable=False),  # in UTC
    Column("number", Integer, nullable=False),
)

entries = Table(
    "crestline_entries",
    metadata,
    Column("sequence", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("kind", Text, nullable=False),
    Column("dataset", Text, nullable=False),
    Column("analyst", Text),
    Column("receipt", BigInteger),
    Column("answer_key", Text),
    Column("body", Text, nullable=False),
    Column("hash", Text, nullable=False),
    Column("number", BigInteger),  # of a question: how many its analyst had asked with it; of what ends it, the same
    Column("request", Text),  # of what is asked once: the key of an idempotent request, or of a report's edition
)


def _index(name: str, *columns: Column[object], where: str | None = None, unique: bool = False) -> None:
    condition = None if where is None else text(where)
    Index(f"crestline_entries_{name}", *columns, unique=unique, sqlite_where=condition, postgresql_where=condition)


_index("answers", entries.c.answer_key)
_index("numbered", entries.c.analyst, entries.c.number)
# A page of the history shows the newest entries of an analyst, of a data set, or of both: it reads no others.
_index("of_analyst", entries.c.analyst, entries.c.sequence)
_index("of_dataset", entries.c.dataset, entries.c.sequence)
_index("of_both", entries.c.dataset, entries.c.analyst, entries.c.sequence)
# The database itself refuses to settle a reservation twice, or one that was given back, and to take one up twice.
_index("closed_once", entries.c.receipt, where="kind IN ('settled', 'voided')", unique=True)
_index("begun_once", entries.c.receipt, where="kind = 'begun'", unique=True)
# Writers are serialised, so looking for the key before a reservation is enough; one that was given back frees it.
_index("requests", entries.c.request, where="request IS NOT NULL")
_index("editions", entries.c.dataset, where="substr(request, 1, 7) = 'report '")
_index("tokens", entries.c.sequence, where="kind = 'token'")
_index("witnesses", entries.c.sequence, where="kind = 'witnessed'")


def is_ending(table: FromClause = entries) -> ColumnElement[bool]:
    """Whether an entry ends a reservation. Its kinds are written out and not bound: SQLite finds endings by the index
    above only where it can read them in the statement, and reads the whole ledger otherwise."""
    return table.c.kind.in_([literal_column(f"'{kind}'") for kind in ENDINGS])


def is_beginning(table: FromClause = entries) -> ColumnElement[bool]:
    """Whether an entry takes up a reservation that was made ahead; written out for the same reason."""
    return table.c.kind == literal_column("'begun'")


def is_edition() -> ColumnElement[bool]:
    """Whether an entry reserves an edition of a report; written out for the same reason."""
    return text("substr(crestline_entries.request, 1, 7) = 'report '")  # type: ignore[return-value] # a condition


def is_about_token() -> ColumnElement[bool]:
    """Whether an entry makes or ends a token of the service; written out for the same reason."""
    return entries.c.kind == literal_column("'token'")


def is_about_witness() -> ColumnElement[bool]:
    """Whether an entry says that there is a witness; written out for the same reason."""
    return entries.c.kind == literal_column("'witnessed'")


def build(connection: Connection, address: str) -> None:
    """Make the tables where there are none. Two servers that do so at once wait for each other."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _BUILDING})
    found = inspect(connection)
    if found.has_table(chain_head.name):
        check(connection, address)
        return
    is_foreign = set(found.get_table_names()) - set(metadata.tables)
    if connection.dialect.name == "sqlite" and is_foreign:
        raise _not_a_ledger_error(address)  # on a server, a ledger may share a database with other tables
    metadata.create_all(connection)
    connection.execute(insert(chain_head).values(id=1, version=VERSION, length=0, head=GENESIS))


def check(connection: Connection, address: str) -> None:
    """Refuse a database that holds no ledger, or one of another version."""
    if not inspect(connection).has_table(chain_head.name):
        raise _not_a_ledger_error(address)
    stored = connection.execute(select(chain_head.c.version)).scalar()
    if stored is None:
        raise lost_head_error()
    check_version(stored, address)


def check_version(stored: int, address: str) -> None:
    """Refuse a ledger that a program with other tables has written, also while this program runs."""
    if stored != VERSION:
        raise LedgerError(
            f"ledger {address}: its tables have version {stored}, and this crestline knows version {VERSION} alone: "
            + ("upgrade crestline" if stored > VERSION else "use the release that wrote it")
        )


def lost_head_error() -> LedgerError:
    """The error of a ledger without its head row."""
    return LedgerError("the ledger has lost its head row: restore it from a backup, then run `crestline ledger verify`")


def _not_a_ledger_error(address: str) -> LedgerError:
    return LedgerError(f"ledger {address}: a database, but not a ledger; make one with `crestline ledger create`")
