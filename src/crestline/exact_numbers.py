"""Exact parameters: the number that is charged is the number that is used.

An `int`, a `Fraction`, a `Decimal` or a decimal string is exact. A float is read as its shortest decimal (`0.1` means
one tenth, as its author wrote), never as its binary fraction.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from decimal import Decimal, localcontext
from fractions import Fraction
from inspect import Parameter, signature
from typing import ParamSpec, TypeAlias, TypeVar

from crestline.errors import ParameterError

Exact: TypeAlias = int | Fraction | Decimal | str | float
Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Given = ParamSpec("Given")
Result = TypeVar("Result")

# Larger values are refused before a slow computation begins; up to these, accounting is fast.
LARGEST_K = 10**5
MOST_NAMED = 1_000  # where k is "all"
LARGEST_K_BAR = 10**7
LARGEST_CONTRIBUTION = 10**9

EXACT = "_exact"  # suffix of the JSON field with the exact number

_NUMBER = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?\s*|\s*[+-]?\d+\s*/\s*\d+\s*")


def exact_number(value: Exact, name: str) -> Fraction:
    """Exact rational of a number; `name` is the parameter that an error names.

    >>> exact_number(0.1, "epsilon")
    Fraction(1, 10)
    """
    number = _unwrap_numpy_scalar(value)
    if isinstance(number, bool) or not isinstance(number, int | Fraction | Decimal | str | float):
        raise ParameterError(
            f"{name} must be a number (int, Fraction, Decimal, float or decimal string), not {_as_written(value)}"
        )
    if isinstance(number, float):
        number = _check_finite(number, math.isfinite(number), name, repr(number))
    elif isinstance(number, Decimal):
        number = _check_finite(number, number.is_finite(), name, str(number))
    if isinstance(number, str):
        return _from_text(number, name)
    return Fraction(number)


def positive_number(value: Exact, name: str) -> Fraction:
    """`exact_number` of a value above zero; raises ParameterError otherwise."""
    number = exact_number(value, name)
    if number <= 0:
        raise ParameterError(f"{name} must be larger than zero, not {_as_written(value)}")
    return number


def non_negative_number(value: Exact, name: str) -> Fraction:
    """`exact_number` of a value of at least zero; raises ParameterError otherwise."""
    number = exact_number(value, name)
    if number < 0:
        raise ParameterError(f"{name} must not be negative, not {_as_written(value)}")
    return number


def probability(value: Exact, name: str) -> Fraction:
    """`exact_number` of a value strictly between zero and one; raises ParameterError otherwise."""
    number = positive_number(value, name)
    if number >= 1:
        raise ParameterError(f"{name} must be smaller than one, not {_as_written(value)}")
    return number


def proportion(value: Exact, name: str) -> Fraction:
    """`exact_number` of a value from zero to one; raises ParameterError otherwise."""
    number = non_negative_number(value, name)
    if number > 1:
        raise ParameterError(f"{name} must lie between 0 and 1, not {_as_written(value)}")
    return number


def whole_number(value: object, name: str, *, at_least: int = 1, at_most: int | None = None) -> int:
    """Return an integer from `at_least` to `at_most`; raise ParameterError for anything else."""
    number = _unwrap_numpy_scalar(value)
    if isinstance(number, bool) or not isinstance(number, int):
        raise ParameterError(f"{name} must be a whole number, not {_as_written(value)}")
    if number < at_least:
        raise ParameterError(f"{name} must be at least {at_least}, not {number}")
    if at_most is not None and number > at_most:
        # The number itself may be too long to print.
        raise ParameterError(f"{name} must be at most {at_most:,}: ask for less")
    return number


def one_of_names(names: Collection[str]) -> Callable[[str, str], str]:
    """Converter that accepts one of these names, and lists them in its error."""

    def check_known(given: str, name: str) -> str:
        if given not in names:
            raise ParameterError(f"{name} must be one of {', '.join(names)}, not {given!r}")
        return given

    return check_known


def set_frozen_fields(value: object, **fields: object) -> None:
    """Set fields of a frozen value, from its own constructor."""
    for name, content in fields.items():
        object.__setattr__(value, name, content)


def decimal_text(number: Fraction, digits: int = 6) -> str:
    """Short decimal of a number, rounded up to `digits` significant digits where it has more."""
    if number == 0:
        return "0"
    size = math.floor(math.log10(abs(number.numerator)) - math.log10(number.denominator))
    step = Fraction(10) ** (size - digits + 1)
    rounded = math.ceil(number / step) * step
    if abs(size) < 300:
        return f"{float(rounded):.{digits}g}"
    with localcontext() as context:  # outside the range of a float
        context.prec = digits + 2
        return f"{(Decimal(rounded.numerator) / Decimal(rounded.denominator)).normalize():.{digits}g}"


def _as_written(value: object) -> str:
    """Text of a value for an error message."""
    return str(value) if isinstance(value, Fraction) else repr(value)


def percent(share: float) -> str:
    """Part of a whole as a percentage.

    >>> percent(0.063)
    '6.3%'
    """
    return "less than 0.1%" if 0 < share < 0.001 else f"{share:.1%}"


def decimal_and_exact_fields(name: str, number: Fraction) -> dict[str, float | str]:
    """JSON fields of a number: a decimal, rounded up where it is not exact, and the exact number as text.

    >>> decimal_and_exact_fields("epsilon", Fraction(1, 3))
    {'epsilon': 0.333334, 'epsilon_exact': '1/3'}
    """
    decimal = float(number) if Fraction(repr(float(number))) == number else float(decimal_text(number))
    return {name: decimal, name + EXACT: str(number)}


def _unwrap_numpy_scalar(value: object) -> object:
    """The Python number of a NumPy scalar; any other value unchanged."""
    item = getattr(value, "item", None)
    return item() if callable(item) and getattr(value, "shape", None) == () else value


def _check_finite(number: float | Decimal, finite: bool, name: str, text: str) -> str:
    """Return the text of a finite number; raise ParameterError for another."""
    if not finite:
        raise ParameterError(f"{name} must be finite, not {text}")
    return text


def _from_text(text: str, name: str) -> Fraction:
    """Parse a decimal or a fraction; raise ParameterError for other text."""
    if not _NUMBER.fullmatch(text):
        raise ParameterError(f"{name} must be a number such as 0.5, 1e-8 or 1/3, not {text!r}")
    try:
        return Fraction(text.replace(" ", ""))
    except ZeroDivisionError:
        raise ParameterError(f"{name} has a zero denominator: {text!r}") from None


def with_typed_dict_signature(
    fields: type, defaults: Mapping[str, object]
) -> Callable[[Callable[Given, Result]], Callable[Given, Result]]:
    """Decorator that lists keyword arguments typed by a `TypedDict` one by one in the signature that `help` prints.

    `defaults` has the default of each argument; it is None for those that are missing.
    """

    def with_keyword_signature(function: Callable[Given, Result]) -> Callable[Given, Result]:
        own = [part for part in signature(function).parameters.values() if part.kind is not Parameter.VAR_KEYWORD]
        more = [Parameter(name, Parameter.KEYWORD_ONLY, default=defaults.get(name)) for name in fields.__annotations__]
        function.__signature__ = signature(function).replace(parameters=[*own, *more])  # type: ignore[attr-defined] # read by inspect
        return function

    return with_keyword_signature


def int_or_float(number: Fraction) -> int | float:
    """The number as an integer, or as a float if it is not whole."""
    return int(number) if number.denominator == 1 else float(number)
