"""Lazy fields: fields of a frozen dataclass that are computed on first access."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, Generic, TypeVar, cast, overload

Value = TypeVar("Value")
Owner = TypeVar("Owner", bound="HasLazyFields")


class LazyField(Generic[Value]):
    """A field that may be given as a function without arguments, which is called on first access."""

    def __init__(self, default: Value) -> None:
        self._default = default
        self._name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Value: ...

    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...

    def __get__(self, instance: object, owner: type) -> Value:
        if instance is None:
            return self._default  # a dataclass reads the default of a field from the class
        value_or_function = self.stored_value(instance)
        value = value_or_function() if callable(value_or_function) else value_or_function
        vars(instance)[self._name] = value
        return value

    def __set__(self, instance: object, value: Value | Callable[[], Value]) -> None:
        vars(instance)[self._name] = value

    def stored_value(self, instance: object) -> Value | Callable[[], Value]:
        """The value of the field, or the function if it has not been called."""
        return cast("Value | Callable[[], Value]", vars(instance)[self._name])


class HasLazyFields:
    """Base of frozen dataclasses with lazy fields."""

    def replace_fields(self: Owner, **changes: object) -> Owner:
        """Copy with other values, as `dataclasses.replace`, but without computing lazy fields."""
        values = {part.name: _stored_value(self, part.name) for part in fields(self) if part.init}  # type: ignore[arg-type] # all are dataclasses
        return type(self)(**values | changes)

    def __getstate__(self) -> dict[str, Any]:
        """State for copying and pickling, with every lazy field computed."""
        for part in fields(self):  # type: ignore[arg-type] # all are dataclasses
            getattr(self, part.name)
        return vars(self)


def _stored_value(owner: object, name: str) -> object:
    later = vars(type(owner)).get(name)
    return later.stored_value(owner) if isinstance(later, LazyField) else getattr(owner, name)
