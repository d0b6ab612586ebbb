"""The pair suite on single values: each that one user may add to a clean table, alone in its column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from crestline.audit.program.broken_rows import TYPED_VALUES
from crestline.audit.program.neighbouring_files import TABLE, arrow_column, write_table
from crestline.sources import open_source
from crestline.sources.source import SlotSource
from tests.sources.pairs import Pair, question, told_apart

pytestmark = pytest.mark.statistics

ASKED = (question(), question(item=("value",), contribution=2), question(where="not (value is null)"))
NO_TEXT = pa.array([b"\xff\xfe"], pa.binary()).view(pa.string())


def arrow(kind: str, values: list[Any]) -> pa.Table:
    """Two others without a value, and the one user, who may be missing."""
    users = ["u1", "u2", "mallory"][: 2 + len(values)]
    columns = {"user": users, "item": ["tea"] * len(users)}
    return pa.table({**columns, "value": arrow_column(kind, [None, None, *values])})


def told(with_user: SlotSource, without: SlotSource) -> list[str]:
    pair = Pair(with_user, without, ())
    return [one for one in (told_apart(pair, asked) for asked in ASKED) if one]


@pytest.mark.parametrize(("kind", "value"), [one[1:] for one in TYPED_VALUES], ids=[one[0] for one in TYPED_VALUES])
def test_a_value_changes_nothing_for_other_users(tmp_path: Path, kind: str, value: Any) -> None:
    tables = arrow(kind, [value]), arrow(kind, [])
    assert told(*map(open_source, tables)) == []
    paths = [tmp_path / f"{side}.duckdb" for side in ("with", "without")]
    for path, table in zip(paths, tables, strict=True):
        write_table(path, table)
    assert told(*(open_source(f"duckdb:///{path}", table=TABLE) for path in paths)) == []


class Unreadable:
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize("value", ["\ud83d", Unreadable(), b"\xff", "te\0a", 10**400, float("nan"), None])
def test_an_object_in_pandas_changes_nothing_for_other_users(value: Any) -> None:
    objects = pd.DataFrame(
        {"user": ["u1", "u2", "mallory"], "item": ["tea"] * 3, "value": pd.Series(["a", "b", value], dtype=object)}
    )
    assert told(open_source(objects), open_source(objects[:2])) == []


def test_text_that_is_none_in_arrow_changes_nothing_for_other_users() -> None:
    values = pa.chunked_array([pa.array(["a", "b"]), NO_TEXT])
    table = pa.table({"user": ["u1", "u2", "mallory"], "item": ["tea"] * 3, "value": values})
    assert told(open_source(table), open_source(table.slice(0, 2))) == []
