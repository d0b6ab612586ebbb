"""What is left of budgets, as pages say it: in usual questions, then in per cent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from crestline.config import DatasetConfig
from crestline.ledger.budget_fractions import epsilon_worth, fraction_of
from crestline.ledger.ledger import Ledger
from crestline.ledger.report import fraction_used, usual_questions
from crestline.ledger.storage.rows import Account
from crestline.periods.calendar import first_day, label_days, period_in_words, period_label

SHOWN_PERIODS = 12


@dataclass(frozen=True)
class Remaining:
    """What is left of one account.

    Attributes:
        whose: The analyst; None for the data set's own account.
        used: Part of the budget that is charged, with what is reserved.
        held: Part that is reserved by questions that have not ended.
        questions: Usual questions that what is left pays for; None if it is any number.
        worth: The ε that what is left is worth.
        period: Label of the period, where the budget is by period.
        is_open: Whether that period has not ended.
    """

    whose: str | None
    used: float
    held: float
    questions: int | None
    worth: float
    period: str | None = None
    is_open: bool = False

    @property
    def part_left(self) -> float:
        """Part of the budget that is left."""
        return max(0.0, 1 - self.used)

    @property
    def blocks(self) -> int:
        """How many of ten blocks are left."""
        return min(10, 10 if self.questions is None else self.questions)

    @property
    def period_words(self) -> str:
        """The period as people say it."""
        return "" if self.period is None else period_in_words(self.period)

    @property
    def questions_text(self) -> str:
        """About how many questions are left."""
        if self.questions is None:
            return "any number of questions"
        return f"{self.questions:,} question{'' if self.questions == 1 else 's'}"


def remaining_of(account: Account, period: str | None = None, *, is_open: bool = False) -> Remaining:
    """What is left of an account, of a period with this label where the budget is by period."""
    balance = account.balance
    return Remaining(
        account.analyst,
        fraction_used(account),
        fraction_of(balance.held, balance.budget.limit),
        usual_questions(account),
        epsilon_worth(balance.budget, balance.remaining),
        period,
        is_open,
    )


def recent_periods(ledger: Ledger, account: Account) -> list[Remaining]:
    """What is left of the last twelve periods, the running one last; none where the budget is not by period."""
    calendar = account.balance.budget.calendar
    if calendar is None:
        return []
    touched: Mapping[str | None, Account] = {
        one.period: one for one in ledger.periods(account.analyst) if one.span == 1
    }
    running = calendar.running_period(ledger.now())
    labels = {place: period_label(calendar.per, place) for place in range(running + 1 - SHOWN_PERIODS, running + 1)}
    return [
        remaining_of(touched.get(label, account), label, is_open=place == running) for place, label in labels.items()
    ]


def earlier_periods(ledger: Ledger, account: Account) -> list[Remaining]:
    """What is left of periods before the last twelve, of those that were asked about; the newest first."""
    recent = recent_periods(ledger, account)
    touched = [one for one in ledger.periods(account.analyst) if one.span == 1] if recent else []
    older = [one for one in touched if first_day_of(one) < label_days(str(recent[0].period))[0]]
    return [remaining_of(one, one.period) for one in sorted(older, key=first_day_of, reverse=True)]


def first_day_of(account: Account) -> date:
    """First day of the period of an account."""
    return label_days(str(account.period))[0]


def newest_remaining(ledger: Ledger, account: Account) -> Remaining:
    """What is left of an account; where the budget is by period, of the last period that has ended."""
    periods = recent_periods(ledger, account)
    return periods[-2] if periods else remaining_of(account)


def short_period(per: str, label: str, *, is_first: bool = False) -> str:
    """A period in few letters: Oct, with the year in January and where a list begins."""
    if per == "week":
        return label[5:] if not (is_first or label.endswith("W01")) else f"{label[5:]} ’{label[2:4]}"
    if per == "month":
        year, month = label.split("-")
        name = f"{first_day('month', int(year) * 12 + int(month) - 1):%b}"
        return f"{name} ’{year[2:]}" if is_first or month == "01" else name
    if per == "quarter":
        return f"{label[5:]} ’{label[2:4]}"
    return label[5:] if per == "day" else label


def title_of(dataset: DatasetConfig) -> str:
    """What the owner calls a data set."""
    return dataset.title or dataset.name
