"""The tables of the pair suite on servers: columns of their own types, written as SQL, with the ends of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from crestline.audit.program.failing_filters import USER, Column


def postgres_columns() -> tuple[tuple[Column, str], ...]:
    """Columns with PostgreSQL's name of their types; values are literals of SQL."""
    high = "9" * 38
    numeric = ("'NaN'", "'Infinity'", "'-Infinity'", "1e1000", "1e-1000", f"{high}.5", "null")
    moments = ("'infinity'", "'-infinity'", "'294276-12-31 23:59:59'", "'4713-01-01 00:00:00 BC'", "'0001-01-01'")
    days = ("'infinity'", "'-infinity'", "'5874897-12-31'", "'4713-01-01 BC'", "null")
    floats = ("'NaN'", "'Infinity'", "'-Infinity'", "'-0'", "null")
    noon = ("'2026-01-31 12:00'", "'2026-02-01'", "'1970-01-01'")
    return (
        (Column("words", "string", ("'1'", "'b'", "''"), ("'5'", "'nan'", "'1e999'", "'é😀'", "null")), "text"),
        (Column("short", "string", ("'1'", "'b'", "''"), ("'5'", "'a  '", "null")), "varchar(10)"),
        (Column("padded", "string", ("'1'", "'b'", "''"), ("'5'", "'a  '", "null")), "char(5)"),
        (Column("int2", "int16", ("1", "2", "5"), ("32767", "-32768", "null")), "smallint"),
        (Column("int4", "int32", ("1", "2", "5"), ("2147483647", "-2147483648", "null")), "integer"),
        (
            Column("int8", "int64", ("1", "2", "5"), ("9223372036854775807", "-9223372036854775808", "null")),
            "bigint",
        ),
        (Column("number", "decimal", ("1", "2", "5"), numeric), "numeric"),
        (Column("wide", "decimal", ("1", "2", "5"), (high, f"-{high}", "'NaN'", "null")), "numeric(38, 0)"),
        (Column("money", "decimal", ("1", "2", "5"), ("9999999.99", "'NaN'", "null")), "numeric(9, 2)"),
        (Column("fraction", "decimal", ("0.1", "0.2", "0.5"), (f"0.{high}", "'NaN'", "null")), "numeric(38, 38)"),
        (Column("single", "float", ("1", "2", "5.5"), (*floats, "3.4e38", "1e-45")), "real"),
        (Column("double", "double", ("1", "2", "5.5"), (*floats, "1.7e308", "5e-324")), "double precision"),
        (Column("truth", "bool", ("true", "false", "true"), ("true", "false", "null")), "boolean"),
        (Column("day", "date32[day]", ("'2026-01-31'", "'2026-02-01'", "'1970-01-01'"), days), "date"),
        (Column("at", "timestamp[us]", noon, (*moments, "null")), "timestamp"),
        (Column("at_second", "timestamp[us]", noon, (*moments, "null")), "timestamp(0)"),
        (Column("at_zone", "timestamp[us, tz=UTC]", noon, (*moments, "null")), "timestamptz"),
        (Column("raw", "binary", ("'a'", "'b'", "''"), (r"'\xff00'", "null")), "bytea"),
        (Column("identifier", "uuid", _uuids(1, 2, 3), (*_uuids(2**128 - 1, 0), "null")), "uuid"),
    )


