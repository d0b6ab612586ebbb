"""What an engine needs beyond the common expression: its own functions from text to UTF-8 bytes, and back.

Engines compare text by a collation, which a server, a database or a column may set. Bytes have only one order and one
equality, so text is turned into bytes before it is grouped or ranked (P0.5). The functions below are the engines' own,
called through Ibis; no SQL is written by hand. An engine that is not listed compares text its own way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

Expression: TypeAlias = Any  # an Ibis expression; Ibis carries no types that a checker could follow
Function: TypeAlias = Callable[[Expression], Expression]


@dataclass(frozen=True)
class Codec:
    """An engine's functions: text to its UTF-8 bytes, those bytes back to text, any bytes to hexadecimal digits."""

    encode: Function
    decode: Function
    hex: Function


def codec(engine: str) -> Codec:
    """The functions of an engine; on one that is not listed, text stays as it is."""
    return _codecs().get(engine) or Codec(_same, _same, lambda raw: raw.cast("string"))


def md5(text: Expression, digits: int) -> Expression:
    """The first digits of the MD5 of a text, in lower-case hexadecimal; every engine calls the two functions so."""
    return _declared("left", "string", "string", option=digits)(_declared("md5", "string", "string")(text))


@cache
def _codecs() -> dict[str, Codec]:
    duckdb_hex, spark_hex = _declared("hex", "binary", "string"), _declared("hex", "binary", "string")
    return {
        "duckdb": Codec(
            _declared("encode", "string", "binary"),
            _declared("decode", "binary", "string"),
            lambda raw: duckdb_hex(raw).lower(),
        ),
        "postgres": Codec(
            _declared("convert_to", "string", "binary", option="UTF8"),
            _declared("convert_from", "binary", "string", option="UTF8"),
            _declared("encode", "binary", "string", option="hex"),
        ),
        # Spark's own encode() fails on text that is not well-formed; a cast takes the bytes as they are.
        "pyspark": Codec(
            lambda text: text.cast("binary"), lambda raw: raw.cast("string"), lambda raw: spark_hex(raw).lower()
        ),
    }


@cache
def _declared(name: str, takes: str, returns: str, *, option: str | int | None = None) -> Function:
    """An engine's own function, made known to Ibis by its name and types."""
    import ibis
    from ibis.expr import datatypes as types

    second = () if option is None else ("string" if isinstance(option, str) else "int64",)
    kinds = tuple(types.dtype(kind) for kind in (takes, *second))
    shape: Callable[..., Any] = _one if option is None else _two
    function = ibis.udf.scalar.builtin(shape, name=name, signature=(kinds, types.dtype(returns)))
    return (lambda value: function(value)) if option is None else (lambda value: function(value, option))


def _same(value: Expression) -> Expression:
    return value


def _one(value: Any) -> Any:
    """The shape of an engine's function of one argument; the engine has the body."""


def _two(value: Any, option: Any) -> Any:
    """The shape of an engine's function of two arguments."""
