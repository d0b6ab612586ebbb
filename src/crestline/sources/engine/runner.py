"""Running expressions: one at a time, for a limited time, and with errors that carry nothing from the rows."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from crestline.deadline import end_within, seconds_left
from crestline.errors import CrestlineError, NotSent, QuestionError, SourceError, SourceUnavailable
from crestline.sources.engine.bind_parameters import NOTHING, Values
from crestline.sources.engine.connection import Engine
from crestline.sources.engine.dialects.dialect import ArrayTransfer
from crestline.sources.engine.engine_functions import Expression, dialect, name_of
from crestline.sources.engine.error_translation import translate_failure
from crestline.sources.engine.fetch import drop_temporary, fetch_rows, ping_engine, store_temporarily
from crestline.sources.engine.sent_flag import mark_sent, nothing_was_sent
from crestline.sources.engine.statements import Statements
from crestline.sources.engine.time_limits import limit_statement

if TYPE_CHECKING:
    import pyarrow

__all__ = ["Runner", "fetch_rows", "replace_errors"]

Result = TypeVar("Result")

_PING_SECONDS = 5.0  # a database that takes longer to say that it is there is not asked


class Runner:
    """Runs expressions on one connection, and gives a statement up after `timeout` seconds. `table` is what they read:
    not all tables of a server may have snapshots."""

    def __init__(self, engine: Engine, timeout: float, table: Expression = None) -> None:
        self._engine = engine
        self._dialect = dialect(name_of(engine))
        binding = self._dialect.prepared_statements
        self._known = Statements(engine, numbered=binding is not None and binding.numbered_parameters)
        self._timeout = timeout
        self._snapshots = table is None or self._dialect.keeps_snapshots(table)
        self._lock = threading.RLock()
        self._held = False  # whether a snapshot of ours is under way
        self._idle = self._snapshots and self._dialect.has_snapshots(engine)

    @property
    def name(self) -> str:
        """The name of the engine's record."""
        return self._dialect.name

    def ping(self) -> None:
        """Make sure that the engine answers. Called before a question is charged."""
        if self._dialect.ping is not None and not self._engine_answers():
            raise SourceUnavailable("the database does not answer")

    def _engine_answers(self) -> bool:
        try:
            with end_within(_PING_SECONDS):
                self._run(lambda: ping_engine(self._engine))
        except SourceError:  # its kind does not matter: nothing was asked yet
            return False
        return True

    def rows(self, expression: Expression) -> list[tuple[Any, ...]]:
        """The rows of an expression, as tuples of Python values."""
        return self._run(lambda: fetch_rows(self._engine, expression))

    @contextmanager
    def row_batches(self, expression: Expression, size: int) -> Iterator[Iterator[list[tuple[Any, ...]]]]:
        """The same rows, so many at a time where the engine keeps the rest, else all at once. Within a snapshot, which
        outlasts the context."""
        batched = self._dialect.fetch_batches
        if batched is None or not self._held:
            yield iter([self.rows(expression)])
            return
        parts = batched(self._engine, expression, size)
        try:
            yield iter(lambda: self._run(lambda: next(parts, None)) or [], [])
        finally:
            with suppress(CrestlineError):  # nothing was written: how it ends does not matter
                self._translate_errors(parts.close)

    def run_prepared(self, expression: Expression, values: Values) -> list[tuple[Any, ...]]:
        """The same with values in the places of the expression (where `has_bind_parameters`). The statement is kept, to
        be run
        again with others."""
        binding = self._dialect.prepared_statements
        assert binding is not None, "asked only where values are bound"
        return self._run(
            lambda: binding.rows(self._engine, expression, self._known.statement_of(expression, values), values)
        )

    @property
    def has_bind_parameters(self) -> bool:
        """Whether an expression may have places for values."""
        return self._dialect.prepared_statements is not None

    @property
    def has_arrays(self) -> bool:
        """Whether tables with names and arrays of numbers can be had."""
        return self._dialect.array_transfer is not None

    @property
    def has_batches(self) -> bool:
        """Whether rows can be read as Arrow batches, because the engine is in this process."""
        return self._dialect.record_batches is not None

    def read_arrow(self, expression: Expression, limit: int | None, values: Values = NOTHING) -> pyarrow.Table | None:
        """The rows of an expression, read by one statement (where `has_batches`); None once they take more bytes than a
        limit."""
        send = self._dialect.record_batches
        assert send is not None, "asked only where batches can be read"

        def read() -> pyarrow.Table | None:
            import pyarrow

            statement = self._known.statement_of(expression, values) if self.has_bind_parameters else None
            batches, size = list[pyarrow.RecordBatch](), 0
            with send(self._engine, expression, statement, values) as reader:
                for batch in reader:
                    size += batch.nbytes
                    if limit is not None and size > limit:
                        return None
                    batches.append(batch)
                return pyarrow.Table.from_batches(batches, reader.schema)

        return self._run(read)

    def store_rows(self, name: str, expression: Expression, values: Values = NOTHING) -> int:
        """Store the rows of an expression under a name until it is dropped, and say how many they are (where
        `has_arrays`)."""
        return self._run(
            lambda: self._array_transfer.store_rows(
                self._engine, name, self._known.statement_of(expression, values), values
            )
        )

    def stored_table(self, name: str, expression: Expression) -> Expression:
        """The table in which `store_rows` keeps the rows of an expression."""
        return self._array_transfer.table(self._engine, name, expression)

    def drop_tables(self, *names: str) -> None:
        """Drop what was stored; the connection may be gone, and the tables with it."""
        with suppress(CrestlineError):
            self._run(lambda: self._array_transfer.drop_tables(self._engine, names))

    def fetch_arrow(self, expression: Expression, limit: int) -> pyarrow.Table | None:
        """The rows of an expression as an Arrow table; None where they take more than `limit` bytes. A row takes at
        least a byte for each column, so that one that is far too large is not read."""
        ((many,),) = self.rows(expression.aggregate(many=expression.count()))
        if many * len(expression.columns) > limit:
            return None
        table: pyarrow.Table = self._run(lambda: self._engine.to_pyarrow(expression))
        return table if table.nbytes <= limit else None

    @property
    def _array_transfer(self) -> ArrayTransfer:
        assert self._dialect.array_transfer is not None, "asked only where there are arrays"
        return self._dialect.array_transfer

    @contextmanager
    def temporary_table(self, expression: Expression) -> Iterator[Expression]:
        """The rows of an expression, read in one statement and stored to be asked again (where `has_tables`)."""
        made = self._run(lambda: store_temporarily(self._engine, expression))
        try:
            yield made
        finally:
            with suppress(CrestlineError):  # the connection may be gone, and the table with it
                self._run(lambda: drop_temporary(self._engine, made))

    @property
    def has_tables(self) -> bool:
        """Whether `temporary_table` can be used."""
        return self._dialect.temp_tables is not None

    @property
    def stores_public_lists(self) -> bool:
        """Whether `temporary_table` is the way to keep what was counted over a public list."""
        return self._dialect.temp_tables is not None and self._dialect.temp_tables.for_public_lists

    @property
    def has_snapshots(self) -> bool:
        """Whether `snapshot` can be used: on servers that have them, unless somebody else's transaction is under way.

        While a statement of ours runs in another thread, in a transaction of ours, it is what it was before.
        """
        if self._held or not self._snapshots:
            return self._held
        if self._lock.acquire(blocking=False):
            try:
                self._idle = self._translate_errors(lambda: self._dialect.has_snapshots(self._engine))
            finally:
                self._lock.release()
        return self._idle

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let all statements in the context see the tables as they are at the first one. Inside another snapshot it is
        that one."""
        with self._lock:
            if self._held:
                yield
                return
            transaction = self._dialect.read_transaction(self._engine, seconds_left(self._timeout))
            self._translate_errors(transaction.__enter__)
            self._held = True
            try:
                yield
            finally:
                self._held = False
                with suppress(CrestlineError):  # nothing was written: how it ends does not matter
                    self._translate_errors(lambda: transaction.__exit__(None, None, None))

    def _run(self, action: Callable[[], Result]) -> Result:
        late = threading.Event()

        def run_locked() -> Result:
            with self._lock, self._limit_statement(late):
                mark_sent()
                return action()

        return self._translate_errors(run_locked, late)

    def _translate_errors(self, action: Callable[[], Result], late: threading.Event | None = None) -> Result:
        """Whatever the engine raises becomes an error without its words, which may quote rows or keys. It is raised
        outside the handler, so that not even its context leads back to the engine's."""
        try:
            return action()
        except Exception as failure:
            error = translate_failure(failure, late=late is not None and late.is_set(), timeout=self._timeout)
        raise NotSent(str(error)) if nothing_was_sent() else error

    @contextmanager
    def _limit_statement(self, late: threading.Event) -> Iterator[None]:
        engine, timeout, record = self._engine, seconds_left(self._timeout), self._dialect
        with (
            record.read_transaction(engine, timeout),
            record.around_statement(engine),
            limit_statement(engine, timeout, late),
            end_within(timeout),
        ):
            yield


def replace_errors(advice: str, action: Callable[[], Result], kind: type[CrestlineError] = QuestionError) -> Result:
    """Run; whatever an engine or a library raises, say `advice` in its place: its own words may quote rows."""
    try:
        return action()
    except CrestlineError:
        raise
    except Exception:  # noqa: S110 -- replaced below, outside the handler, so that the words are gone for good
        pass
    raise kind(advice)
