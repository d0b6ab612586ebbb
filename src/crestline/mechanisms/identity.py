"""What tells one mechanism from every other: as text for people, and complete enough to recognise a question by.

An answer may be served again only to the same question, so two mechanisms that differ must never look alike. Those of
crestline are values: their fields say everything. Of somebody else's we believe a dataclass of plain values, or what
it states as `parameters`; anything else cannot be told apart, and has no identity.
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
    """A mechanism's exact parameters, as text for people; those of the original where it was adopted."""
    written = unwrap_adopted(mechanism)
    stated = _stated_parameters(written)
    if stated is not None:
        return {str(name): _parameter_text(value) for name, value in stated.items()}
    values = _dataclass_fields(written).items()
    return {name: _parameter_text(value) for name, value in values if value is not None and value is not False}


def identity(mechanism: object) -> dict[str, str] | None:
    """Everything that tells a mechanism from every other; None where it does not say, and nothing may be served again.

    One of crestline that holds nobody else's parts is told by its name and by what people are shown.
    """
    if _is_built_in(mechanism):
        return parameter_texts(mechanism)
    try:
        whole = _canonical_text(mechanism)
    except RecursionError:  # parts that hold each other
        return None
    return None if whole is None else {"value": whole}


def _is_built_in(value: object) -> bool:
    """Whether a value is ours, and so are all its parts: then texts are exact, and differ where values differ."""
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
    """What an object that is not ours states as its parameters."""
    stated = None if isinstance(value, type) or _is_own_class(type(value)) else getattr(value, "parameters", None)
    return dict(stated) if isinstance(stated, Mapping) else None


def _content(value: object) -> dict[str, Any] | None:
    """The fields of a dataclass, if they are all that it keeps."""
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
    """The fields of a dataclass by name; none of anything else."""
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
    """A decimal where it is exact, else the fraction: parameters are exact, and so is what is said of them."""
    for digits in (6, 12, 20, 40):
        with localcontext() as context:
            context.prec = digits
            short = f"{(Decimal(number.numerator) / Decimal(number.denominator)).normalize():g}"
        if Fraction(short) == number:
            return short
    return str(number)
