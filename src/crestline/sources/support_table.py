"""What can be asked, what each engine supports, and how that was tested. `crestline sources` prints it."""

from __future__ import annotations

from dataclasses import dataclass

from crestline.sources.engine.dialects.engine_record import Run, recorded_runs


@dataclass(frozen=True)
class SourceKind:
    """One kind of source.

    name       what it is
    address    what to write
    supports   `all` is: several item columns, contribution, where, score, domain, and ties in byte order
    limits     how the connection is held to reading, and for how long
    tested     what stands behind the row
    engine     the engine whose tests were counted, by the name of its record; None: it has none of its own
    """

    name: str
    address: str
    supports: str
    limits: str
    tested: str
    engine: str | None = None

    @property
    def recorded_run(self) -> Run | None:
        """What was run on the engine, as far as it was written down."""
        return None if self.engine is None else recorded_runs().get(self.engine)


SUPPORTED: tuple[SourceKind, ...] = (
    SourceKind(
        "Parquet", "t.parquet, 'logs/*.parquet', a folder, a list", "all", "reads only, time limit", "tests of files"
    ),
    SourceKind("CSV", "t.csv, t.tsv (also .gz)", "all; columns are text", "reads only, time limit", "tests of files"),
    SourceKind("JSON lines", "t.jsonl (also .gz)", "all; columns are text", "reads only, time limit", "tests of files"),
    SourceKind(
        "Parquet from afar",
        "s3://…, https://…",
        "all",
        "reads only, time limit",
        "a store that speaks S3, a web server",
    ),
    SourceKind(
        "Delta", "a folder, delta:s3://…, …@v12", "all", "reads only, time limit", "real tables, here and in S3"
    ),
    SourceKind(
        "Iceberg", "iceberg://catalogue", "all", "reads only, time limit", "real tables, SQL catalogue, here and in S3"
    ),
    SourceKind(
        "pandas, Polars, Arrow", "the table itself", "all", "in memory, time limit", "tests of each", "embedded"
    ),
    SourceKind(
        "DuckDB",
        "shop.duckdb, a connection, a relation",
        "all",
        "reads only, time limit",
        "conformance suite",
        "duckdb",
    ),
    SourceKind(
        "PostgreSQL",
        "postgresql://host/shop",
        "all",
        "reads only, time limit",
        "conformance suite, real server",
        "postgres",
    ),
    SourceKind(
        "Spark",
        "spark://host:7077, spark://local",
        "all",
        "as the session, time limit",
        "conformance suite, cluster of two workers",
        "pyspark",
    ),
    SourceKind("Spark Connect", "sc://host", "all", "as the session, time limit", "a sample of that suite"),
    SourceKind(
        "MariaDB",
        "mariadb://host/shop",
        "all; keys up to 1000 bytes",
        "reads only, time limit",
        "conformance suite, real server",
        "mariadb",
    ),
    SourceKind(
        "SQLite", "sqlite:///shop.sqlite", "all; no decimals", "reads only, time limit", "conformance suite", "sqlite"
    ),
    SourceKind(
        "ClickHouse",
        "clickhouse://host/shop",
        "all; bytes are text",
        "a role with readonly = 2, time limit",
        "conformance suite, its engine in one process (chDB), no server",
        "clickhouse",
    ),
    SourceKind(
        "DataFusion",
        "a table of Ibis, by ibis.datafusion",
        "all",
        "as the session, no time limit",
        "conformance suite",
        "datafusion",
    ),
    SourceKind("Ibis table", "the table itself", "as its engine", "as its connection", "as its engine"),
    SourceKind(
        "warehouses",
        "Trino, BigQuery, Snowflake, Databricks: what ibis.connect takes",
        "text by bytes, by their documentation",
        "none of ours: give a role",
        "compiled, never run",
    ),
    SourceKind(
        "other engines", "what ibis.connect takes", "no text as user or item", "none of ours: give a role", "not tested"
    ),
    SourceKind("ready histogram", "Histogram.from_counts(…)", "it is counted already", "no connection", "unit tests"),
)
