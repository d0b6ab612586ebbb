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


@dataclass(frozen=True)
class _Codec:
    encode: Callable[[Expression], Expression]
    decode: Callable[[Expression], Expression]


def text_bytes(engine: str, text: Expression) -> Expression:
    """The UTF-8 bytes of a text expression; the text itself on an engine that is not listed."""
    codec = _codecs().get(engine)
    return text if codec is None else codec.encode(text)


def bytes_text(engine: str, raw: Expression) -> Expression:
    """The inverse of `text_bytes`."""
    codec = _codecs().get(engine)
    return raw if codec is None else codec.decode(raw)


def md5(text: Expression) -> Expression:
    """The MD5 of a text expression, in lower-case hexadecimal; every engine calls it by this name."""
    return _md5()(text)


@cache
def _codecs() -> dict[str, _Codec]:
    return {
        "duckdb": _Codec(_function("encode", 1, "binary"), _function("decode", 1, "string", takes="binary")),
        "postgres": _Codec(
            _with_charset(_function("convert_to", 2, "binary"), "UTF8"),
            _with_charset(_function("convert_from", 2, "string", takes="binary"), "UTF8"),
        ),
        "pyspark": _Codec(
            _with_charset(_function("encode", 2, "binary"), "UTF-8"),
            _with_charset(_function("decode", 2, "string", takes="binary"), "UTF-8"),
        ),
    }


@cache
def _md5() -> Callable[..., Expression]:
    return _function("md5", 1, "string")


def _function(name: str, arguments: int, returns: str, *, takes: str = "string") -> Callable[..., Expression]:
    """An engine's own function, made known to Ibis by its name and types."""
    import ibis
    from ibis.expr import datatypes as types

    kinds = tuple(types.dtype(kind) for kind in (takes, "string")[:arguments])
    shape: Callable[..., Any] = _one if arguments == 1 else _two
    declared: Callable[..., Expression] = ibis.udf.scalar.builtin(
        shape, name=name, signature=(kinds, types.dtype(returns))
    )
    return declared


def _with_charset(function: Callable[..., Expression], charset: str) -> Callable[[Expression], Expression]:
    return lambda value: function(value, charset)


def _one(value: Any) -> Any:
    """The shape of an engine's function of one argument; the engine has the body."""


def _two(value: Any, charset: Any) -> Any:
    """The shape of an engine's function of two arguments."""
