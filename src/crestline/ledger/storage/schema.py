"""The tables of a ledger, their version, and the way from an older version to this one.

crestline_books      one row: version of the schema, number of entries, hash of the last. The lock of every writer.
crestline_accounts   one row per budget: a data set, or an analyst under it; the sums over its entries; for a data set,
                     the user column that they fix
crestline_periods    one row for each period, or window of periods, that was asked about, where a budget is by period
crestline_entries    append-only; everything else can be computed from it, and `verify` does
"""

from __future__ import annotations

import json
from collections.abc import Callable

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
from crestline.ledger.balance_rules import user_of_question
from crestline.ledger.entries import ENDINGS, GENESIS, UNREADABLE

VERSION = 5

metadata = MetaData()

_BUILDING = 0x63726573  # the number of a lock: any that all writers share


def head_columns() -> tuple[SchemaItem, ...]:
    """Where a chain ends: the number of its entries, and the hash of the last."""
    return Column("length", BigInteger, nullable=False), Column("head", Text, nullable=False)


def version_table(name: str, beside: MetaData, *more: SchemaItem) -> Table:
    """A table of one row, which holds the version of the tables beside it."""
    version = Column("version", Integer, nullable=False)
    return Table(name, beside, Column("id", Integer, primary_key=True, autoincrement=False), version, *more)


chain_head = version_table("crestline_books", metadata, *head_columns())

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
)
Index("crestline_entries_answers", entries.c.answer_key)
_numbered = Index("crestline_entries_numbered", entries.c.analyst, entries.c.number)
# The database itself refuses to settle a reservation twice, or one that was given back.
_CLOSED = text("kind IN ('settled', 'voided')")
_closed_once = Index(
    "crestline_entries_closed_once",
    entries.c.receipt,
    unique=True,
    sqlite_where=_CLOSED,
    postgresql_where=_CLOSED,
)


def is_ending(table: FromClause = entries) -> ColumnElement[bool]:
    """Whether an entry ends a reservation. Its kinds are written out and not bound: SQLite finds endings by the index
    above only where it can read them in the statement, and reads the whole ledger otherwise."""
    return table.c.kind.in_([literal_column(f"'{kind}'") for kind in ENDINGS])


def is_ledger(connection: Connection) -> bool:
    """Whether the database holds a ledger of some version of crestline."""
    return inspect(connection).has_table(chain_head.name)


def is_foreign(connection: Connection) -> bool:
    """Whether the database holds tables of somebody else."""
    return bool(set(inspect(connection).get_table_names()) - set(metadata.tables))


def build(connection: Connection) -> None:
    """Make the tables of a new ledger, which holds no entry."""
    metadata.create_all(connection)
    connection.execute(insert(chain_head).values(id=1, version=VERSION, length=0, head=GENESIS))


def build_or_migrate(connection: Connection, address: str) -> None:
    """Make the tables where there are none, and bring older ones to this version.

    Two servers that do so at once wait for each other.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _BUILDING})
    if not is_ledger(connection):
        if connection.dialect.name == "sqlite" and is_foreign(connection):
            raise _not_a_ledger_error(address)  # on a server, a ledger may share a database with other tables
        build(connection)
    elif check(version(connection), address):
        migrate(connection)


def must_migrate(connection: Connection, address: str) -> bool:
    """Whether the database holds a ledger of an older version; an error when it holds none, or a newer one."""
    if not is_ledger(connection):
        raise _not_a_ledger_error(address)
    return check(version(connection), address)


def _not_a_ledger_error(address: str) -> LedgerError:
    return LedgerError(f"ledger {address}: a database, but not a ledger; make one with `crestline ledger create`")


def version(connection: Connection) -> int:
    """The version that the stored ledger was written in."""
    stored = connection.execute(select(chain_head.c.version)).scalar()
    if stored is None:
        raise LedgerError(
            "the ledger has lost its head row: restore it from a backup, then run `crestline ledger verify`"
        )
    return int(stored)


def check(stored: int, address: str) -> bool:
    """Whether a ledger of this version must be migrated; an error when it cannot be used."""
    if stored > VERSION:
        raise LedgerError(
            f"ledger {address}: written by a newer crestline (version {stored}, this one knows {VERSION}): "
            "upgrade crestline"
        )
    missing = [step for step in range(stored, VERSION) if step not in MIGRATIONS]
    if missing:
        raise LedgerError(
            f"ledger {address}: its version is {stored}, and this crestline knows no way from version {missing[0]} to "
            f"{missing[0] + 1}: open it once with an older release that does"
        )
    return stored < VERSION


def migrate(connection: Connection) -> None:
    """Bring an older ledger to this version, in the transaction of the connection: all of it, or nothing."""
    for step in range(version(connection), VERSION):
        MIGRATIONS[step](connection)
        connection.execute(chain_head.update().values(version=step + 1))


def _add_user_columns(connection: Connection) -> None:
    """Version 1 did not fix the user column of a data set: its earliest question decides."""
    connection.execute(text("ALTER TABLE crestline_accounts ADD COLUMN user_column TEXT"))
    own = accounts.c.analyst == ""
    for dataset in connection.execute(select(accounts.c.dataset).where(own)).scalars().all():
        change = accounts.update().where(accounts.c.dataset == dataset, own)
        connection.execute(change.values(user_column=_find_earliest_user(connection, dataset)))


def _find_earliest_user(connection: Connection, dataset: str) -> str | None:
    asked = select(entries.c.body).where(entries.c.dataset == dataset, entries.c.kind == "reserved")
    few = asked.order_by(entries.c.sequence).execution_options(yield_per=1000)
    with connection.execute(few) as found:
        for body in found.scalars():
            try:
                user = user_of_question(json.loads(body)["question"])
            except UNREADABLE:  # an entry that was edited; `verify` says so
                continue
            if user is not None:
                return user
    return None


def _add_periods(connection: Connection) -> None:
    """Version 2 knew no budgets by period: their accounts get a table of their own, and the others stay as they are."""
    periods.create(connection, checkfirst=True)


def _add_voided(connection: Connection) -> None:
    """Version 3 gave no reservation back: what ends one is now unique over both ways to end it."""
    connection.execute(text("DROP INDEX IF EXISTS crestline_entries_settled_once"))
    _closed_once.create(connection, checkfirst=True)


def _add_numbers(connection: Connection) -> None:
    """Version 4 told analysts the numbers of the ledger's entries. What is added is not hashed, and follows from it."""
    connection.execute(text("ALTER TABLE crestline_entries ADD COLUMN number BIGINT"))
    connection.execute(
        text(
            "UPDATE crestline_entries SET number = one.number FROM (SELECT sequence AS at, row_number() OVER "
            "(PARTITION BY analyst ORDER BY sequence) AS number FROM crestline_entries "
            "WHERE analyst IS NOT NULL AND kind IN ('reserved', 'refused', 'answered')) AS one "
            "WHERE one.at = crestline_entries.sequence"
        )
    )
    connection.execute(
        text(
            "UPDATE crestline_entries SET number = one.number FROM (SELECT sequence AS at, number FROM "
            "crestline_entries WHERE kind = 'reserved') AS one WHERE one.at = crestline_entries.receipt "
            "AND crestline_entries.kind IN ('begun', 'settled', 'voided')"
        )
    )
    _numbered.create(connection, checkfirst=True)


# Version n to n + 1, each in one transaction with the others. A migration never touches an entry: they are hashed.
MIGRATIONS: dict[int, Callable[[Connection], None]] = {
    1: _add_user_columns,
    2: _add_periods,
    3: _add_voided,
    4: _add_numbers,
}
