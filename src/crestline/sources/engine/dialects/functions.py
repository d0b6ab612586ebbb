"""Functions of engines, made known to Ibis: they are called by their own names, and no SQL is written by hand."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from inspect import Parameter, Signature
from math import inf
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import pyarrow
    from ibis.expr.datatypes import DataType

Expression: TypeAlias = Any  # an Ibis expression; Ibis carries no types that a checker could follow
Function: TypeAlias = Callable[[Expression], Expression]
SqlNode: TypeAlias = Any  # of a tree of sqlglot, which carries no types

_MICROSECONDS = 6


@cache
def engine_function(
    name: str, *kinds: str, option: str | int | None = None, schema: str | None = None
) -> Callable[..., Expression]:
    """An engine's own function, made known to Ibis by its name and the kinds it takes; the last is what it returns."""
    import ibis
    from ibis.expr import datatypes as types

    *takes, returns = kinds
    if option is not None:
        takes.append("string" if isinstance(option, str) else "int64")
    signature = tuple(types.dtype(kind) for kind in takes), types.dtype(returns)
    function = ibis.udf.scalar.builtin(_function_signature(len(takes)), name=name, database=schema, signature=signature)
    return function if option is None else (lambda value: function(value, option))


def identity(value: Expression) -> Expression:
    return value


def cast(value: Expression, kind: DataType) -> Expression:
    """Written even where Ibis calls both types the same; what is cast must fit."""
    from ibis.expr.operations import Cast

    return Cast(value, kind).to_expr()


def try_cast(value: Expression, kind: DataType) -> Expression:
    """The same, and null where the type cannot hold the value."""
    from ibis.expr.operations import TryCast

    return TryCast(value, kind).to_expr()


def hex_digits(raw: Expression) -> Expression:
    """Bytes as lower-case hexadecimal digits, of an engine that has `hex`."""
    return engine_function("lower", "string", "string")(engine_function("hex", "binary", "string")(raw))


def in_microseconds(ticks: Expression, scale: int) -> Expression:
    """A whole number of units of 10^-scale seconds, of at least a microsecond each, as microseconds; null where those
    would be too many for 64 bits."""
    import ibis

    size = 10 ** (_MICROSECONDS - scale)
    most = 2**63 // size - 1
    inside = ticks.between(-most, most)
    return ibis.cases(
        (inside, ibis.cases((inside, ticks), else_=ibis.literal(0, "int64")) * size), else_=ibis.null("int64")
    )


def rewrite_tree(tree: SqlNode, change: Callable[[SqlNode], SqlNode]) -> SqlNode:
    """A copy of the tree of a statement, in which `change` was made to every node, from the leaves up.

    The tree's own `transform` passes over what Ibis has put into tuples.
    """
    from sqlglot import exp

    def copy_part(part: object) -> object:
        if isinstance(part, exp.Expression):
            return change(type(part)(**{name: copy_part(value) for name, value in part.args.items()}))
        return [copy_part(one) for one in part] if isinstance(part, list | tuple) else part

    return copy_part(tree)


def json_rows(table: pyarrow.Table) -> str:
    """The rows of an Arrow table as JSON: text and bytes in hexadecimal digits, so that the character set of a
    statement does not matter, times in ISO 8601 and in UTC, decimals and what is infinite as text."""
    import json

    rows = zip(*(map(_json_value, column.to_pylist()) for column in table.columns), strict=True)
    return json.dumps(list(rows))


def _json_value(value: object) -> object:
    if isinstance(value, bytes | str):
        return (value.encode() if isinstance(value, str) else value).hex()
    if isinstance(value, date | datetime):
        return value.isoformat().replace("+00:00", "")
    return str(value) if isinstance(value, Decimal) or value in (inf, -inf) else value


def _function_signature(arguments: int) -> Callable[..., Any]:
    """The shape of an engine's function of so many arguments; the engine has the body."""

    def shape(*values: object) -> None: ...

    named = [Parameter(f"value_{i}", Parameter.POSITIONAL_OR_KEYWORD) for i in range(arguments)]
    shape.__signature__ = Signature(named)  # type: ignore[attr-defined] # inspect reads it, mypy does not know it
    return shape
