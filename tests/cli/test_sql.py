"""`crestline sql`: a query as people type it, and its refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from crestline.cli.main import EXIT_WRONG, run

pytestmark = pytest.mark.long

TEXT = "SELECT sku, COUNT(DISTINCT who) AS n FROM t WHERE land = $1 GROUP BY sku ORDER BY n DESC LIMIT 2"


@pytest.fixture
def sales(tmp_path: Path) -> str:
    rows = [(user, sku, "DE") for user in range(3000) for sku in ("a", "b") if sku == "a" or user % 2]
    pd.DataFrame(rows, columns=["who", "sku", "land"]).to_parquet(tmp_path / "sales.parquet")
    return str(tmp_path / "sales.parquet")


def test_a_query_is_answered_with_its_columns(sales: str, capfd: pytest.CaptureFixture[str]) -> None:
    call = ["sql", TEXT, sales, "--user", "who", "--parameter", "DE", "--epsilon", "1", "--delta", "1e-6"]
    assert run(call) == 0
    printed = capfd.readouterr()
    rows = json.loads(printed.out)
    assert [row["sku"] for row in rows] == ["a", "b"]
    assert abs(rows[0]["n"] - 3000) < 500
    assert "note" not in printed.err


@pytest.mark.parametrize(
    ("text", "more", "words"),
    [
        ("SELECT * FROM t", (), "rows are not shown"),
        (TEXT, (), "parameter 1 has no value"),
        (TEXT, ("--parameter", "DE", "--clip", "3"), "clip goes with score"),
        ("SELECT skoo, COUNT(*) FROM t GROUP BY 1", (), "no column 'skoo'"),
    ],
)
def test_a_refusal_is_one_line_that_says_what_to_write(
    sales: str, capfd: pytest.CaptureFixture[str], text: str, more: tuple[str, ...], words: str
) -> None:
    assert run(["sql", text, sales, "--user", "who", "--epsilon", "1", "--delta", "1e-6", *more]) == EXIT_WRONG
    printed = capfd.readouterr()
    assert words in printed.err
    assert printed.out == ""
