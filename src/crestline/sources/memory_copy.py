"""A copy of a table's columns in this process, so that a question need not scan the table again.

Made once, for one stated version of the data, when a service starts. Questions without a public list are asked of the
copy, by the same expressions as of the table. Users and items are numbered when the copy is made, so that the rows of a
question are whole numbers that are fetched, sorted and counted here. Whether the copy fits into its limit is decided
then and told to the owner alone; nothing but the time that a question takes depends on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from crestline.errors import QuestionError
from crestline.histogram.relation import Counts
from crestline.histogram.view_kinds import SLOTS, View
from crestline.question import Question
from crestline.sources.engine.connection import Connection
from crestline.sources.engine.dialects.duckdb import DUCKDB
from crestline.sources.engine.engine_functions import EMBEDDED, Expression, embedded_duckdb
from crestline.sources.expression.column_keys import column, column_key
from crestline.sources.pairs.fetched import Column, NumberedColumn, number_column
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
    import pyarrow

    columns = columns_of(named)
    expression = table.table.select(*(_exact_column(table.table, name) for name in columns))
    arrow = table.fetch_arrow(expression, limit)
    if arrow is None:
        return None
    engine = embedded_duckdb()
    dialect = EMBEDDED if table.dialect == EMBEDDED else str(engine.name)
    engine.con.register("arrow", arrow)
    numbered = _number_columns(engine.table("arrow"), (named.user, *items), dialect)
    engine.con.unregister("arrow")
    found = dict[str, NumberedColumn]()
    for name, (numbers, values) in numbered.items():
        column = f"number of {name}"
        while column in arrow.column_names:  # columns keep their names, and none is called so twice
            column += "'"
        arrow = arrow.append_column(column, pyarrow.array(numbers))
        found[name] = NumberedColumn(column, values)
    engine.con.register("arrow", arrow)
    engine.con.execute("CREATE TABLE rows AS FROM arrow")
    engine.con.unregister("arrow")
    connection = Connection(engine, table.timeout, engine.disconnect)
    return TableSource(
        engine.table("rows"),
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


def _number_columns(table: Expression, names: Sequence[str], dialect: str) -> dict[str, tuple[Counts, Column]]:
    """Numbers of the values of these columns in every row, and the values by number. A row whose value stands for
    nothing has any number: no question reads it."""
    keys = {name: column_key(column(table, name), name, dialect) for name in dict.fromkeys(names)}
    columns = {f"value {name}": key.to_plain_values(key.value) for name, key in keys.items()}
    columns |= {f"text {name}": key.text(key.value) for name, key in keys.items() if key.to_texts is None}
    read = table.select(**columns).to_pyarrow()
    return {
        name: number_column(
            key, read[f"value {name}"], read[f"text {name}"] if f"text {name}" in columns else None, in_order=True
        )
        for name, key in keys.items()
    }
