"""Reading settings out of TOML: every mistake is named with its place in the file and with what to write instead."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias, TypeVar

from crestline.errors import CrestlineError
from crestline.ledger.budget import Budget, Window

Path: TypeAlias = tuple[str, ...]
Value = TypeVar("Value")
Default = TypeVar("Default")

_BUDGET = (
    *("epsilon", "delta", "kind", "slack", "items", "questions", "item_epsilon", "question_delta"),
    *("per", "time", "zone", "cap"),
)
_CAP = "a cap is written cap = { periods = 12, epsilon = 4, delta = 1e-6 }"


class Mistake(Exception):
    """A setting that cannot be used: where it is, and what to do."""

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(message)
        self.path = path


def parse_toml(text: str) -> dict[str, Any]:
    """The values of a TOML text; numbers with a point stay exact."""
    return tomllib.loads(text, parse_float=Decimal)


def line_of_setting(text: str, path: Path) -> int:
    """The line where a setting is written; for one that is missing, the line of the table it belongs to.

    The text must be valid TOML. It is read line by line: a setting stands where it first appears in what was read.
    """
    lines = text.splitlines()
    while path:
        complete = 0  # so many lines are whole statements
        for end in range(1, len(lines) + 1):
            try:
                values = parse_toml("\n".join(lines[:end]))
            except tomllib.TOMLDecodeError:
                continue
            if _has_path(values, path):
                return complete + 1
            complete = end
        path = path[:-1]
    return 1


def _has_path(values: object, path: Path) -> bool:
    for name in path:
        if not isinstance(values, dict) or name not in values:
            return False
        values = values[name]
    return True


@dataclass(frozen=True)
class Section:
    """One table of the file. Each method reads one setting, or says what is wrong with it."""

    path: Path
    values: Mapping[str, Any]

    def refuse_unknown(self, *names: str) -> None:
        """Refuse settings that nobody reads: they are misspelled."""
        for name in self.values:
            if name not in names:
                close = difflib.get_close_matches(name, names, 1)
                hint = f"did you mean {close[0]!r}?" if close else f"it may hold: {', '.join(names)}"
                raise Mistake((*self.path, name), f"{self._full_name(name)} is not a setting; {hint}")

    def section(self, name: str) -> Section:
        """A table inside this one; empty where it is left out."""
        return Section((*self.path, name), self._typed_value(name, dict, "a table", {}))

    def sections(self) -> list[tuple[str, Section]]:
        """Every table inside this one, by name."""
        return [(name, self.section(name)) for name in self.values]

    def text(self, name: str) -> str:
        """A text that must be given."""
        self._refuse_missing(name, "a text in double quotes")
        return str(self.optional_text(name))

    def optional_text(self, name: str, default: str | None = None) -> str | None:
        value: str | None = self._typed_value(name, str, "a text in double quotes", default)
        if value == "":
            raise self.mistake_at(name, "must not be empty; write a value, or leave the setting out")
        return value

    def choice(self, name: str, allowed: tuple[str, ...], default: str) -> str:
        """One of a few words."""
        value = self._typed_value(name, str, "a text in double quotes", default)
        if value not in allowed:
            raise self.mistake_at(name, f"must be one of {', '.join(map(repr, allowed))}, not {value!r}")
        return str(value)

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts; empty where it is left out."""
        values = self._typed_value(name, list, 'a list of texts such as ["country", "day"]', [])
        if not all(isinstance(value, str) and value for value in values):
            raise self.mistake_at(name, 'must be a list of texts such as ["country", "day"]')
        return tuple(values)

    def boolean(self, name: str) -> bool:
        """True or false; false where it is left out."""
        return bool(self._typed_value(name, bool, "true or false", False))

    def whole_number(self, name: str, default: int | None, *, at_least: int = 1) -> int | None:
        """A whole number."""
        value = self._typed_value(name, int, "a whole number", default)
        if isinstance(value, bool) or (value is not None and value < at_least):
            raise self.mistake_at(name, f"must be a whole number of at least {at_least}")
        return None if value is None else int(value)

    def budget(self, name: str) -> Budget:
        """A budget: a table with epsilon, delta and, where wanted, kind and its options."""
        self._refuse_missing(name, "a budget such as { epsilon = 2, delta = 1e-7 }")
        part = self.section(name)
        part.refuse_unknown(*_BUDGET)
        if "epsilon" not in part.values:
            raise part.mistake_at("epsilon", "is missing; a budget is written { epsilon = 2, delta = 1e-7 }")
        try:
            return Budget(**{**part.values, "cap": part._read_cap() if "cap" in part.values else None})
        except CrestlineError as error:
            raise Mistake(part.path, f"{'.'.join(part.path)}: {error}") from None

    def _read_cap(self) -> Window:
        """What any so many periods may cost together; of the budget's own kind."""
        part = self.section("cap")
        part.refuse_unknown("periods", "epsilon", "delta")
        periods = part.whole_number("periods", None, at_least=2)
        if periods is None or "epsilon" not in part.values:
            raise part.mistake_at("periods" if periods is None else "epsilon", f"is missing; {_CAP}")
        kind = str(self.values.get("kind", "zcdp"))
        return Window(periods, part.values["epsilon"], part.values.get("delta", 0), kind)

    def mistake_at(self, name: str, message: str) -> Mistake:
        """What is wrong with one setting."""
        return Mistake((*self.path, name), f"{self._full_name(name)} {message}")

    def _refuse_missing(self, name: str, what: str) -> None:
        if name not in self.values:
            raise self.mistake_at(name, f"is missing; add {what}")

    def _typed_value(self, name: str, kind: type[Value], what: str, default: Default) -> Value | Default:
        if name not in self.values:
            return default
        value = self.values[name]
        if not isinstance(value, kind):
            raise self.mistake_at(name, f"must be {what}")
        return value

    def _full_name(self, name: str) -> str:
        return ".".join((*self.path, name))
