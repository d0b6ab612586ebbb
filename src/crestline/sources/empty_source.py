"""A table without a single column, because nobody is in it: legal like every empty table.

Refusing it would tell that nobody is in it. So it is asked like a table that has the columns of the question, as text.
"""

from __future__ import annotations

from functools import lru_cache

from crestline.question import Question
from crestline.sources.engine.connection import Connection
from crestline.sources.engine.engine_functions import embedded_duckdb
from crestline.sources.table import TableSource
from crestline.sources.wrappers import PerQuestionSource, columns_of

_KEPT = 8


class EmptySource(PerQuestionSource):
    """Every column exists, and no row does."""

    def __init__(self, name: str, timeout: float) -> None:
        self.name = name
        self._of = lru_cache(_KEPT)(lambda columns: _empty_table(name, timeout, columns))

    def _table(self, question: Question) -> TableSource:
        return self._of(columns_of(question))


def _empty_table(name: str, timeout: float, columns: tuple[str, ...]) -> TableSource:
    import pyarrow

    engine, nothing = embedded_duckdb(), pyarrow.array([], pyarrow.string())
    engine.con.register("nothing", pyarrow.table(dict.fromkeys(columns, nothing)))
    table = engine.table("nothing")
    return TableSource(table, Connection(engine, timeout, engine.disconnect), name=name, untyped=True)
