"""A table without a single column, because nobody is in it: legal like every empty table.

Refusing it would tell that nobody is in it. So it is asked like a table that has the columns of the question, as text.
"""

from __future__ import annotations

from functools import lru_cache

from crestline.question import Question
from crestline.sources.delegated import Delegated, columns_of
from crestline.sources.engine.connection import Connection
from crestline.sources.engine.engines import embedded
from crestline.sources.table import TableSource

_KEPT = 8


class EmptySource(Delegated):
    """Every column exists, and no row does."""

    def __init__(self, name: str, timeout: float) -> None:
        self.name = name
        self._of = lru_cache(_KEPT)(lambda columns: _nothing(name, timeout, columns))

    def _table(self, question: Question) -> TableSource:
        return self._of(columns_of(question))


def _nothing(name: str, timeout: float, columns: tuple[str, ...]) -> TableSource:
    import pyarrow

    engine, nothing = embedded(), pyarrow.array([], pyarrow.string())
    engine.con.register("nothing", pyarrow.table(dict.fromkeys(columns, nothing)))
    table = engine.table("nothing")
    return TableSource(table, Connection(engine, timeout, engine.disconnect), name=name, untyped=True)
