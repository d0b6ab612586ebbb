"""A recurring report: which periods are due by the clock, and each of them asked once.

Whether a period is asked depends on the clock and on the ledger, never on rows (P16.1). An answer is stored under the
name of the report and the period, so a report that runs again serves what is there, and after downtime it catches up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from typing import Literal, TypeAlias

from crestline.answer.answer import Answer
from crestline.ask import ask
from crestline.errors import BudgetExhausted, ParameterError, QuestionError, SourceError
from crestline.histogram.labels import Label
from crestline.ledger.ledger import Ledger
from crestline.periods.calendar import KINDS, Calendar, days_of, first_day, index_of, label_of
from crestline.prepare import prepare
from crestline.question import Question
from crestline.randomness.entropy import Entropy
from crestline.sources.source import Source

Status: TypeAlias = Literal["published", "stopped", "missed"]

MOST_PERIODS = 1000  # of one report
_MADE_OF = {
    "day": KINDS,
    "week": ("week",),
    "month": ("month", "quarter", "year"),
    "quarter": ("quarter", "year"),
    "year": ("year",),
}


@dataclass(frozen=True)
class Report:
    """A question that is asked again for each day, week, month, quarter or year.

    name       its answers are stored in the ledger under this name
    question   without periods: those follow from the clock
    every      how long a period of the report is: a period of the budget, or several of them
    since      the first period that is reported
    """

    name: str
    question: Question
    every: str
    since: str

    def __post_init__(self) -> None:
        if self.every not in KINDS:
            raise ParameterError(f"every must be one of {', '.join(KINDS)}, not {self.every!r}")
        if self.question.period is not None:
            raise QuestionError("a report follows the clock: leave period, since, until and last to it")
        first, _ = days_of(self.since)
        if first_day(self.every, index_of(self.every, first)) != first:
            raise QuestionError(f"{self.since!r} does not begin with a {self.every}: name one to start with")

    def check(self, calendar: Calendar) -> None:
        """Refuse a report whose periods are no whole periods of the budget."""
        if self.every not in _MADE_OF[calendar.per]:
            raise QuestionError(
                f"a report of every {self.every} cannot be made of {calendar.per}s, by which the budget is: take "
                f"{' or '.join(_MADE_OF[calendar.per])}"
            )

    def due(self, calendar: Calendar, now: datetime) -> list[str]:
        """The periods of the report that have ended, by the clock and in the calendar's time zone."""
        running = Calendar(self.every, calendar.time, calendar.zone).running(now)
        start = index_of(self.every, days_of(self.since)[0])
        if running - start > MOST_PERIODS:
            raise QuestionError(f"a report has at most {MOST_PERIODS} periods: begin later than {self.since}")
        return [label_of(self.every, index) for index in range(start, running)]

    def version(self, label: str) -> str:
        """Under which version of the data an answer is stored: a public label, which no row decides."""
        return f"report {self.name} {label}"


@dataclass(frozen=True)
class Edition:
    """What came of one period. Without an answer it was missed, and `reason` says why."""

    period: str
    status: Status
    answer: Answer | None = None
    reason: str = ""

    @property
    def items(self) -> tuple[Label, ...]:
        return () if self.answer is None else self.answer.listed_items

    @property
    def counts(self) -> tuple[Fraction, ...] | None:
        return None if self.answer is None else self.answer.counts


@dataclass(frozen=True)
class Series:
    """A report so far: its editions in order of time."""

    report: Report
    editions: tuple[Edition, ...]
    asked: int = 0  # how many of them were asked in this run

    def __len__(self) -> int:
        return len(self.editions)

    def rows(self) -> list[dict[str, object]]:
        """One row for each item of each edition; an edition without items has one row that says why."""
        from crestline.reports.tabular import rows

        return rows(self)

    def to_pandas(self) -> object:
        """The rows as a `pandas.DataFrame`."""
        import pandas

        return pandas.DataFrame(self.rows())

    def svg(self) -> str:
        """The ranking over time as a picture."""
        from crestline.reports.bump import bump

        return bump(self)

    def _repr_html_(self) -> str:
        return self.svg()


def run(report: Report, *, source: Source, ledger: Ledger, entropy: Entropy, asking: bool = True) -> Series:
    """The report so far. What is due and was never asked is asked now, unless `asking` is off; nothing twice."""
    now, budget = ledger.now(), ledger.budget
    if budget.calendar is None:
        raise QuestionError("a report needs a budget by period, such as per='week', time='day': its periods pay")
    report.check(budget.calendar)
    known = _asked_before(ledger)
    editions: list[Edition] = []
    asked = 0
    for label in report.due(budget.calendar, now):
        number = known.get(report.version(label))
        if number is not None:
            editions.append(_stored(ledger, label, number))
        elif asking:
            editions.append(_new(report, label, source, ledger, entropy))
            asked += editions[-1].answer is not None
        else:
            editions.append(Edition(label, "missed", reason="not asked yet"))
    return Series(report, tuple(editions), asked)


def _asked_before(ledger: Ledger) -> Mapping[str, int]:
    """Receipts by version. A question that was reserved is never reserved again, whatever became of it."""
    entries = (entry for entry in ledger.history() if entry.kind == "reserved")
    return {str(entry.content["data_version"]): entry.sequence for entry in entries}


def _stored(ledger: Ledger, label: str, number: int) -> Edition:
    found = ledger.answer(number)
    if found is None:
        return Edition(label, "missed", reason="charged, and lost before it was answered; it is not asked again")
    return _edition(label, Answer.from_dict(found.answer))


def _new(report: Report, label: str, source: Source, ledger: Ledger, entropy: Entropy) -> Edition:
    budget = ledger.budget
    assert budget.calendar is not None, "checked by whoever runs the report"
    question = replace(report.question, period=budget.calendar.covering(*days_of(label)))
    try:
        prepared = prepare(question, budget=budget, limits=source.limits, now=ledger.now())
        answer = ask(prepared, source=source, entropy=entropy, ledger=ledger, version=report.version(label))
    except BudgetExhausted as refusal:
        return Edition(label, "missed", reason=str(refusal))
    except SourceError as error:
        return Edition(label, "missed", reason=str(error))
    return _edition(label, answer)


def _edition(label: str, answer: Answer) -> Edition:
    return Edition(label, "stopped" if answer.stopped else "published", answer)
