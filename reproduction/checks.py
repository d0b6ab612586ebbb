"""Published numbers against ours: met within Monte-Carlo error, explained, or failed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from reproduction.experiment import Check, Estimate, Paper, Results
from reproduction.published import Published

# Standard errors of the difference: two honest runs differ by more once in 15,000 numbers.
LIMIT = 4.0
# The last printed digit of a published number.
ROUNDING = 0.001


@dataclass(frozen=True)
class Verdict:
    """A published number, ours, and how they compare."""

    check: Check
    ours: Estimate
    spread: float = 0.0

    @property
    def error(self) -> float:
        """The standard error of the difference: of ours, of theirs (the same, over their trials), and of the data."""
        theirs = self.ours.error * math.sqrt(self.check.cell.trials / self.check.trials) if self.check.trials else 0.0
        return math.hypot(self.ours.error, theirs, self.spread)

    @property
    def place(self) -> str:
        cell = self.check.cell
        return f"{cell.data} {cell.label} k={cell.k} ε={float(cell.epsilon):g} {self.check.metric}"

    @property
    def met(self) -> bool:
        """Within `LIMIT` standard errors of the difference, beside rounding."""
        return abs(self.ours.value - self.check.published) <= LIMIT * self.error + ROUNDING

    @property
    def failed(self) -> bool:
        return not self.met and not self.check.known

    @property
    def words(self) -> str:
        return "met" if self.met else self.check.known or "NOT MET"


def verdicts(papers: Iterable[Paper], results: Results, published: Published) -> list[Verdict]:
    """A verdict on every check whose cell has been run."""
    return [one for paper in papers for one in verdicts_of(paper.checks(published), results)]


def verdicts_of(checks: Iterable[Check], results: Results) -> list[Verdict]:
    """A verdict on each of these whose cell has been run."""
    return list(_verdicts(checks, results))


def _verdicts(checks: Iterable[Check], results: Results) -> Iterator[Verdict]:
    for check in checks:
        ours = results.of(check.experiment, check.cell).get(check.metric)
        if ours is not None:
            moved = results.of(check.spread, check.cell).get(check.metric, Estimate(0.0))
            yield Verdict(check, ours, moved.error)
