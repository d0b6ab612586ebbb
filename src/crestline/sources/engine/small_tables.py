"""Small tables of whole numbers that a statement carries along: weights, kept buckets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from crestline.sources.engine.engines import Expression

if TYPE_CHECKING:
    import pyarrow


def small_table(columns: Mapping[str, Sequence[int]], engine: str) -> Expression:
    """Columns of whole numbers of equal length as a table of the engine, without writing to it."""
    import pyarrow

    return lifted(
        pyarrow.table({name: pyarrow.array(list(values), "int64") for name, values in columns.items()}), engine
    )


def lifted(table: pyarrow.Table, engine: str) -> Expression:
    """An Arrow table without nulls as an expression of the engine, without writing to the engine."""
    import ibis

    if engine != "postgres":
        return ibis.memtable(table)
    # PostgreSQL would need a temporary table, which a read-only connection may not make.
    kinds = ibis.memtable(table).schema()
    one_row = ibis.literal(0).name("one").as_table()
    if not table.num_rows:  # an empty array has no type there
        return one_row.select(**{name: ibis.null(kind) for name, kind in kinds.items()}).limit(0)
    arrays = {name: ibis.literal(table[name].to_pylist(), type=f"array<{kind}>") for name, kind in kinds.items()}
    return one_row.select(**{name: array.unnest() for name, array in arrays.items()})
