"""`crestline sources`, as it is typed."""

from __future__ import annotations

import json
import re

import pytest

from crestline.cli.main import run
from crestline.sources.support_table import SUPPORTED


def test_every_engine_says_what_stands_behind_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sources", "--format", "json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    for engine in ("DuckDB", "PostgreSQL", "Spark"):
        assert "conformance suite" in rows[engine]["tested"]
    assert rows["other engines"]["tested"] == "not tested"


def test_every_engine_says_what_was_run_and_what_it_cannot(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sources", "--format", "json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    for engine in ("DuckDB", "PostgreSQL", "SQLite"):
        assert "tests passed" in rows[engine]["run"]
    assert rows["SQLite"]["gaps"] == "decimals are read as doubles"
    assert rows["other engines"]["run"] == ""


def test_a_table_for_people_in_80_columns_breaks_no_word(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["sources", "--format", "table"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    shown = set(re.findall(r"[^\s│]+", out))
    for line in SUPPORTED:
        said = [line.name, line.address, line.supports, line.limits, line.tested]
        assert set(" ".join(said).split()) <= shown
        if line.recorded_run is not None:
            assert set(str(line.recorded_run).split()) <= shown
            assert set("; ".join(line.recorded_run.gaps).split()) <= shown
