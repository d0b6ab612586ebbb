"""The engines the conformance suite runs on: each can hold tables and open one of them as a source."""

from __future__ import annotations

import itertools
import math
import sqlite3
import uuid
from contextlib import closing
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import duckdb
import ibis
import pyarrow as pa
import pyarrow.parquet as pq

from crestline.sources import open_source
from crestline.sources.databases import find_domain
from crestline.sources.engine.connection import Connection
from crestline.sources.source import SlotSource
from crestline.sources.table import TableSource

_NUMBERS = itertools.count()
_POSTGRES_TYPES = {
    "string": "text", "int64": "bigint", "double": "double precision", "bool": "boolean", "date32[day]": "date",
    "timestamp[us]": "timestamp", "timestamp[us, tz=UTC]": "timestamptz", "decimal128(20, 6)": "numeric",
    "binary": "bytea", "int16": "smallint", "int32": "integer", "float": "real",
    "decimal128(4, 2)": "numeric(4, 2)", "decimal128(38, 0)": "numeric(38, 0)", "decimal128(38, 7)": "numeric(38, 7)",
    "decimal128(38, 38)": "numeric(38, 38)",
}  # fmt: skip


class Engine(Protocol):
    name: str

    def source(self, events: pa.Table, **others: pa.Table) -> SlotSource:
        """A new database with a table `events` and others beside it; `events` as a source."""
        ...


def _not_null(field: pa.Field) -> str:
    return "" if field.nullable else " not null"


class DuckDB:
    name = "duckdb"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writer = duckdb.connect()  # one for all files: to start it takes longer than to write one

    def source(self, events: pa.Table, **others: pa.Table) -> SlotSource:
        path = self._folder / f"{next(_NUMBERS)}.duckdb"
        self._writer.execute(f"attach '{path}' as made")
        for name, table in {"events": events, **others}.items():
            self._writer.register("arrow", table)
            self._writer.execute(f"create table made.{name} as select * from arrow")
            for field in table.schema:
                if not field.nullable:
                    self._writer.execute(f"alter table made.{name} alter {_quoted(field.name)} set not null")
        self._writer.execute("detach made")
        return open_source(f"duckdb:///{path}", table="events")


class Embedded:
    """The DuckDB that crestline starts itself to read files; tables beside the first are found by their bare names."""

    name = "duckdb"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def source(self, events: pa.Table, **others: pa.Table) -> SlotSource:
        folder = self._folder / str(next(_NUMBERS))
        folder.mkdir()
        for name, table in {"events": events, **others}.items():
            pq.write_table(table, folder / f"{name}.parquet")
        engine = ibis.duckdb.connect()
        tables = {file.stem: engine.read_parquet(file, table_name=file.stem) for file in folder.iterdir()}
        return TableSource(
            tables["events"],
            Connection(engine, 600),
            name="events",
            embedded=True,
            lookup=lambda other: find_domain(engine, other),
        )


class Postgres:
    name = "postgres"

    def __init__(self, url: str) -> None:
        self.url = url

    def source(self, events: pa.Table, **others: pa.Table) -> SlotSource:
        import psycopg
        from psycopg import sql

        schema = f"s{next(_NUMBERS)}"
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"create schema {schema}")
            for name, table in {"events": events, **others}.items():
                place = sql.Identifier(schema, name)
                columns = [
                    sql.SQL("{} {}").format(
                        sql.Identifier(field.name), sql.SQL(_POSTGRES_TYPES[str(field.type)] + _not_null(field))
                    )
                    for field in table.schema
                ]
                connection.execute(sql.SQL("create table {} ({})").format(place, sql.SQL(", ").join(columns)))
                with connection.cursor().copy(sql.SQL("copy {} from stdin").format(place)) as copy:
                    for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
                        copy.write_row(row)
        return open_source(f"{self.url}/{schema}", table="events")


_MARIADB_TYPES = {
    "string": "longtext", "int64": "bigint", "double": "double", "bool": "boolean", "date32[day]": "date",
    "timestamp[us]": "datetime(6)", "timestamp[us, tz=UTC]": "timestamp(6) null", "binary": "longblob",
    "int16": "smallint", "int32": "int", "float": "float",
}  # fmt: skip


class MariaDB:
    name = "mariadb"

    def __init__(self, url: str) -> None:
        self.url = url

    def source(self, events: pa.Table, **others: pa.Table) -> SlotSource:
        schema = f"s{uuid.uuid4().hex[:12]}"
        with closing(mariadb_connection(self.url)) as connection, closing(connection.cursor()) as cursor:
            cursor.execute(f"create database {schema} character set utf8mb4 collate utf8mb4_general_ci")
            cursor.execute(f"use {schema}")
            for name, table in {"events": events, **others}.items():
                columns = ", ".join(
                    f"`{field.name.replace('`', '``')}` {_mariadb_type(field.type)}{_not_null(field)}"
                    for field in table.schema
                )
                cursor.execute(f"create table {name} ({columns})")
                rows = zip(*(map(_nan_as_null, column.to_pylist()) for column in table.columns), strict=True)
                places = ", ".join(["%s"] * table.num_columns)
                cursor.executemany(f"insert into {name} values ({places})", list(rows))
            connection.commit()
        return open_source(f"{self.url.rpartition('/')[0]}/{schema}", table="events")


