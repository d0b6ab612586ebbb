"""What an error means, by its class and its SQLSTATE; the engines' own tests cause most of them for real."""

from __future__ import annotations

from pathlib import Path

import duckdb
import ibis
import psycopg
import pytest

from crestline.errors import EngineDefect, SourceError
from crestline.sources import open_source
from crestline.sources.engine.error_translation import translate_failure
from tests.sources.conformance import question

LATE, LOST, CHANGED, DEFECT = "gave the statement up", "did not answer", "have changed", "internal error"


@pytest.mark.parametrize(
    ("failure", "says"),
    [
        (duckdb.InterruptException("secret"), LATE),
        (duckdb.IOException("secret"), LOST),
        (duckdb.OutOfMemoryException("secret"), LOST),
        (duckdb.CatalogException("secret"), CHANGED),
        (duckdb.ConversionException("secret"), DEFECT),
        (duckdb.OutOfRangeException("secret"), DEFECT),
        (duckdb.InvalidInputException("secret"), DEFECT),
        (psycopg.errors.QueryCanceled("secret"), LATE),
        (psycopg.OperationalError("secret"), LOST),
        (psycopg.errors.AdminShutdown("secret"), LOST),
        (psycopg.errors.DiskFull("secret"), LOST),
        (psycopg.errors.InsufficientPrivilege("secret"), CHANGED),
        (psycopg.errors.UndefinedColumn("secret"), CHANGED),
        (psycopg.errors.NumericValueOutOfRange("secret"), DEFECT),
        (psycopg.errors.UndefinedFunction("secret"), DEFECT),
        (psycopg.DataError("secret"), DEFECT),
        (OverflowError("secret"), DEFECT),
        (UnicodeDecodeError("utf-8", b"secret", 0, 1, "secret"), DEFECT),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_an_error_means(failure: Exception, says: str) -> None:
    error = translate_failure(failure, late=False, timeout=2)
    assert says in str(error)
    assert "secret" not in str(error)
    assert isinstance(error, EngineDefect) == (says == DEFECT)
    assert LATE in str(translate_failure(failure, late=True, timeout=2))


def test_a_file_that_is_gone_behind_a_view_is_no_defect(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    duckdb.sql("select 1 as user, 1 as item").write_parquet(str(path))
    engine = ibis.duckdb.connect()
    engine.con.execute(f"create view t as from '{path}'")
    source = open_source(engine.table("t"))
    path.unlink()
    with pytest.raises(SourceError, match=LOST) as failure, source.reading(question(1)):
        raise AssertionError("nothing can be read")
    assert not isinstance(failure.value, EngineDefect)


def test_a_defect_is_said_and_named_by_its_class(tmp_path: Path) -> None:
    path = tmp_path / "t.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(
            "create view t as select 1 as user, cast(what as int) as item from (values ('secret')) v(what)"
        )
    source = open_source(f"duckdb:///{path}", table="t")
    with pytest.raises(EngineDefect) as failure, source.reading(question(1)):
        raise AssertionError("nothing can be read")
    assert failure.value.kind == "ConversionException"
    assert "secret" not in str(failure.value)
    assert failure.value.__context__ is None