def spark_columns() -> tuple[tuple[Column, str], ...]:
    """Columns with Spark's name of their types; values are expressions of SQL."""
    high, floats = "9" * 38, ("'NaN'", "'Infinity'", "'-Infinity'", "-0.0", "null")
    noon = ("'2026-01-31 12:00'", "'2026-02-01'", "'1970-01-01'")
    moments = (
        "timestamp_micros(9223372036854775807)",
        "timestamp_micros(-9223372036854775808)",
        "'0001-01-01'",
        "null",
    )
    return (
        (Column("words", "string", ("'1'", "'b'", "''"), ("'5'", "'nan'", "'1e999'", "null")), "string"),
        (Column("int1", "int8", ("1", "2", "5"), ("127", "-128", "null")), "tinyint"),
        (Column("int4", "int32", ("1", "2", "5"), ("2147483647", "-2147483648", "null")), "int"),
        (Column("int8", "int64", ("1", "2", "5"), ("9223372036854775807L", "-9223372036854775807L", "null")), "bigint"),
        (Column("wide", "decimal", ("1", "2", "5"), (f"'{high}'", f"'-{high}'", "null")), "decimal(38, 0)"),
        (Column("money", "decimal", ("1", "2", "5"), ("'9999999.99'", "null")), "decimal(9, 2)"),
        (Column("fraction", "decimal", ("'0.1'", "'0.2'", "'0.5'"), (f"'0.{high}'", "null")), "decimal(38, 38)"),
        (Column("single", "float", ("1", "2", "5.5"), (*floats, "'3.4e38'")), "float"),
        (Column("double", "double", ("1", "2", "5.5"), (*floats, "'1.7e308'")), "double"),
        (Column("truth", "bool", ("true", "false", "true"), ("true", "false", "null")), "boolean"),
        (
            Column(
                "day",
                "date32[day]",
                ("'2026-01-31'", "'2026-02-01'", "'1970-01-01'"),
                ("date_from_unix_date(2147483647)", "date_from_unix_date(-2147483648)", "null"),
            ),
            "date",
        ),
        (Column("at", "timestamp[us]", noon, moments), "timestamp"),
        (Column("raw", "binary", ("'a'", "'b'", "''"), ("x'ff00'", "null")), "binary"),
    )


def sqlite_columns() -> tuple[tuple[Column, str], ...]:
    """Columns with SQLite's name of their types, each with values of every type it can store."""
    odd = ("null", "'text'", "'12 apples'", "x'00ff'", "cast(x'c328' as text)", "9e999", "-9e999", "1.5", "''")
    whole = ("9223372036854775807", "-9223372036854775808", *odd)
    floats = ("-0.0", "1.7e308", "5e-324", "9223372036854775807", *odd)
    days = ("'2026-02-30'", "'0000-01-01'", "'-4713-11-24'", "'9999-12-31'", "'now'", "'2026-01-31 '", "2451545", *odd)
    moments = ("'0001-01-01 00:00:00+14:00'", "'9999-12-31T23:59:59.999999-14:00'", "'2026-01-31 25:00'", *days)
    noon = ("'2026-01-31 12:00:00'", "'2026-02-01 00:00:00.5'", "'1970-01-01'")
    return (
        (Column("words", "string", ("'1'", "'b'", "''"), ("'5'", "'nan'", "'a' || char(0) || 'b'", *odd)), "text"),
        (Column("careless", "string", ("'1'", "'b'", "''"), ("'B'", "'b '", *odd)), "varchar(10) collate nocase"),
        (Column("anything", "string", ("'1'", "'b'", "''"), ("1", *odd)), ""),
        (Column("int8", "int64", ("1", "2", "5"), whole), "integer"),
        (Column("int2", "int64", ("1", "2", "5"), whole), "smallint"),
        (Column("double", "double", ("1", "2", "5.5"), floats), "real"),
        (Column("money", "double", ("1", "2", "5.5"), ("'99999999999999999999999999.99'", *floats)), "decimal(9, 2)"),
        (Column("truth", "bool", ("1", "0", "1"), ("2", *odd)), "boolean"),
        (Column("day", "date32[day]", ("'2026-01-31'", "'2026-02-01'", "'1970-01-01'"), days), "date"),
        (Column("at", "timestamp[us]", noon, moments), "timestamp"),
        (Column("at_zone", "timestamp[us, tz=UTC]", noon, moments), "timestamptz"),
        (Column("raw", "binary", ("x'61'", "x'62'", "x''"), odd), "blob"),
        (Column("identifier", "uuid", _uuids(1, 2, 3), (*_uuids(2**128 - 1, 0), *odd)), "uuid"),
    )


