"""Engines whose statements are compiled and pinned in the tests, and were never run here.

Only functions that their documentation has are called, and text is compared as bytes, whose equality is theirs alone.
Nothing is set on the connection: neither reading only nor a time limit.

    Trino        no left(); md5() takes bytes and gives bytes
    BigQuery     md5() gives bytes
    Snowflake    try_cast() takes text alone
    Databricks   as Spark
"""

from __future__ import annotations

from crestline.sources.engine.dialects.dialect import Codec, Dialect
from crestline.sources.engine.dialects.functions import Expression, cast, declared, hex_digits, try_cast

_TEXT, _BYTES = "string", "binary"


def _first(text: Expression, digits: int) -> Expression:
    return declared("substr", _TEXT, "int64", "int64", _TEXT)(text, 1, digits)


def _lower_hex(raw: Expression) -> Expression:
    return declared("lower", _TEXT, _TEXT)(declared("to_hex", _BYTES, _TEXT)(raw))


def _trino_encoded(text: Expression) -> Expression:
    return declared("to_utf8", _TEXT, _BYTES)(text)


def _trino_md5(text: Expression, digits: int) -> Expression:
    return _first(_lower_hex(declared("md5", _BYTES, _BYTES)(_trino_encoded(text))), digits)


def _bigquery_md5(text: Expression, digits: int) -> Expression:
    return _first(declared("to_hex", _BYTES, _TEXT)(declared("md5", _TEXT, _BYTES)(text)), digits)


def _spark_number(digits: Expression) -> Expression:
    return try_cast(declared("conv", _TEXT, "int64", "int64", _TEXT)(digits, 16, 10), "int64")


TRINO = Dialect(
    "trino",
    Codec(_trino_encoded, lambda raw: declared("from_utf8", _BYTES, _TEXT)(raw), _lower_hex),
    md5=_trino_md5,
    number_of=lambda digits: declared("from_base", _TEXT, "int64", option=16)(digits),
    total_cast=try_cast,
)
BIGQUERY = Dialect(
    "bigquery",
    Codec(
        lambda text: text.cast(_BYTES),
        lambda raw: declared("safe_convert_bytes_to_string", _BYTES, _TEXT)(raw),
        lambda raw: declared("to_hex", _BYTES, _TEXT)(raw),
    ),
    md5=_bigquery_md5,
    number_of=lambda digits: try_cast(declared("concat", _TEXT, _TEXT, _TEXT)("0x", digits), "int64"),
    total_cast=try_cast,
)
SNOWFLAKE = Dialect(
    "snowflake",
    Codec(
        lambda text: declared("to_binary", _TEXT, _BYTES, option="UTF-8")(text),
        lambda raw: declared("to_varchar", _BYTES, _TEXT, option="UTF-8")(raw),
        lambda raw: declared("lower", _TEXT, _TEXT)(declared("hex_encode", _BYTES, _TEXT)(raw)),
    ),
    md5=lambda text, digits: _first(declared("md5", _TEXT, _TEXT)(text), digits),
    number_of=lambda digits: declared("to_number", _TEXT, "int64", option="XXXXXXXX")(digits),
    total_cast=cast,
)
DATABRICKS = Dialect(
    "databricks",
    Codec(lambda text: text.cast(_BYTES), lambda raw: raw.cast(_TEXT), hex_digits),
    md5=lambda text, digits: _first(declared("md5", _TEXT, _TEXT)(text), digits),
    number_of=_spark_number,
    total_cast=try_cast,
    in_utc_unmarked=True,
)
COMPILED = {record.name: record for record in (TRINO, BIGQUERY, SNOWFLAKE, DATABRICKS)}
