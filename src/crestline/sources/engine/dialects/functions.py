"""Functions of engines, made known to Ibis: they are called by their own names, and no SQL is written by hand."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from ibis.expr.datatypes import DataType

Expression: TypeAlias = Any  # an Ibis expression; Ibis carries no types that a checker could follow
Function: TypeAlias = Callable[[Expression], Expression]


@cache
def declared(
    name: str, *kinds: str, option: str | int | None = None, schema: str | None = None
) -> Callable[..., Expression]:
    """An engine's own function, made known to Ibis by its name and the kinds it takes; the last is what it returns."""
    import ibis
    from ibis.expr import datatypes as types

    *takes, returns = kinds
    if option is not None:
        takes.append("string" if isinstance(option, str) else "int64")
    signature = tuple(types.dtype(kind) for kind in takes), types.dtype(returns)
    function = ibis.udf.scalar.builtin(_shape(len(takes)), name=name, database=schema, signature=signature)
    return function if option is None else (lambda value: function(value, option))


def same(value: Expression) -> Expression:
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
    return declared("lower", "string", "string")(declared("hex", "binary", "string")(raw))


def _shape(arguments: int) -> Callable[..., Any]:
    """The shape of an engine's function of so many arguments; the engine has the body."""

    def shape(*values: object) -> None: ...

    named = [Parameter(f"value_{i}", Parameter.POSITIONAL_OR_KEYWORD) for i in range(arguments)]
    shape.__signature__ = Signature(named)  # type: ignore[attr-defined] # inspect reads it, mypy does not know it
    return shape
