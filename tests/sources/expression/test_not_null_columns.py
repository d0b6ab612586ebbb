"""Functions of columns that are declared NOT NULL, on every engine: a declaration must not decide what can be asked."""

from __future__ import annotations

import ibis
import pytest

from crestline.sources.engine.engine_functions import RECORDS
from crestline.sources.expression.column_functions import TIMES, column_expression
from crestline.sources.expression.column_keys import column_key

ENGINES = sorted(RECORDS)
CALLS = {
    "date": [f"{function}(v)" for function in TIMES if function != "hour"],
    "timestamp(6)": [f"{function}(v)" for function in TIMES],
    "timestamp('UTC', 6)": [f"{function}(v)" for function in TIMES],
    "int64": ["bucket(v, 10)"],
    "float64": ["bucket(v, 10)"],
    "decimal(20, 6)": ["bucket(v, 10)"],
    "string": ["lower(v)", "trim(v)", "prefix(v, 2)"],
}


@pytest.mark.parametrize("kind", CALLS)
@pytest.mark.parametrize("engine", ENGINES)
def test_functions_take_columns_that_are_declared_not_null(engine: str, kind: str) -> None:
    declared = ibis.dtype(kind).copy(nullable=False)
    for call in CALLS[kind]:
        free, strict = (
            column_expression(ibis.table({"v": one}, name="t"), call, engine).type()
            for one in (ibis.dtype(kind), declared)
        )
        assert strict.copy(nullable=True) == free.copy(nullable=True)


@pytest.mark.parametrize("kind", [*CALLS, "boolean", "binary", "uuid"])
@pytest.mark.parametrize("engine", ENGINES)
def test_keys_are_made_of_columns_that_are_declared_not_null(engine: str, kind: str) -> None:
    table = ibis.table({"v": ibis.dtype(kind).copy(nullable=False)}, name="t")
    assert column_key(table["v"], "v", engine).usable
