"""A recurring report: which periods are due by the clock, and each of them asked once.

Whether a period is asked depends on the clock and on the ledger, never on rows (P16.1). An answer is stored under the
name of the report and the period, so a report that runs again serves what is there, and after downtime it catches up.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from typing import Literal, TypeAlias

from crestline.answer.answer import Answer
from crestline.ask import ask, reservation_for_question, reserve_ahead
from crestline.errors import BudgetExhausted, ParameterError, QuestionError, SourceError
from crestline.exact_numbers import whole_number
from crestline.histogram.label_order import Label
from crestline.ledger.balance_rules import cost_fits
from crestline.ledger.entries import Entry
from crestline.ledger.ledger import Ledger
from crestline.periods.calendar import KINDS, Calendar, first_day, label_days, period_index, period_label
from crestline.prepare import Prepared, prepare
from crestline.question import Question
from crestline.randomness.entropy import Entropy
from crestline.sources.source import Source

Status: TypeAlias = Literal["published", "stopped", "missed"]

MOST_PERIODS = 1000  # of one report
MOST_AHEAD = 100
_VERSION = "report "  # how the versions of reports begin
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
    ahead      for how many periods that have not ended its cost is reserved, so that no other question takes it
    """

    name: str
    question: Question
    every: str
    since: str
    ahead: int = 0

    def __post_init__(self) -> None:
        whole_number(self.ahead, "ahead", at_least=0, at_most=MOST_AHEAD)
        if self.every not in KINDS:
            raise ParameterError(f"every must be one of {', '.join(KINDS)}, not {self.every!r}")
        if self.question.period is not None:
            raise QuestionError("a report follows the clock: leave period, since, until and last to it")
        first, _ = label_days(self.since)
        if first_day(self.every, period_index(self.every, first)) != first:
            raise QuestionError(f"{self.since!r} does not begin with a {self.every}: name one to start with")

    def check(self, calendar: Calendar) -> None:
        """Refuse a report whose periods are no whole periods of the budget."""
        if self.every not in _MADE_OF[calendar.per]:
            raise QuestionError(
                f"a report of every {self.every} cannot be made of {calendar.per}s, by which the budget is: take "
                f"{' or '.join(_MADE_OF[calendar.per])}"
            )

    def due_periods(self, calendar: Calendar, now: datetime) -> list[str]:
        """The periods of the report that have ended, by the clock and in the calendar's time zone."""
        running = Calendar(self.every, calendar.time, calendar.zone).running_period(now)
        start = period_index(self.every, label_days(self.since)[0])
        if running - start > MOST_PERIODS:
            raise QuestionError(f"a report has at most {MOST_PERIODS} periods: begin later than {self.since}")
        return [period_label(self.every, index) for index in range(start, running)]

    def coming_periods(self, calendar: Calendar, now: datetime) -> list[str]:
        """The periods of the report that have not ended and are reserved ahead: the running one is the first."""
        running = Calendar(self.every, calendar.time, calendar.zone).running_period(now)
        start = max(running, period_index(self.every, label_days(self.since)[0]))
        return [period_label(self.every, index) for index in range(start, running + self.ahead)]

    def version(self, label: str) -> str:
        """Under which version of the data an answer is stored: a public label, which no row decides."""
        return f"{_VERSION}{self.name} {label}"


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
class ReservedPeriod:
    """A period that has not ended, and whether the report's cost is reserved in it; if not, `reason` says why."""

    period: str
    reserved: bool
    reason: str = ""


@dataclass(frozen=True)
class ReportRun:
    """A report so far: its editions in order of time."""

    report: Report
    editions: tuple[Edition, ...]
    asked: int = 0  # how many of them were asked in this run
    ahead: tuple[ReservedPeriod, ...] = ()

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
        from crestline.reports.rank_chart import rank_chart

        return rank_chart(self)

    def _repr_html_(self) -> str:
        return self.svg()


def run_report(report: Report, *, source: Source, ledger: Ledger, entropy: Entropy, asking: bool = True) -> ReportRun:
    """The report so far. What is due and was never asked is asked now, and what is wanted ahead is reserved, unless
    `asking` is off; nothing twice."""
    now, budget = ledger.now(), ledger.budget
    if budget.calendar is None:
        raise QuestionError("a report needs a budget by period, such as per='week', time='day': its periods pay")
    report.check(budget.calendar)
    known, asking_with = _previous_questions(ledger), _ReportRunner(report, source, ledger, entropy)
    editions: list[Edition] = []
    asked = 0
    for label in report.due_periods(budget.calendar, now):
        number = known.taken.get(report.version(label))
        if number is not None:
            editions.append(_edition_from_ledger(ledger, label, number))
        elif asking:
            editions.append(asking_with.ask_edition(label, known.ahead.get(report.version(label))))
            asked += editions[-1].answer is not None
        else:
            editions.append(Edition(label, "missed", reason="not asked yet"))
    ahead = []
    for label in report.coming_periods(budget.calendar, now):
        held = known.ahead.get(report.version(label))
        seen = ReservedPeriod(label, held is not None, "" if held else "not reserved yet")
        ahead.append(asking_with.reserve_period(label, held) if asking else seen)
    return ReportRun(report, tuple(editions), asked, tuple(ahead))


