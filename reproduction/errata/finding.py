"""What a script shows: the number that the printed text gives, and the number that is right or allowed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum


class Kind(StrEnum):
    """What is the matter with the printed text."""

    BREAKS = "breaks its promise"  # a program that follows it is not as private as it says
    LOOSE = "valid and loose"
    WRONG = "wrong, and breaks no promise by itself"  # a lemma, a law, a condition


@dataclass(frozen=True)
class Shown:
    """One erratum, computed.

    what      what the two numbers are
    printed   what comes out of the text as it is printed
    right     what it should be: the promise that is broken, or the correct number
    corrected the same quantity for the corrected version, where that is another number than `right`
    where     the two tables, or the setting
    kind      whether a promise is broken
    """

    what: str
    printed: float
    right: float
    where: str
    corrected: float | None = None
    kind: Kind = Kind.BREAKS


Script = Callable[[], Shown]
SCRIPTS: dict[str, Script] = {}


def shows(number: str, kind: Kind = Kind.BREAKS) -> Callable[[Script], Script]:
    """Register a function as the script of an erratum."""

    def register(script: Script) -> Script:
        assert number not in SCRIPTS, f"{number} has two scripts"
        SCRIPTS[number] = lambda: replace(script(), kind=kind)
        return script

    return register


def text(number: float) -> str:
    """A number as the page of errata shows it."""
    return "0" if number == 0 else f"{number:.5g}"
