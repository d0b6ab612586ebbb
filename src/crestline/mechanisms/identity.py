"""Identity of a mechanism: text that differs for any two different mechanisms.

A stored answer may be served only to the same question, so different mechanisms must never have the same identity.
Mechanisms of crestline are values: their fields are their identity. A mechanism of another author has one if it is a
dataclass of plain values or states `parameters`; any other object has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from decimal import Decimal, localcontext
from enum import Enum
from fractions import Fraction
from functools import cached_property
from typing import Any

from crestline.mechanisms.third_party import unwrap_adopted

_PLAIN = (type(None), bool, int, float, complex, str, bytes, Fraction, Decimal)


def parameter_texts(mechanism: object) -> dict[str, str]:
    """A mechanism's exact parameters as text; for an adopted mechanism, those of the original."""
    written = unwrap_adopted(mechanism)
    stated = _stated_parameters(written)
    if stated is not None:
        return {str(name): _parameter_text(value) for name, value in stated.items()}
    values = _dataclass_fields(written).items()
    return {name: _parameter_text(value) for name, value in values if value is not None and value is not False}


def identity(mechanism: object) -> dict[str, str] | None:
    """Text that only equal mechanisms share; None where it is not known, so that no answer may be served again.

    For a mechanism of crestline without parts of other authors it is `parameter_texts`.
    """
    if _is_built_in(mechanism):
        return parameter_texts(mechanism)
    try:
        whole = _canonical_text(mechanism)
    except RecursionError:  # parts that hold each other
        return None
    return None if whole is None else {"value": whole}


def _is_built_in(value: object) -> bool:
    """Whether a value and all its parts are crestline's own: then texts are exact, and differ where values differ."""
    value = unwrap_adopted(value)
    if is_dataclass(value) and not isinstance(value, type):
        return _is_own_class(type(value)) and all(_is_built_in(part) for part in _dataclass_fields(value).values())
    return type(value) in _PLAIN or (isinstance(value, Enum) and _is_own_class(type(value)))


def _is_own_class(kind: type) -> bool:
    return kind.__module__.split(".")[0] == "crestline"


def _canonical_text(value: Any) -> str | None:
    """A text that two values share only if they are the same, or None."""
    value = unwrap_adopted(value)
    if type(value) in _PLAIN:
        return repr(value)
    if isinstance(value, Enum):
        return f"{_class_path(value)}.{value.name}"
    if type(value) in (list, tuple):
        return _join_texts(value, [_canonical_text(part) for part in value])
    if type(value) in (set, frozenset):
        members = [_canonical_text(part) for part in value]
        return None if None in members else _join_texts(value, sorted(str(part) for part in members))
    if type(value) is dict:
        return _join_texts(value, [_canonical_text(pair) for pair in value.items()])
    content = _stated_parameters(value)
    if content is None:
        content = _content(value)
    inside = None if content is None else _canonical_text(content)
    return None if inside is None else f"{_class_path(value)}({inside})"


def _join_texts(value: object, members: Sequence[str | None]) -> str | None:
    return None if None in members else f"{type(value).__name__}[{', '.join(map(str, members))}]"


def _stated_parameters(value: object) -> dict[Any, Any] | None:
    """`parameters` of an object that is not crestline's own."""
    stated = None if isinstance(value, type) or _is_own_class(type(value)) else getattr(value, "parameters", None)
    return dict(stated) if isinstance(stated, Mapping) else None


def _content(value: object) -> dict[str, Any] | None:
    """Fields of a dataclass that holds nothing else; otherwise None."""
    kind = type(value)
    if not is_dataclass(value) or "__dataclass_fields__" not in vars(
        kind
    ):  # a class beneath a dataclass may keep more than the fields
        return None
    names = [part.name for part in fields(value)]
    computed = {name for base in kind.__mro__ for name, made in vars(base).items() if isinstance(made, cached_property)}
    if not set(getattr(value, "__dict__", {})) <= {*names, *computed}:
        return None
    return _dataclass_fields(value)


def _dataclass_fields(value: object) -> dict[str, Any]:
    """Fields of a dataclass by name; empty for any other object."""
    return {part.name: getattr(value, part.name) for part in fields(value)} if is_dataclass(value) else {}


def _class_path(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _parameter_text(value: object) -> str:
    value = unwrap_adopted(value)
    if isinstance(value, Fraction):
        return _shortest_text(value)
    if is_dataclass(value) and not isinstance(value, type):
        return f"{type(value).__name__}({', '.join(f'{name}={text}' for name, text in parameter_texts(value).items())})"
    return str(value)


def _shortest_text(number: Fraction) -> str:
    """A decimal where it is exact, else the fraction, since parameters are exact."""
    for digits in (6, 12, 20, 40):
        with localcontext() as context:
            context.prec = digits
            short = f"{(Decimal(number.numerator) / Decimal(number.denominator)).normalize():g}"
        if Fraction(short) == number:
            return short
    return str(number)
