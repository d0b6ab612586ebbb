"""A copy of a table's columns in this process, so that a question need not scan the table again.

Made once, for one stated version of the data, when a service starts. Questions without a public list are asked of the
copy, by the same expressions as of the table. Users and items are numbered when the copy is made, so that the pairs of
a question are whole numbers that are fetched, sorted and counted here. Whether the copy fits into its limit is decided
then and told to the owner alone; nothing but the time that a question takes depends on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from crestline.errors import QuestionError
from crestline.histogram.view_kinds import SLOTS, View
from crestline.question import Question
from crestline.sources.engine.connection import Connection, Engine
from crestline.sources.engine.dialects.duckdb import DUCKDB
from crestline.sources.engine.engine_functions import EMBEDDED, Expression, embedded_duckdb
from crestline.sources.expression.column_keys import column
from crestline.sources.expression.counting import USER, Counting
from crestline.sources.pairs.counting import NUMBER, number_items
from crestline.sources.pairs.numbered_in_engine import CODE, PairColumn
from crestline.sources.source import Reading, Source
from crestline.sources.table import TableSource
from crestline.sources.wrappers import ForwardingSource, PerQuestionSource, columns_of


class CachedSource(ForwardingSource):
    """A source with a copy of its columns. Public lists are looked up in the source itself."""

    def __init__(self, inner: Source, copy: TableSource) -> None:
        self._inner, self.copy = inner, copy

    @property
    def inner(self) -> Source:
        """The source itself."""
        return self._inner

    @contextmanager
    def ready(self) -> Iterator[Source]:
        with self.inner.ready() as connected:
            yield CachedSource(connected, self.copy)

    def reading(self, question: Question, key: bytes = b"", view: View = SLOTS) -> AbstractContextManager[Reading]:
        asked: Source = self.copy if question.domain is None and question.groups is None else self.inner
        return asked.reading(question, key, view)


def with_memory_copy(source: Source, user: str, items: Sequence[str], others: Sequence[str], limit: int) -> Source:
    """The source with a copy of these columns; as it is where the copy would take more than `limit` bytes. Columns of
    types that a copy might not hold exactly are refused, whatever they hold."""
    named = _question_of_columns(user, items, others)
    with source.ready() as ready:
        if isinstance(ready, PerQuestionSource):
            copy = ready.run_on_table(named, lambda table: _copy_table(_table_or_refuse(table), named, items, limit))
        else:
            copy = _copy_table(_table_or_refuse(ready), named, items, limit)
    return source if copy is None else CachedSource(source, copy)


def may_be_kept(source: Source, user: str, items: Sequence[str], others: Sequence[str]) -> None:
    """Refuse columns that cannot be kept. No row is read."""
    named = _question_of_columns(user, items, others)
    with source.ready() as ready:
        table = _table_or_refuse(ready.table_for(named) if isinstance(ready, PerQuestionSource) else ready)
        for name in columns_of(named):
            _exact_column(table.table, name)


def _table_or_refuse(source: Source) -> TableSource:
    """The table, where its rows reach this process by a way on which none of them can fail: that of DuckDB."""
    if not isinstance(source, TableSource):
        raise QuestionError("only a file or a table of a database can be kept")
    if source.dialect not in (EMBEDDED, DUCKDB.name):
        raise QuestionError(
            "only files and tables of DuckDB can be kept: what other engines hold might not be read without an error"
        )
    return source


def _question_of_columns(user: str, items: Sequence[str], others: Sequence[str]) -> Question:
    """A question that names all columns."""
    return Question(user=user, item=tuple(dict.fromkeys((*items, *others))), k=1, k_bar=1)


def _copy_table(table: TableSource, named: Question, items: Sequence[str], limit: int) -> TableSource | None:
    columns = columns_of(named)
    expression = table.table.select(*(_exact_column(table.table, name) for name in columns))
    arrow = table.fetch_arrow(expression, limit)
    if arrow is None:
        return None
    engine, rows = embedded_duckdb(), "rows"
    engine.con.register("arrow", arrow)
    engine.con.execute(f"CREATE TABLE {rows} AS FROM arrow")
    engine.con.unregister("arrow")
    found: dict[str, PairColumn] = {}
    dialect = EMBEDDED if table.dialect == EMBEDDED else str(engine.name)
    for place, item in enumerate(items):
        question = Question(user=named.user, item=(item,), k=1, k_bar=1)
        counting = Counting(engine.table(rows), question, dialect, table.untyped)
        found[item] = _number_pairs(engine, counting, place)
        engine.con.execute(f"DROP TABLE {rows}")
        rows = f"rows_{place}"
    connection = Connection(engine, table.timeout, engine.disconnect)
    return TableSource(
        engine.table(rows),
        connection,
        name=table.name,
        untyped=table.untyped,
        embedded=table.dialect == EMBEDDED,
        numbered=found,
    )


def _exact_column(table: Expression, name: str) -> Expression:
    value = column(table, name)
    kind = value.type()
    moment = kind.is_timestamp() and kind.scale in (None, 6)
    plain = kind.is_integer() or kind.is_string() or kind.is_boolean() or kind.is_date() or kind.is_floating()
    if not (plain or moment):
        raise QuestionError(
            f"column {name!r} is of type {kind}, which cannot be kept: whole and floating-point numbers, text, "
            "true/false, dates and timestamps in microseconds can"
        )
    return value


def _number_pairs(engine: Engine, counting: Counting, number: int) -> PairColumn:
    """Number the users and the items of the pairs of one item, and every row's pair of them, in tables that last."""
    import ibis

    table, pairs = counting.table, counting.pairs
    users = _create_table(engine, f"users_{number}", pairs.select(USER).distinct().mutate(**{CODE: ibis.row_number()}))
    listing = _create_table(engine, f"items_{number}", number_items(counting, pairs))
    ((many,),) = engine.con.execute(engine.compile(listing.count().as_table())).fetchall()
    bits, (label,) = int(many).bit_length(), counting.items.names
    user_of, item_of = counting.user.value, counting.items.columns[label]
    joined = table.left_join(users, user_of == users[USER]).left_join(listing, item_of == listing[label])
    column = f"pair {number}"  # the columns of the table keep their names, and none is called so twice
    while column in table.columns:
        column += "'"
    pair = joined[CODE] * (1 << bits) + joined[NUMBER]
    _create_table(engine, f"rows_{number}", joined.select(*(joined[name] for name in table.columns), **{column: pair}))
    return PairColumn(counting.question.user, column, bits, listing, users)


def _create_table(engine: Engine, name: str, expression: Expression) -> Expression:
    """A table that lasts as long as the copy."""
    engine.con.execute(f"CREATE TABLE {name} AS {engine.compile(expression)}")
    return engine.table(name)
