"""The report of an attack on a whole program, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Difference:
    """Two neighbouring tables that a program told apart, every time out of `times`."""

    attack: str
    file: str
    why: str
    where: str | None
    with_user: str
    without: str
    times: int


@dataclass(frozen=True)
class ProgramReport:
    """What was attacked, with how much effort, and every pair of tables that it told apart."""

    program: str
    promise: tuple[float, float]
    found: tuple[Difference, ...]
    significance: float
    pairs: int
    runs: int
    seconds: float
    notes: tuple[str, ...] = ()
    ran: bool = True

    @property
    def broken(self) -> bool:
        return bool(self.found)

    @property
    def verdict(self) -> str:
        return "a user's presence can be seen" if self.broken else "nothing was found"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "program": self.program,
            "promise": {"epsilon": self.promise[0], "delta": self.promise[1]},
            "broken": self.broken,
            "verdict": self.verdict,
            "found": [vars(one) for one in self.found],
            "significance": self.significance,
            "pairs": self.pairs,
            "runs": self.runs,
            "seconds": round(self.seconds, 2),
            "notes": list(self.notes),
        }

    def lines(self, most: int = 8) -> list[tuple[str, str]]:
        """The report, line by line: name and value; at most so many differences are shown."""
        made = [
            ("program", self.program),
            ("promise", f"at most ({self.promise[0]:g}, {self.promise[1]:g}) for one question"),
            ("verdict", self.verdict),
        ]
        for one in self.found[:most]:
            made += [("", ""), (one.attack, f"{one.file}: {one.why}")]
            made += [] if one.where is None else [("where", one.where[:200])]
            made += [("with the user", one.with_user), ("without", one.without), ("seen", f"{one.times} times of each")]
        if len(self.found) > most:
            made += [("", ""), ("more", f"{len(self.found) - most} pairs; --format json lists them all")]
        effort = f"{self.pairs} pairs, {self.runs:,} runs, {self.seconds:.1f} s"
        made += [("", ""), ("effort", f"{effort}; an honest program fails with probability {self.significance:g}")]
        made += [("note", note) for note in self.notes]
        return made if self.broken else [*made, ("note", "that nothing was found is no proof")]