def mariadb_connection(url: str) -> Any:
    import MySQLdb

    parts = urlsplit(url)
    database = parts.path.removeprefix("/")
    connection = MySQLdb.connect(
        host=parts.hostname, port=parts.port, user=parts.username, db=database, charset="utf8mb4"
    )
    with closing(connection.cursor()) as cursor:
        cursor.execute("set time_zone = '+00:00'")
    return connection


def _mariadb_type(kind: pa.DataType) -> str:
    return _MARIADB_TYPES.get(str(kind)) or str(kind).replace("decimal128", "decimal")


def _nan_as_null(value: Any) -> Any:
    """There is no nan in MariaDB."""
    return None if isinstance(value, float) and math.isnan(value) else value


_SQLITE_TYPES = {
    "string": "text collate nocase", "int64": "integer", "double": "real", "bool": "boolean", "date32[day]": "date",
    "timestamp[us]": "timestamp", "timestamp[us, tz=UTC]": "timestamptz", "binary": "blob", "int16": "smallint",
    "int32": "int", "float": "float",
}  # fmt: skip


class SQLite:
    name = "sqlite"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def source(self, events: pa.Table, **others: pa.Table) -> SlotSource:
        path = self._folder / f"{next(_NUMBERS)}.sqlite"
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("begin")
            for name, table in {"events": events, **others}.items():
                columns = ", ".join(
                    f"{_quoted(field.name)} {_sqlite_type(field.type)}{_not_null(field)}" for field in table.schema
                )
                connection.execute(f"create table {name} ({columns})")
                places = ", ".join("?" * table.num_columns)
                rows = zip(*(map(_stored, column.to_pylist()) for column in table.columns), strict=True)
                connection.executemany(f"insert into {name} values ({places})", rows)
            connection.execute("commit")
        return open_source(f"sqlite:///{path}", table="events")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _sqlite_type(kind: pa.DataType) -> str:
    return _SQLITE_TYPES.get(str(kind), "numeric")


def _stored(value: Any) -> Any:
    """As people put values into SQLite: decimals as numbers, times as text."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, datetime):
        return value.isoformat(" ")
    return value.isoformat() if hasattr(value, "isoformat") else value


class Spark:
    name = "pyspark"

    def __init__(self, session: Any, url: str) -> None:
        self.session = session
        self.url = url

    def source(self, events: pa.Table, **others: pa.Table) -> SlotSource:
        view = f"events_{next(_NUMBERS)}"
        for name, table in {view: events, **others}.items():
            self.session.createDataFrame(table).createOrReplaceTempView(name)
        return open_source(self.url, table=view)


_CLICKHOUSE_TYPES = {
    "string": "String", "int64": "Int64", "double": "Float64", "bool": "Bool", "date32[day]": "Date32",
    "timestamp[us]": "DateTime64(6)", "timestamp[us, tz=UTC]": "DateTime64(6, 'UTC')", "binary": "String",
    "int16": "Int16", "int32": "Int32", "float": "Float32",
}  # fmt: skip


class ClickHouse:
    """The engine of ClickHouse in this process (chDB), through the client that servers have as well."""

    name = "clickhouse"

    def __init__(self) -> None:
        import clickhouse_connect

        self._first = clickhouse_connect.get_client(interface="chdb")  # with the last client the tables go

    def source(self, events: pa.Table, **others: pa.Table) -> SlotSource:
        import clickhouse_connect

        schema = f"s{next(_NUMBERS)}"
        self._first.command(f"create database {schema}")
        client = clickhouse_connect.get_client(interface="chdb", database=schema)
        for name, table in {"events": events, **others}.items():
            columns = ", ".join(
                f"{_backquoted(field.name)} {_clickhouse_type(field.type, field.nullable)}" for field in table.schema
            )
            client.command(f"create table {name} ({columns}) engine = Memory")
            if table.num_rows:
                client.insert_arrow(name, table)
        engine = ibis.clickhouse.from_connection(client)
        return open_source(engine.table("events"))


def _backquoted(name: str) -> str:
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"


def _clickhouse_type(kind: pa.DataType, nullable: bool) -> str:
    found = _CLICKHOUSE_TYPES.get(str(kind)) or str(kind).replace("decimal128", "Decimal")
    return f"Nullable({found})" if nullable else found


class DataFusion:
    """A session of its own for every database; sources are tables of Ibis, because there are no addresses."""

    name = "datafusion"

    def source(self, events: pa.Table, **others: pa.Table) -> SlotSource:
        engine = ibis.datafusion.connect()
        for name, table in {"events": events, **others}.items():
            batches = table.to_batches() or [pa.RecordBatch.from_pylist([], schema=table.schema)]
            engine.con.register_record_batches(name, [batches])
        return open_source(engine.table("events"))
