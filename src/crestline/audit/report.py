"""The report of an audit, as a value."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from crestline.audit.finding import Found
from crestline.audit.neighbours import Counts, Shape

Line: TypeAlias = tuple[str, str]  # name and value


@dataclass(frozen=True, kw_only=True)
class Verdict(ABC):
    """How an attack ended, and with how much effort.

    significance   an honest subject is called broken with at most this probability
    pairs          how many pairs of neighbouring tables were tried
    """

    significance: float
    pairs: int
    seconds: float
    notes: tuple[str, ...] = ()

    subject: ClassVar[str]
    when_broken: ClassVar[str]
    counted: ClassVar[str]

    @property
    @abstractmethod
    def broken(self) -> bool:
        """Whether a promise was seen broken."""

    @abstractmethod
    def _times(self) -> int:
        """How many times the subject was run."""

    @abstractmethod
    def _subject(self) -> dict[str, Any]:
        """For JSON: what was attacked, and what it promises."""

    @abstractmethod
    def _findings(self) -> dict[str, Any]:
        """For JSON: what was found, and on which tables."""

    @property
    def verdict(self) -> str:
        """What was found, in words."""
        return self.when_broken if self.broken else "nothing was found"

    def to_dict(self) -> dict[str, Any]:
        """For JSON. An infinite strength is written as the string `infinite`."""
        return {
            **self._subject(),
            "broken": self.broken,
            "verdict": self.verdict,
            **self._findings(),
            "significance": self.significance,
            "pairs": self.pairs,
            self.counted: self._times(),
            "seconds": round(self.seconds, 2),
            "notes": list(self.notes),
        }

    def _last_lines(self) -> list[Line]:
        effort = f"{self.pairs} pairs, {self._times():,} {self.counted}, {self.seconds:.1f} s"
        fails = f"an honest {self.subject} fails with probability {self.significance:g}"
        notes = self.notes if self.broken else (*self.notes, "that nothing was found is no proof")
        return [("", ""), ("effort", f"{effort}; {fails}"), *(("note", note) for note in notes)]


@dataclass(frozen=True, kw_only=True)
class Report(Verdict):
    """What was attacked, with how much effort, and the worst that was found."""

    mechanism: str
    promise: str
    unit: str
    claimed: float
    contribution: int | None
    shapes: tuple[Shape, ...]
    found: tuple[Found, ...]
    releases: int

    subject = "mechanism"
    when_broken = "the promise is broken"
    counted = "releases"

    @property
    def broken(self) -> bool:
        return any(found.broken for found in self.found)

    @property
    def worst(self) -> Found | None:
        """A broken promise before an unbroken one, then the larger strength."""
        return max(self.found, key=lambda found: (found.broken, found.strength), default=None)

    def _times(self) -> int:
        return self.releases

    def _subject(self) -> dict[str, Any]:
        return {"mechanism": self.mechanism, "promise": self.promise}

    def _findings(self) -> dict[str, Any]:
        return {
            "claimed": {"unit": self.unit, "value": self.claimed},
            "found": [_found(found) for found in sorted(self.found, key=lambda f: (not f.broken, -f.strength))],
            "histograms": [_shape(shape) for shape in self.shapes],
            "contribution": self.contribution,
        }

    def lines(self) -> list[Line]:
        """The report, line by line: name and value."""
        made = [("mechanism", self.mechanism), ("promise", self.promise), ("verdict", self.verdict)]
        for found in sorted(self.found, key=lambda one: (not one.broken, -one.strength)):
            bound = "" if found.method == "exact" else "at least "
            made += [
                ("", ""),
                (found.method, f"{self.unit}: {bound}{found.strength:.4g} found, {self.claimed:.4g} claimed"),
                ("neighbours", found.pair.why),
                ("with the user", table_text(found.pair.with_user)),
                ("without", table_text(found.pair.without)),
                ("the event", found.event),
                ("its chance", _chances(found)),
            ]
        return made + self._last_lines()


def table_text(counts: Counts) -> str:
    """A small table in one line: `a 6, b 5, …`; long runs of equal counts are shortened."""
    rows = sorted(((label, count) for label, count in counts.items() if count), key=lambda row: (-row[1], row[0]))
    if not rows:
        return "(empty)"
    said = [f"{label} {count}" for label, count in rows[:8]]
    return ", ".join(said) + (f", … ({len(rows)} items)" if len(rows) > 8 else "")


def _found(found: Found) -> dict[str, Any]:
    return {
        "method": found.method,
        "broken": found.broken,
        "strength": found.strength if math.isfinite(found.strength) else "infinite",
        "with_user": {label: count for label, count in found.pair.with_user.items() if count},
        "without_user": {label: count for label, count in found.pair.without.items() if count},
        "why": found.pair.why,
        "histogram": _shape(found.pair.shape),
        "event": found.event,
        "likelier": "with the user" if found.likelier_with_user else "without the user",
        "chance": found.chance,
        "chance_on_neighbour": found.chance_on_neighbour,
    }


def _shape(shape: Shape) -> dict[str, Any]:
    if shape.k_bar is None:
        return {"domain": "known", "items": list(shape.domain)}
    return {"domain": "unknown", "k_bar": shape.k_bar}


def _chances(found: Found) -> str:
    words = ("", "") if found.method == "exact" else ("at least ", "at most ")
    likelier, other = ("with", "without") if found.likelier_with_user else ("without", "with")
    return f"{words[0]}{found.chance:.4g} {likelier} the user, {words[1]}{found.chance_on_neighbour:.4g} {other}"
