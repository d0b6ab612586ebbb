"""Recurring reports: which periods are due by the clock, and the answers of each.

Whether a period is asked depends on the clock and on the ledger, never on rows (P16.1). An answer is stored under the
name of the report and the period, so a report that runs again serves stored answers, and asks what it missed.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from typing import Literal, TypeAlias

from crestline.answer.answer import Answer
from crestline.answer.count_intervals import Interval
from crestline.ask import ask, create_charging, is_reserved_for, reserve_ahead
from crestline.errors import BudgetExhausted, ParameterError, QuestionError, SourceError
from crestline.exact_numbers import whole_number
from crestline.histogram.label_order import Label
from crestline.ledger.balance_rules import cost_fits
from crestline.ledger.entries import Entry, canonical_json
from crestline.ledger.ledger import Ledger
from crestline.ledger.receipt import LONGEST_WAIT, RequestKey, RequestRefused
from crestline.periods.calendar import KINDS, Calendar, first_day, label_days, period_index, period_label
from crestline.prepare import Prepared, prepare
from crestline.question import Question
from crestline.randomness.entropy import Entropy
from crestline.sources.source import Source

Status: TypeAlias = Literal["published", "stopped", "missed"]

MOST_PERIODS = 1000  # periods of one report
MOST_AHEAD = 100
_VERSION = "report "  # prefix of the data versions under which answers of reports are stored
_MADE_OF = {  # for each period of a budget, the periods of a report that consist of whole ones
    "day": KINDS,
    "week": ("week",),
    "month": ("month", "quarter", "year"),
    "quarter": ("quarter", "year"),
    "year": ("year",),
}


@dataclass(frozen=True)
class Report:
    """A question that is asked for each day, week, month, quarter or year.

    Attributes:
        name: Name under which its answers are stored in the ledger.
        question: Question without periods; the clock determines these.
        every: Period of the report, which is one period of the budget or several.
        since: Label of the first period.
        ahead: Number of periods that have not ended for which the cost is reserved.
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
        """Raise QuestionError if a period of the report does not consist of whole periods of the budget."""
        if self.every not in _MADE_OF[calendar.per]:
            raise QuestionError(
                f"a report of every {self.every} cannot be made of {calendar.per}s, by which the budget is: take "
                f"{' or '.join(_MADE_OF[calendar.per])}"
            )

    def due_periods(self, calendar: Calendar, now: datetime) -> list[str]:
        """Labels of the periods of the report that have ended, by the clock and in the calendar's time zone.

        Raises QuestionError if there are more than 1000.
        """
        running = Calendar(self.every, calendar.time, calendar.zone).running_period(now)
        start = period_index(self.every, label_days(self.since)[0])
        if running - start > MOST_PERIODS:
            raise QuestionError(f"a report has at most {MOST_PERIODS} periods: begin later than {self.since}")
        return [period_label(self.every, index) for index in range(start, running)]

    def coming_periods(self, calendar: Calendar, now: datetime) -> list[str]:
        """Labels of the periods that have not ended and are reserved ahead, beginning with the one that is running."""
        running = Calendar(self.every, calendar.time, calendar.zone).running_period(now)
        start = max(running, period_index(self.every, label_days(self.since)[0]))
        return [period_label(self.every, index) for index in range(start, running + self.ahead)]

    def version(self, label: str) -> str:
        """Data version under which the answer of a period is stored: a public label, which depends on no row."""
        return f"{_VERSION}{self.name} {label}"

    def request(self, ledger: Ledger, label: str) -> RequestKey:
        """Key under which a period is asked once, by all processes on all hosts."""
        return RequestKey(_VERSION + canonical_json([ledger.dataset, self.name, label]))


@dataclass(frozen=True)
class Edition:
    """Answer of one period of a report; without an answer it was missed, for `reason`."""

    period: str
    status: Status
    answer: Answer | None = None
    reason: str = ""

    @property
    def items(self) -> tuple[Label, ...]:
        """Items of the answer, in order; empty without an answer."""
        return () if self.answer is None else self.answer.listed_items

    @property
    def counts(self) -> tuple[Fraction, ...] | None:
        """Noisy counts of the items, if the report asks for them."""
        return None if self.answer is None else self.answer.counts

    @property
    def intervals(self) -> tuple[Interval, ...] | None:
        """The interval of each count."""
        return None if self.answer is None else self.answer.intervals


@dataclass(frozen=True)
class ReservedPeriod:
    """A period that has not ended, and whether the report's cost is reserved in it; if not, `reason` states why."""

    period: str
    reserved: bool
    reason: str = ""


@dataclass(frozen=True)
class ReportRun:
    """Editions of a report up to now.

    Attributes:
        report: The report.
        editions: Its editions, in order of time.
        asked: Number of editions that were asked in this run.
        ahead: Periods that have not ended, with their reservations.
    """

    report: Report
    editions: tuple[Edition, ...]
    asked: int = 0
    ahead: tuple[ReservedPeriod, ...] = ()

    def __len__(self) -> int:
        return len(self.editions)

    def rows(self) -> list[dict[str, object]]:
        """One row for each item of each edition; an edition without items has one row, with the reason."""
        from crestline.reports.tabular import rows

        return rows(self)

    def to_pandas(self) -> object:
        """The rows as a `pandas.DataFrame`."""
        import pandas

        return pandas.DataFrame(self.rows())

    def svg(self) -> str:
        """Chart of the ranking over time, as SVG."""
        from crestline.reports.rank_chart import rank_chart

        return rank_chart(self)

    def __str__(self) -> str:
        from crestline.reports.tabular import to_text

        return to_text(self)

    def _repr_html_(self) -> str:
        return self.svg()


