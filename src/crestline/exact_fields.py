"""Frozen values with fields that convert their input to exact values.

    @value
    class PureDP:
        epsilon: Number = field(non_negative_number)

accepts `PureDP("0.1")` and stores `Fraction(1, 10)`. A type checker knows both types, that of the argument and that of
the field. Checks that compare several fields belong into `__post_init__`, which sees them converted.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Generic, Self, TypeAlias, TypeVar, cast, dataclass_transform, overload

from crestline.exact_numbers import Exact

Value = TypeVar("Value")
Given = TypeVar("Given", contravariant=True)
Kept = TypeVar("Kept", covariant=True)
_Given = TypeVar("_Given")
_Kept = TypeVar("_Kept")


class ConvertedField(Generic[Given, Kept]):
    """Field whose input is converted when it is set.

    It has no `__get__` at run time, so reading the field is as fast as reading any attribute.
    """

    def __init__(self, name: str, convert: Callable[[Given, str], Kept]) -> None:
        self._name, self._convert = name, convert

    def __set__(self, instance: object, given: Given) -> None:
        vars(instance)[self._name] = self._convert(given, self._name)

    if TYPE_CHECKING:

        @overload
        def __get__(self, instance: None, owner: type) -> Self: ...

        @overload
        def __get__(self, instance: object, owner: type) -> Kept: ...

        def __get__(self, instance: object | None, owner: type) -> Self | Kept: ...


Number: TypeAlias = ConvertedField[Exact, Fraction]
Whole: TypeAlias = ConvertedField[int, int]
WholeOrNone: TypeAlias = ConvertedField[int | None, int | None]
Flag: TypeAlias = ConvertedField[bool, bool]
Name: TypeAlias = ConvertedField[str, str]


def field(
    convert: Callable[[_Given, str], _Kept],
    *,
    default: _Given = dataclasses.MISSING,  # type: ignore[assignment] # marks a field without a default
    kw_only: bool = False,
) -> ConvertedField[_Given, _Kept]:
    """Field of a `@value`; `convert(given, name)` returns the stored value, or raises an error that names the field."""
    made: object = dataclasses.field(default=default, kw_only=kw_only, metadata={"convert": convert})
    return cast("ConvertedField[_Given, _Kept]", made)


@dataclass_transform(frozen_default=True, field_specifiers=(field, dataclasses.field))
def value(cls: type[Value]) -> type[Value]:
    """Make a class a frozen dataclass whose fields convert their input."""
    made = dataclasses.dataclass(frozen=True)(cls)
    for one in dataclasses.fields(made):  # type: ignore[arg-type] # a dataclass since the line before
        if "convert" in one.metadata:
            setattr(made, one.name, ConvertedField(one.name, one.metadata["convert"]))
    return made


def to_bool(given: bool, name: str) -> bool:
    """Convert to True or False."""
    return bool(given)


def none_or(convert: Callable[[Exact, str], _Kept]) -> Callable[[Exact | None, str], _Kept]:
    """Converter that leaves None unchanged; `__post_init__` must then set the field (`set_frozen_fields`)."""

    def convert_unless_none(given: Exact | None, name: str) -> _Kept:
        return cast("_Kept", None) if given is None else convert(given, name)

    return convert_unless_none