def give_back_others(ledger: Ledger, names: Collection[str]) -> list[str]:
    """Give back what is reserved ahead for reports that are not among these; the versions they were reserved for."""
    given = []
    for entry in ledger.reserved_ahead():
        version = str(entry.content["data_version"])
        name = version.removeprefix(_VERSION).rpartition(" ")[0]
        if version.startswith(_VERSION) and name not in names:
            ledger.give_back(entry)
            given.append(version)
    return given


@dataclass(frozen=True)
class _PreviousQuestions:
    """By version: the receipts of what was asked or taken up, whatever became of it, and what is reserved ahead."""

    taken: Mapping[str, int]
    ahead: Mapping[str, Entry]


def _previous_questions(ledger: Ledger) -> _PreviousQuestions:
    """What the ledger knows. A question that was reserved is never reserved again, whatever became of it; unless it was
    given back, because it was never sent."""
    entries = ledger.history()
    begun = {entry.receipt for entry in entries if entry.kind in ("begun", "settled")}
    unsent = {entry.receipt for entry in entries if entry.kind == "voided"}
    taken: dict[str, int] = {}
    ahead: dict[str, Entry] = {}
    for entry in entries:
        if entry.kind == "reserved" and entry.sequence not in unsent:
            version = str(entry.content["data_version"])
            if entry.is_reserved_ahead and entry.sequence not in begun:
                ahead[version] = entry
            else:
                taken[version] = entry.sequence
    return _PreviousQuestions(taken, ahead)


def _edition_from_ledger(ledger: Ledger, label: str, number: int) -> Edition:
    found = ledger.answer(number)
    if found is None:
        return Edition(label, "missed", reason="charged, and lost before it was answered; it is not asked again")
    return _edition_of_answer(label, Answer.from_dict(found.answer))


@dataclass(frozen=True)
class _ReportRunner:
    """Asks a report's question of one period, or reserves what that will cost."""

    report: Report
    source: Source
    ledger: Ledger
    entropy: Entropy

    def ask_edition(self, label: str, held: Entry | None) -> Edition:
        """Ask now, at the expense of what was reserved ahead where there is something."""
        try:
            prepared = self._prepare_period(label)
            reserved = self._reservation_for(label, prepared, held)
            answer = ask(
                prepared,
                source=self.source,
                entropy=self.entropy,
                ledger=self.ledger,
                version=self.report.version(label),
                reserved=reserved,
            )
        except (BudgetExhausted, SourceError) as error:
            return Edition(label, "missed", reason=str(error))
        return _edition_of_answer(label, answer)

    def reserve_period(self, label: str, held: Entry | None) -> ReservedPeriod:
        """Reserve, unless that was done, and if every account can pay: what does not fit is not asked for, so that no
        refusal is written down."""
        prepared = self._prepare_period(label)
        if self._reservation_for(label, prepared, held) is not None:
            return ReservedPeriod(label, True)
        if not all(
            cost_fits(part.account.balance, prepared.cost, part.times)
            for part in self.ledger.charged_accounts(None, prepared.period_charge)
        ):
            return ReservedPeriod(label, False, "not enough is left of this period's budget")
        reserve_ahead(
            prepared, source=self.source, entropy=self.entropy, ledger=self.ledger, version=self.report.version(label)
        )
        return ReservedPeriod(label, True)

    def _reservation_for(self, label: str, prepared: Prepared, held: Entry | None) -> int | None:
        version = self.report.version(label)
        return reservation_for_question(
            held, prepared, source=self.source, entropy=self.entropy, ledger=self.ledger, version=version
        )

    def _prepare_period(self, label: str) -> Prepared:
        budget = self.ledger.budget
        assert budget.calendar is not None, "checked by whoever runs the report"
        question = replace(self.report.question, period=budget.calendar.covering_periods(*label_days(label)))
        return prepare(question, budget=budget, limits=self.source.limits, now=self.ledger.now())


def _edition_of_answer(label: str, answer: Answer) -> Edition:
    return Edition(label, "stopped" if answer.stopped else "published", answer)
