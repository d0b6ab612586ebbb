"""The same rows in PostgreSQL and in Spark: plain SQL, `top_k`, and `top_k` with a contribution bound."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.measuring import Work
from benchmarks.zipf import CONTRIBUTION, plain_sql, private

MEMORY = "512MB"  # for one sort or hash, so that PostgreSQL need not spill to the disk


@contextmanager
def postgres(path: Path, folder: Path) -> Iterator[dict[str, Work]]:
    """A server of our own with the rows in one table."""
    import duckdb
    import psycopg
    from tests.servers import running_postgres

    rows = folder / "rows.csv"
    duckdb.sql(f"copy (from '{path}') to '{rows}' (format csv, header false)")
    with running_postgres() as address, psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"alter system set work_mem = '{MEMORY}'")
        connection.execute("select pg_reload_conf()")
        connection.execute('create unlogged table checkins ("user" bigint, item text)')
        with rows.open("rb") as source, connection.cursor().copy("copy checkins from stdin (format csv)") as target:
            while block := source.read(1 << 22):
                target.write(block)
        rows.unlink()
        connection.execute("vacuum analyze checkins")

        def plain() -> object:
            with psycopg.connect(address) as fresh:
                return fresh.execute(plain_sql("checkins")).fetchall()

        yield _works(plain, lambda **options: private(address, table="checkins", **options))


@contextmanager
def spark(path: Path, folder: Path) -> Iterator[dict[str, Work]]:
    """Spark in local mode, reading the Parquet file."""
    import ibis
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        session.sparkContext.setLogLevel("ERROR")
        session.read.parquet(str(path)).createOrReplaceTempView("checkins")
        table = ibis.pyspark.connect(session).table("checkins")
        yield _works(
            lambda: session.sql(plain_sql("checkins", "`")).collect(), lambda **options: private(table, **options)
        )
    finally:
        session.stop()


def _works(plain: Work, ours: Callable[..., object]) -> dict[str, Work]:
    return {
        "plain SQL": plain,
        "`top_k`": ours,
        f"`top_k`, contribution={CONTRIBUTION}": lambda: ours(contribution=CONTRIBUTION),
    }