def run_report(report: Report, *, source: Source, ledger: Ledger, entropy: Entropy, asking: bool = True) -> ReportRun:
    """Ask what is due and was never asked, reserve what is wanted ahead, and return all editions.

    Args:
        report: The report.
        source: Source of the rows.
        ledger: Ledger with a budget by period.
        entropy: Source of random bits.
        asking: False asks and reserves nothing, and returns the editions that there are.

    Raises:
        QuestionError: The budget is not by period, or its periods do not make up those of the report.
    """
    now, budget = ledger.now(), ledger.budget
    if budget.calendar is None:
        raise QuestionError("a report needs a budget by period, such as per='week', time='day': its periods pay")
    report.check(budget.calendar)
    known, asking_with = ledger.editions(), _ReportRunner(report, source, ledger, entropy)
    editions: list[Edition] = []
    asked = 0
    for label in report.due_periods(budget.calendar, now):
        claim = known.get(report.request(ledger, label).key)
        if claim is not None and not _is_ahead(*claim):
            editions.append(_edition_from_ledger(ledger, label, report))
        elif asking:
            editions.append(asking_with.ask_edition(label, None if claim is None else claim[0]))
            asked += editions[-1].answer is not None and not editions[-1].answer.stored
        else:
            editions.append(Edition(label, "missed", reason="not asked yet"))
    ahead = []
    for label in report.coming_periods(budget.calendar, now):
        claim = known.get(report.request(ledger, label).key)
        held = claim[0] if claim is not None and _is_ahead(*claim) else None
        seen = ReservedPeriod(label, held is not None, "" if held else "not reserved yet")
        ahead.append(asking_with.reserve_period(label, held) if asking else seen)
    return ReportRun(report, tuple(editions), asked, tuple(ahead))


def give_back_others(ledger: Ledger, names: Collection[str]) -> list[str]:
    """Give back what is reserved ahead for reports with other names, and return the data versions concerned."""
    versions = []
    for entry, following in ledger.editions().values():
        version = str(entry.content["data_version"])
        name = version.removeprefix(_VERSION).rpartition(" ")[0]
        if _is_ahead(entry, following) and name not in names:
            ledger.give_back(entry)
            versions.append(version)
    return versions


def _is_ahead(reserved: Entry, following: list[Entry]) -> bool:
    """Whether a reservation was made ahead, and its question was not begun."""
    return reserved.is_reserved_ahead and not following


def _edition_from_ledger(ledger: Ledger, label: str, report: Report) -> Edition:
    """Edition of a question that was asked before, by any process; missed if it has no answer.

    One that was reserved a moment ago may be about to be answered elsewhere: it is waited for.
    """
    try:
        found = ledger.find_request(report.request(ledger, label), LONGEST_WAIT)
    except RequestRefused:
        return Edition(label, "missed", reason="charged, and lost before it was answered; it is not asked again")
    assert found is not None, "a question that was begun is not given back"
    return _edition_of_answer(label, Answer.from_dict(found.answer))


@dataclass(frozen=True)
class _ReportRunner:
    """Asks a report's question for one period, or reserves its cost."""

    report: Report
    source: Source
    ledger: Ledger
    entropy: Entropy

    def ask_edition(self, label: str, reservation: Entry | None) -> Edition:
        """Ask the question for a period, from the reservation made ahead if there is one.

        A budget that is exhausted, or a source that fails, makes a missed edition.
        """
        try:
            prepared = self._prepare_period(label)
            self._give_back_other(label, prepared, reservation)
            answer = ask(
                prepared,
                source=self.source,
                entropy=self.entropy,
                charge=create_charging(self.ledger, request=self.report.request(self.ledger, label)),
                version=self.report.version(label),
            )
        except RequestRefused:
            return _edition_from_ledger(self.ledger, label, self.report)
        except (BudgetExhausted, SourceError) as error:
            return Edition(label, "missed", reason=str(error))
        return _edition_of_answer(label, answer)

    def reserve_period(self, label: str, reservation: Entry | None) -> ReservedPeriod:
        """Reserve the cost of a period, unless that was done, or an account cannot pay.

        A cost that does not fit is not submitted to the ledger, so that it records no refusal.
        """
        prepared = self._prepare_period(label)
        if self._give_back_other(label, prepared, reservation):
            return ReservedPeriod(label, True)
        if not all(
            cost_fits(part.account.balance, prepared.cost, part.times)
            for part in self.ledger.charged_accounts(None, prepared.period_charge)
        ):
            return ReservedPeriod(label, False, "not enough is left of this period's budget")
        reserve_ahead(
            prepared,
            source=self.source,
            entropy=self.entropy,
            ledger=self.ledger,
            version=self.report.version(label),
            request=self.report.request(self.ledger, label),
        )
        return ReservedPeriod(label, True)

    def _give_back_other(self, label: str, prepared: Prepared, reservation: Entry | None) -> bool:
        """Whether a reservation was made ahead for this period's question; one for another question is given back."""
        if reservation is None:
            return False
        version = self.report.version(label)
        if is_reserved_for(reservation, prepared, source=self.source, entropy=self.entropy, version=version):
            return True
        self.ledger.give_back(reservation)
        return False

    def _prepare_period(self, label: str) -> Prepared:
        """The report's question for a period, with its mechanism."""
        budget = self.ledger.budget
        assert budget.calendar is not None, "checked by `run_report`"
        question = replace(self.report.question, period=budget.calendar.covering_periods(*label_days(label)))
        return prepare(question, budget=budget, limits=self.source.limits, now=self.ledger.now())


def _edition_of_answer(label: str, answer: Answer) -> Edition:
    """Edition with an answer: stopped if the answer did, else published."""
    return Edition(label, "stopped" if answer.stopped else "published", answer)