def mariadb_columns() -> tuple[tuple[Column, str], ...]:
    """Columns with MariaDB's name of their types; values as a session that allows everything stores them."""
    high = "9" * 38
    days = ("'0000-00-00'", "'2026-02-31'", "'2026-00-10'", "'0001-01-01'", "'9999-12-31'", "null")
    moments = ("'0000-00-00'", "'2026-02-31 10:00'", "'0001-01-01'", "'9999-12-31 23:59:59.999999'", "null")
    noon = ("'2026-01-31 12:00'", "'2026-02-01'", "'1970-01-02'")
    floats = ("1.7e308", "-1.7e308", "2.3e-308", "5e-324", "-0.0", "null")
    words = ("'5'", "'nan'", "'1e999'", "'é😀'", "repeat('x', 70000)", "null")
    return (
        (Column("words", "string", ("'1'", "'b'", "''"), words), "longtext"),
        (
            Column("western", "string", ("'1'", "'b'", "''"), ("'é'", "'E'", "'b '", "null")),
            "varchar(9) character set latin1",
        ),
        (Column("padded", "string", ("'1'", "'b'", "''"), ("'5'", "'a  '", "null")), "char(5)"),
        (Column("choice", "string", ("'1'", "'b'", "'b'"), ("'nothing of it'", "null")), "enum('1', 'b')"),
        (Column("tiny", "int64", ("1", "2", "5"), ("127", "-128", "null")), "tinyint"),
        (Column("large", "int64", ("1", "2", "5"), ("9223372036854775807", "-9223372036854775808", "null")), "bigint"),
        (Column("unsigned_", "uint64", ("1", "2", "5"), ("18446744073709551615", "0", "null")), "bigint unsigned"),
        (Column("year_", "int64", ("2001", "2002", "2005"), ("0", "2155", "null")), "year"),
        (Column("bits", "int64", ("1", "2", "5"), ("b'1111'", "null")), "bit(40)"),
        (Column("wide", "decimal", ("1", "2", "5"), (high, f"-{high}", "null")), "decimal(38, 0)"),
        (Column("fraction", "decimal", ("0.1", "0.2", "0.5"), (f"0.{high}", "null")), "decimal(38, 38)"),
        (Column("single", "float", ("1", "2", "5.5"), ("3.4e38", "1.2e-38", "null")), "float"),
        (Column("double_", "double", ("1", "2", "5.5"), floats), "double"),
        (Column("day", "date32[day]", ("'2026-01-31'", "'2026-02-01'", "'1970-01-01'"), days), "date"),
        (Column("at", "timestamp[us]", noon, moments), "datetime(6)"),
        (
            Column("at_zone", "timestamp[us, tz=UTC]", noon, ("'0000-00-00'", "'2038-01-19 03:14:07'", "null")),
            "timestamp null",
        ),
        (Column("raw", "binary", ("'a'", "'b'", "''"), ("x'ff00'", "repeat('x', 70000)", "null")), "longblob"),
        (Column("identifier", "uuid", _uuids(1, 2, 3), (*_uuids(2**128 - 1, 0), "null")), "uuid"),
    )


