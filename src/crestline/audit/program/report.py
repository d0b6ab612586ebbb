"""The report of an attack on a whole program as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from crestline.audit.report import Line, Verdict


@dataclass(frozen=True)
class Difference:
    """Two neighbouring tables that a program distinguished.

    Attributes:
        attack: Name of the attack.
        file: Kind of the files.
        why: What is special about the user's rows.
        where: The filter, or None.
        with_user: The outcome with the user.
        without: The outcome without.
        times: Number of repetitions that all confirmed it.
    """

    attack: str
    file: str
    why: str
    where: str | None
    with_user: str
    without: str
    times: int


@dataclass(frozen=True, kw_only=True)
class ProgramReport(Verdict):
    """Report of an attack on a program.

    Attributes:
        program: Its name.
        promise: The ε and δ that it promises for one question.
        found: Every pair of tables that it distinguished.
        runs: Number of times that it was run.
        ran: Whether it answered at least once.
    """

    program: str
    promise: tuple[float, float]
    found: tuple[Difference, ...]
    runs: int
    ran: bool = True

    subject = "program"
    when_broken = "a user's presence can be seen"
    unit_of_runs = "runs"

    @property
    def is_broken(self) -> bool:
        return bool(self.found)

    def _number_of_runs(self) -> int:
        return self.runs

    def _subject(self) -> dict[str, Any]:
        return {"program": self.program, "promise": {"epsilon": self.promise[0], "delta": self.promise[1]}}

    def _findings(self) -> dict[str, Any]:
        return {"found": [vars(one) for one in self.found]}

    def lines(self, most: int = 8) -> list[Line]:
        """The report as lines of a name and a value, with at most `most` differences."""
        result = [
            ("program", self.program),
            ("promise", f"at most ({self.promise[0]:g}, {self.promise[1]:g}) for one question"),
            ("verdict", self.verdict),
        ]
        for one in self.found[:most]:
            result += [("", ""), (one.attack, f"{one.file}: {one.why}")]
            result += [] if one.where is None else [("where", one.where[:200])]
            result += [
                ("with the user", one.with_user),
                ("without", one.without),
                ("seen", f"{one.times} times of each"),
            ]
        if len(self.found) > most:
            result += [("", ""), ("more", f"{len(self.found) - most} pairs; --format json lists them all")]
        return result + self._effort_lines()
