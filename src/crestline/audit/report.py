"""The report of an audit as a value."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from crestline.audit.neighbours import Counts, HistogramShape
from crestline.audit.protocols import AttackResult

Line: TypeAlias = tuple[str, str]  # name and value


@dataclass(frozen=True, kw_only=True)
class Verdict(ABC):
    """Result of an attack, and its effort.

    Attributes:
        significance: Largest probability that an honest subject is called broken.
        pairs: Number of pairs of neighbouring tables in the attack.
        seconds: Duration of the attack.
        notes: What a reader must know about the attack, such as a guessed shape.
    """

    significance: float
    pairs: int
    seconds: float
    notes: tuple[str, ...] = ()

    subject: ClassVar[str]
    when_broken: ClassVar[str]
    unit_of_runs: ClassVar[str]

    @property
    @abstractmethod
    def is_broken(self) -> bool:
        """Whether a promise was observed to be broken."""

    @abstractmethod
    def _number_of_runs(self) -> int:
        """Number of times that the subject was run."""

    @abstractmethod
    def _subject(self) -> dict[str, Any]:
        """JSON fields: the subject, and its promise."""

    @abstractmethod
    def _findings(self) -> dict[str, Any]:
        """JSON fields: the findings, and their tables."""

    @property
    def verdict(self) -> str:
        """The result in words."""
        return self.when_broken if self.is_broken else "nothing was found"

    def to_dict(self) -> dict[str, Any]:
        """JSON values of the report; an infinite strength is the string `infinite`."""
        return {
            **self._subject(),
            "broken": self.is_broken,
            "verdict": self.verdict,
            **self._findings(),
            "significance": self.significance,
            "pairs": self.pairs,
            self.unit_of_runs: self._number_of_runs(),
            "seconds": round(self.seconds, 2),
            "notes": list(self.notes),
        }

    def _effort_lines(self) -> list[Line]:
        """The last lines of a report: its effort, its significance and its notes."""
        effort = f"{self.pairs} pairs, {self._number_of_runs():,} {self.unit_of_runs}, {self.seconds:.1f} s"
        fails = f"an honest {self.subject} fails with probability {self.significance:g}"
        notes = self.notes if self.is_broken else (*self.notes, "that nothing was found is no proof")
        return [("", ""), ("effort", f"{effort}; {fails}"), *(("note", note) for note in notes)]


@dataclass(frozen=True, kw_only=True)
class Report(Verdict):
    """Report of an attack on a mechanism.

    Attributes:
        mechanism: Its name.
        promise: Its guarantee in words.
        unit: Name of the claim's parameter.
        claimed: The parameter that it claims.
        contribution: Most items of the user by whom tables differ; None: any number.
        shapes: Shapes of the attacked histograms.
        found: The worst finding of each tester that has one.
        releases: Releases of the statistical tester.
    """

    mechanism: str
    promise: str
    unit: str
    claimed: float
    contribution: int | None
    shapes: tuple[HistogramShape, ...]
    found: tuple[AttackResult, ...]
    releases: int

    subject = "mechanism"
    when_broken = "the promise is broken"
    unit_of_runs = "releases"

    @property
    def is_broken(self) -> bool:
        return any(found.broken for found in self.found)

    @property
    def worst(self) -> AttackResult | None:
        """The strongest finding; a broken promise comes before an unbroken one."""
        return max(self.found, key=lambda found: (found.broken, found.strength), default=None)

    def _number_of_runs(self) -> int:
        return self.releases

    def _subject(self) -> dict[str, Any]:
        return {"mechanism": self.mechanism, "promise": self.promise}

    def _findings(self) -> dict[str, Any]:
        return {
            "claimed": {"unit": self.unit, "value": self.claimed},
            "found": [
                _result_to_dict(found) for found in sorted(self.found, key=lambda f: (not f.broken, -f.strength))
            ],
            "histograms": [_shape_to_dict(shape) for shape in self.shapes],
            "contribution": self.contribution,
        }

    def lines(self) -> list[Line]:
        """The report as lines of a name and a value."""
        result = [("mechanism", self.mechanism), ("promise", self.promise), ("verdict", self.verdict)]
        for found in sorted(self.found, key=lambda one: (not one.broken, -one.strength)):
            bound = "" if found.method == "exact" else "at least "
            result += [
                ("", ""),
                (found.method, f"{self.unit}: {bound}{found.strength:.4g} found, {self.claimed:.4g} claimed"),
                ("neighbours", found.pair.why),
                ("with the user", counts_text(found.pair.with_user)),
                ("without", counts_text(found.pair.without)),
                ("the event", found.event),
                ("its chance", _chances_text(found)),
            ]
        return result + self._effort_lines()


def counts_text(counts: Counts) -> str:
    """A small table in one line: `a 6, b 5, …`, with at most eight items."""
    rows = sorted(((label, count) for label, count in counts.items() if count), key=lambda row: (-row[1], row[0]))
    if not rows:
        return "(empty)"
    cells = [f"{label} {count}" for label, count in rows[:8]]
    return ", ".join(cells) + (f", … ({len(rows)} items)" if len(rows) > 8 else "")


def _result_to_dict(result: AttackResult) -> dict[str, Any]:
    return {
        "method": result.method,
        "broken": result.broken,
        "strength": result.strength if math.isfinite(result.strength) else "infinite",
        "with_user": {label: count for label, count in result.pair.with_user.items() if count},
        "without_user": {label: count for label, count in result.pair.without.items() if count},
        "why": result.pair.why,
        "histogram": _shape_to_dict(result.pair.shape),
        "event": result.event,
        "likelier": "with the user" if result.likelier_with_user else "without the user",
        "chance": result.chance,
        "chance_on_neighbour": result.chance_on_neighbour,
    }


def _shape_to_dict(shape: HistogramShape) -> dict[str, Any]:
    if shape.k_bar is None:
        return {"domain": "known", "items": list(shape.domain)}
    return {"domain": "unknown", "k_bar": shape.k_bar}


def _chances_text(result: AttackResult) -> str:
    words = ("", "") if result.method == "exact" else ("at least ", "at most ")
    likelier, other = ("with", "without") if result.likelier_with_user else ("without", "with")
    return f"{words[0]}{result.chance:.4g} {likelier} the user, {words[1]}{result.chance_on_neighbour:.4g} {other}"
