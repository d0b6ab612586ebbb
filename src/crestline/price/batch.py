"""Prices of many questions, one by one and together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from typing import Any, TypeAlias, cast

from crestline.errors import CrestlineError, ParameterError
from crestline.ledger.budget import Budget
from crestline.ledger.ledger import Ledger
from crestline.periods.requested import resolve_periods
from crestline.prepare import Prepared, period_charge_of, prepare
from crestline.price.price import Charge, Payers, Price, paying_accounts, price, sum_charges
from crestline.question import AUTO, Question, QuestionFields
from crestline.question_fields import FIELDS

ARGUMENTS = frozenset({*FIELDS, "source", "table", "version", "analyst"})

# Columns of a file of prices that are no arguments; `parse_question` ignores them, so that the file can be read again.
PRICED = frozenset({"price", "margin", "spread", "coverage_spread", "instead"})


@dataclass(frozen=True)
class BatchQuestion:
    """One question of a batch.

    Attributes:
        question: The question.
        analyst: Who asks it; None for the owner.
        arguments: All arguments as they were given.
        fields: Those of the question, converted.
    """

    question: Question
    analyst: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict, compare=False, hash=False)
    fields: Mapping[str, Any] = field(default_factory=dict, compare=False, hash=False)


PayersOf: TypeAlias = Callable[[BatchQuestion], Payers]


@dataclass(frozen=True)
class PricedQuestion:
    """A question of a batch with its price."""

    question: BatchQuestion
    price: Price


@dataclass(frozen=True)
class Batch:
    """Prices of many questions at the present state of the ledger, and the ε per item if `fit_batch` chose it."""

    lines: tuple[PricedQuestion, ...]
    item_epsilon: Fraction | None = None

    @property
    def charges(self) -> tuple[Charge, ...]:
        """What every account pays for all questions together."""
        return self._charges_of_first(len(self.lines))

    @property
    def fits(self) -> bool:
        """Whether all questions can be asked, whatever they return."""
        return self.number_certain == len(self.lines)

    @property
    def number_certain(self) -> int:
        """Number of questions that can be asked, in this order, whatever they return."""
        count = 0
        while count < len(self.lines) and all(charge.fits for charge in self._charges_of_first(count + 1)):
            count += 1
        return count

    def _charges_of_first(self, count: int) -> tuple[Charge, ...]:
        """What every account pays for the first `count` questions together."""
        return sum_charges(charge for line in self.lines[:count] for charge in line.price.charges)


def price_batch(questions: Sequence[BatchQuestion], payers_of: PayersOf) -> Batch:
    """Price every question; a question that occurs twice is paid twice, since the data may change in between."""
    return Batch(tuple(_line(number, posed, payers_of) for number, posed in enumerate(questions, start=1)))


def prepare_question(posed: BatchQuestion, payers: Payers) -> Prepared:
    """The mechanism that would answer, chosen as `top` chooses it."""
    return prepare(posed.question, budget=_budget(payers))


def _budget(payers: Payers) -> Budget:
    """The budget that the mechanism is chosen for: the last one by period, else the last; a window's cap has none."""
    budgets = [payer.balance.budget for payer in payers]
    by_period = [budget for budget in budgets if budget.calendar is not None]
    return (by_period or budgets)[-1]


def parse_question(given: Mapping[str, Any]) -> BatchQuestion:
    """Question from the arguments of `top`; None and empty text count as not given.

    Raises ParameterError for an unknown argument, a missing k, or a value of the wrong type.
    """
    found = {name: value for name, value in given.items() if value is not None and value != "" and name not in PRICED}
    unknown = sorted(found.keys() - ARGUMENTS)
    if unknown:
        raise ParameterError(f"{', '.join(unknown)}: no such argument of top; known: {', '.join(sorted(ARGUMENTS))}")
    if "k" not in found:
        raise ParameterError("every question needs k, the number of items wanted")
    if not isinstance(found.get("mechanism", AUTO), str):
        raise ParameterError("in a file of questions a mechanism is given by its name")
    fields = {name: FIELDS[name].parse(value) for name, value in found.items() if name in FIELDS}
    return BatchQuestion(Question.from_fields(cast(QuestionFields, fields)), found.get("analyst"), found, fields)


def payers_in_ledger(ledger: Ledger) -> PayersOf:
    """Function from a question to the accounts that pay, read once for each analyst and each set of periods."""
    read = cache(lambda analyst, reach: paying_accounts(ledger, analyst, reach))
    return lambda posed: read(posed.analyst, period_charge_of(posed.question))


def with_periods(posed: BatchQuestion, ledger: Ledger) -> BatchQuestion:
    """The question with its periods resolved by the clock of the ledger."""
    calendar = ledger.payers(posed.analyst)[-1].balance.budget.calendar
    period = resolve_periods(posed.question.period, calendar, ledger.now())
    return replace(posed, question=replace(posed.question, period=period))


def _line(number: int, posed: BatchQuestion, payers_of: PayersOf) -> PricedQuestion:
    """A question with its price; an error names the number of the question."""
    payers = payers_of(posed)
    try:
        return PricedQuestion(posed, price(prepare_question(posed, payers), payers))
    except CrestlineError as error:
        error.args = (f"question {number}: {error}", *error.args[1:])
        raise
