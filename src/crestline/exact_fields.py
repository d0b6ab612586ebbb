"""Frozen values whose fields know how loose input becomes exact.

    @value
    class PureDP:
        epsilon: Number = field(not_negative)

takes `PureDP("0.1")` and keeps `Fraction(1, 10)`. A type checker knows both: what the constructor takes, and what the
field holds. Checks that compare several fields belong into `__post_init__`, which sees them converted.
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
    """A field that is given as one type and kept as another: setting it converts.

    It has no `__get__` when the program runs, so reading a field is as quick as reading any attribute.
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
    default: _Given = dataclasses.MISSING,  # type: ignore[assignment] # there is none
    kw_only: bool = False,
) -> ConvertedField[_Given, _Kept]:
    """A field of a `@value`: `convert(given, name)` is what is kept, or an error that names the field."""
    made: object = dataclasses.field(default=default, kw_only=kw_only, metadata={"convert": convert})
    return cast("ConvertedField[_Given, _Kept]", made)


@dataclass_transform(frozen_default=True, field_specifiers=(field, dataclasses.field))
def value(cls: type[Value]) -> type[Value]:
    """A frozen dataclass whose fields convert what they are given."""
    made = dataclasses.dataclass(frozen=True)(cls)
    for one in dataclasses.fields(made):  # type: ignore[arg-type] # a dataclass since the line before
        if "convert" in one.metadata:
            setattr(made, one.name, ConvertedField(one.name, one.metadata["convert"]))
    return made


def to_bool(given: bool, name: str) -> bool:
    """True or False."""
    return bool(given)


def none_or(convert: Callable[[Exact, str], _Kept]) -> Callable[[Exact | None, str], _Kept]:
    """None stays None for the moment: `__post_init__` must fill such a field (`fill`) from the others."""

    def convert_unless_none(given: Exact | None, name: str) -> _Kept:
        return cast("_Kept", None) if given is None else convert(given, name)

    return convert_unless_none
