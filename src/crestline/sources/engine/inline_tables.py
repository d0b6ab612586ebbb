"""Small tables of whole numbers that a statement carries along: weights, kept buckets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from crestline.sources.engine.engine_functions import Expression, dialect

if TYPE_CHECKING:
    import pyarrow


def inline_int_table(columns: Mapping[str, Sequence[int]], engine: str) -> Expression:
    """Columns of whole numbers of equal length as a table of the engine, without writing to it."""
    import pyarrow

    return inline_table(
        pyarrow.table({name: pyarrow.array(list(values), "int64") for name, values in columns.items()}), engine
    )


def inline_table(table: pyarrow.Table, engine: str) -> Expression:
    """An Arrow table without nulls as an expression of the engine, without writing to the engine."""
    return dialect(engine).inline_table(table)
