"""SQLite."""

from __future__ import annotations

from crestline.sources.engine.connection import Engine
from crestline.sources.engine.dialects.dialect import Dialect, Rows
from crestline.sources.engine.dialects.duckdb import interrupting
from crestline.sources.engine.dialects.functions import Expression


def _fetched(engine: Engine, expression: Expression) -> Rows:
    engine._run_pre_execute_hooks(expression)
    rows: Rows = engine.con.execute(engine.compile(expression)).fetchall()
    return rows


SQLITE = Dialect("sqlite", fetched=_fetched, pinged=None, interrupting=interrupting)
