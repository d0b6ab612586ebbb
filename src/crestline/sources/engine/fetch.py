"""From an engine's rows to Python values, each engine by its shortest way: a conversion less is a failure less.

Nothing here may fail on a row. What is fetched was made harmless in the engine already (`columns.py`): text comes as
bytes, decimals as text, dates and times within Python's calendar. Data frames are avoided on the way, because theirs
is a narrower calendar.
"""

from __future__ import annotations

from crestline.sources.engine.connection import Engine
from crestline.sources.engine.dialects.dialect import Rows
from crestline.sources.engine.engine_functions import Expression, dialect, name_of

__all__ = ["Rows", "drop_temporary", "fetch_rows", "ping_engine", "store_temporarily"]


def fetch_rows(engine: Engine, expression: Expression) -> Rows:
    """The rows of an expression."""
    return dialect(name_of(engine)).fetch_rows(engine, expression)


def ping_engine(engine: Engine) -> None:
    """Ask an engine outside this process for nothing: fails where the connection is lost."""
    ping = dialect(name_of(engine)).ping
    if ping is not None:
        ping(engine)


def store_temporarily(engine: Engine, expression: Expression) -> Expression:
    """The rows of an expression, stored under a name of their own as they are, without a conversion that could fail."""
    keeping = dialect(name_of(engine)).temp_tables
    assert keeping is not None, "asked only where rows can be kept"
    return keeping.store_rows(engine, expression)


def drop_temporary(engine: Engine, table: Expression) -> None:
    """Drop what `store_temporarily` made."""
    keeping = dialect(name_of(engine)).temp_tables
    assert keeping is not None, "asked only where rows can be kept"
    keeping.drop_table(engine, table)