def clickhouse_columns() -> tuple[tuple[Column, str], ...]:
    """Columns with ClickHouse's name of their types; values are expressions of SQL."""
    high, floats = "9" * 38, ("nan", "inf", "-inf", "-0.0", "5e-324", "1.7e308", "null")
    noon = ("'2026-01-31 12:00:00'", "'2026-02-01 00:00:00'", "'1970-01-02 00:00:00'")
    far = "fromUnixTimestamp64Micro(9223372036854775807)", "fromUnixTimestamp64Micro(-9223372036854775807)"
    moments = (*far, "'0001-01-01 00:00:00'", "'9999-12-31 23:59:59.999999'", "null")
    days = ("'0001-01-01'", "'9999-12-31'", "toInt32(2147483647)", "toInt32(-2147483648)", "null")
    words = ("'5'", "'nan'", "'1e999'", "'é😀'", "unhex('ff00')", "repeat('x', 70000)", "null")
    return (
        (Column("words", "string", ("'1'", "'b'", "''"), words), "Nullable(String)"),
        (Column("few", "string", ("'1'", "'b'", "''"), ("'5'", "unhex('c328')")), "LowCardinality(String)"),
        (Column("padded", "string", ("'1'", "'b'", "''"), ("'5'", "unhex('ff')")), "FixedString(5)"),
        (Column("choice", "string", ("'1'", "'b'", "'b'"), ("'1'", "null")), "Nullable(Enum8('1' = 1, 'b' = 2))"),
        (Column("tiny", "int8", ("1", "2", "5"), ("127", "-128", "null")), "Nullable(Int8)"),
        (
            Column("large", "int64", ("1", "2", "5"), ("9223372036854775807", "-9223372036854775808", "null")),
            "Nullable(Int64)",
        ),
        (Column("whole", "uint64", ("1", "2", "5"), ("18446744073709551615", "0")), "UInt64"),
        (Column("wide", "decimal", ("1", "2", "5"), (f"'{high}'", f"'-{high}'", "null")), "Nullable(Decimal(38, 0))"),
        (Column("fraction", "decimal", ("'0.1'", "'0.2'", "'0.5'"), (f"'0.{high}'",)), "Decimal(38, 38)"),
        (Column("single", "float", ("1", "2", "5.5"), ("nan", "inf", "3.4e38", "null")), "Nullable(Float32)"),
        (Column("double_", "double", ("1", "2", "5.5"), floats), "Nullable(Float64)"),
        (Column("truth", "bool", ("true", "false", "true"), ("true", "false", "null")), "Nullable(Bool)"),
        (Column("day", "date32[day]", ("'2026-01-31'", "'2026-02-01'", "'1970-01-01'"), days), "Nullable(Date32)"),
        (Column("old", "date32[day]", ("'2026-01-31'", "'2026-02-01'", "'1970-01-01'"), ("'2149-06-06'",)), "Date"),
        (Column("at", "timestamp[us]", noon, moments), "Nullable(DateTime64(6))"),
        (
            Column("at_nano", "timestamp[ns]", noon, ("fromUnixTimestamp64Nano(9223372036854775807)", "null")),
            "Nullable(DateTime64(9))",
        ),
        (
            Column("at_milli", "timestamp[ms]", noon, ("fromUnixTimestamp64Milli(9223372036854775807)", "null")),
            "Nullable(DateTime64(3))",
        ),
        (Column("at_second", "timestamp[s]", noon, (noon[0], "null")), "Nullable(DateTime)"),
        (
            Column("at_zone", "timestamp[us, tz=UTC]", noon, (noon[0], "'0001-01-01 00:00:00'", "null")),
            "Nullable(DateTime64(6, 'Asia/Tokyo'))",
        ),
        (Column("identifier", "uuid", _uuids(1, 2, 3), (*_uuids(2**128 - 1, 0), "null")), "Nullable(UUID)"),
    )


def selects(
    columns: Sequence[tuple[Column, str]], with_user: bool, written: str = "cast({value} as {kind})"
) -> list[str]:
    """One row of the table as a list of SQL expressions each: three ordinary people, and the one user."""
    most = max(len(column.ends) for column, _ in columns) if with_user else 0
    rows = [(f"u{n}", item, n, None) for n in range(3) for item in ("tea", "coffee")[: 1 + (n == 0)]]
    rows += [(USER, ("tea", "cocoa")[n % 2], 0, n) for n in range(most)]
    made = []
    for user, item, place, end in rows:
        values = [
            written.format(value=column.usual[place] if end is None else column.ends[end % len(column.ends)], kind=kind)
            for column, kind in columns
        ]
        made.append(", ".join([f"'{user}'", f"'{item}'", *values]))
    return made


def names(columns: Sequence[tuple[Column, str]]) -> str:
    return ", ".join(["user", "item", *(column.name for column, _ in columns)])


def _uuids(*numbers: int) -> Any:
    return tuple(f"'{UUID(int=number)}'" for number in numbers)
