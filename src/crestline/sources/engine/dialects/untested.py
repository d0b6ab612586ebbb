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
from crestline.sources.engine.dialects.functions import Expression, cast, engine_function, hex_digits, try_cast

_TEXT, _BYTES = "string", "binary"


def _first_digits(text: Expression, digits: int) -> Expression:
    return engine_function("substr", _TEXT, "int64", "int64", _TEXT)(text, 1, digits)


def _lower_hex(raw: Expression) -> Expression:
    return engine_function("lower", _TEXT, _TEXT)(engine_function("to_hex", _BYTES, _TEXT)(raw))


def _trino_encode(text: Expression) -> Expression:
    return engine_function("to_utf8", _TEXT, _BYTES)(text)


def _trino_md5(text: Expression, digits: int) -> Expression:
    return _first_digits(_lower_hex(engine_function("md5", _BYTES, _BYTES)(_trino_encode(text))), digits)


def _bigquery_md5(text: Expression, digits: int) -> Expression:
    return _first_digits(engine_function("to_hex", _BYTES, _TEXT)(engine_function("md5", _TEXT, _BYTES)(text)), digits)


def _spark_number(digits: Expression) -> Expression:
    return try_cast(engine_function("conv", _TEXT, "int64", "int64", _TEXT)(digits, 16, 10), "int64")


TRINO = Dialect(
    "trino",
    Codec(_trino_encode, lambda raw: engine_function("from_utf8", _BYTES, _TEXT)(raw), _lower_hex),
    md5=_trino_md5,
    number_of=lambda digits: engine_function("from_base", _TEXT, "int64", option=16)(digits),
    total_cast=try_cast,
)
BIGQUERY = Dialect(
    "bigquery",
    Codec(
        lambda text: text.cast(_BYTES),
        lambda raw: engine_function("safe_convert_bytes_to_string", _BYTES, _TEXT)(raw),
        lambda raw: engine_function("to_hex", _BYTES, _TEXT)(raw),
    ),
    md5=_bigquery_md5,
    number_of=lambda digits: try_cast(engine_function("concat", _TEXT, _TEXT, _TEXT)("0x", digits), "int64"),
    total_cast=try_cast,
)
SNOWFLAKE = Dialect(
    "snowflake",
    Codec(
        lambda text: engine_function("to_binary", _TEXT, _BYTES, option="UTF-8")(text),
        lambda raw: engine_function("to_varchar", _BYTES, _TEXT, option="UTF-8")(raw),
        lambda raw: engine_function("lower", _TEXT, _TEXT)(engine_function("hex_encode", _BYTES, _TEXT)(raw)),
    ),
    md5=lambda text, digits: _first_digits(engine_function("md5", _TEXT, _TEXT)(text), digits),
    number_of=lambda digits: engine_function("to_number", _TEXT, "int64", option="XXXXXXXX")(digits),
    total_cast=cast,
)
DATABRICKS = Dialect(
    "databricks",
    Codec(lambda text: text.cast(_BYTES), lambda raw: raw.cast(_TEXT), hex_digits),
    md5=lambda text, digits: _first_digits(engine_function("md5", _TEXT, _TEXT)(text), digits),
    number_of=_spark_number,
    total_cast=try_cast,
    unmarked_is_utc=True,
)
COMPILED = {record.name: record for record in (TRINO, BIGQUERY, SNOWFLAKE, DATABRICKS)}
