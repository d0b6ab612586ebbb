"""What an engine needs beyond the common expression: one function that turns text into its UTF-8 bytes.

Engines compare text by a collation, which a server, a database or a column may set. Bytes have only one order and one
equality, so text is turned into bytes before it is compared, grouped or ranked (P0.5). The functions below are the
engines' own, called through Ibis; no SQL is written by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

Expression: TypeAlias = Any  # an Ibis expression; Ibis carries no types that a checker could follow


def text_bytes(engine: str, text: Expression) -> Expression:
    """The UTF-8 bytes of a text column, or the column itself on an engine that compares text by its bytes."""
    encode = _encoders().get(engine)
    return text if encode is None else encode(text)


@cache
def _encoders() -> dict[str, Callable[[Expression], Expression]]:
    import ibis
    from ibis.expr import datatypes as types

    one = ((types.string,), types.binary)
    two = ((types.string, types.string), types.binary)
    duckdb = ibis.udf.scalar.builtin(_declared, name="encode", signature=one)
    postgres = ibis.udf.scalar.builtin(_declared_with_charset, name="convert_to", signature=two)
    spark = ibis.udf.scalar.builtin(_declared_with_charset, name="encode", signature=two)
    return {
        "duckdb": duckdb,
        "postgres": lambda text: postgres(text, "UTF8"),
        "pyspark": lambda text: spark(text, "UTF-8"),
    }


def _declared(text: Any) -> Any:
    """The shape of an engine's own function; the engine has the body."""


def _declared_with_charset(text: Any, charset: Any) -> Any:
    """The same, with the name of the character set."""
