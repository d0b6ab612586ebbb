"""Published numbers against ours: met within Monte-Carlo error, explained, or failed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from crestline.reproduce.experiment import Check, Estimate, Paper, Results
from crestline.reproduce.published import Published

# Standard errors of the difference: two honest runs differ by more once in 15,000 numbers.
LIMIT = 4.0
# The last printed digit of a published number, and what data that were put together again may be off by.
ROUNDING = 0.001


@dataclass(frozen=True)
class Verdict:
    """A published number, ours, and how they compare."""

    check: Check
    ours: Estimate

    @property
    def published(self) -> Estimate:
        return self.check.published

    @property
    def place(self) -> str:
        cell = self.check.cell
        return f"{cell.data} {cell.label} k={cell.k} ε={float(cell.epsilon):g} {self.check.metric}"

    @property
    def met(self) -> bool:
        """Within `LIMIT` standard errors of the difference, beside rounding."""
        error = math.hypot(self.ours.error, self.published.error)
        return abs(self.ours.value - self.published.value) <= LIMIT * error + ROUNDING

    @property
    def failed(self) -> bool:
        return not self.met and not self.check.known

    @property
    def words(self) -> str:
        return "met" if self.met else self.check.known or "NOT MET"


def verdicts(papers: Iterable[Paper], results: Results, published: Published) -> list[Verdict]:
    """A verdict on every check whose cell has been run."""
    return list(_verdicts(papers, results, published))


def _verdicts(papers: Iterable[Paper], results: Results, published: Published) -> Iterator[Verdict]:
    for paper in papers:
        for check in paper.checks(published):
            ours = results.of(check.experiment, check.cell).get(check.metric)
            if ours is not None:
                yield Verdict(check, ours)
