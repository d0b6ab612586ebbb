"""Many questions at once, and what they cost together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias, cast

from crestline.errors import CrestlineError, ParameterError
from crestline.ledger.budget import Budget
from crestline.prepare import Prepared, prepare
from crestline.price.price import Charge, Payers, Price, price, sum_charges
from crestline.question import AUTO, Question, QuestionFields
from crestline.question_fields import FIELDS

ARGUMENTS = frozenset({*FIELDS, "source", "table", "version", "analyst"})

# What a priced question has besides its arguments: such a file can be priced, or asked, as it is.
PRICED = frozenset({"price", "margin", "spread", "coverage_spread", "instead"})


@dataclass(frozen=True)
class BatchQuestion:
    """One question of a batch, who asks it, and all arguments as they were given."""

    question: Question
    analyst: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict, compare=False, hash=False)
    fields: Mapping[str, Any] = field(default_factory=dict, compare=False, hash=False)  # those of the question, read


PayersOf: TypeAlias = Callable[[BatchQuestion], Payers]  # the accounts that pay for a question, the data set's first


@dataclass(frozen=True)
class PricedQuestion:
    """A question of a batch with its price."""

    question: BatchQuestion
    price: Price


@dataclass(frozen=True)
class Batch:
    """The prices of many questions, as the ledger stands. `item_epsilon` is set where it was fitted."""

    lines: tuple[PricedQuestion, ...]
    item_epsilon: Fraction | None = None

    @property
    def charges(self) -> tuple[Charge, ...]:
        """What every account pays for all of them together."""
        return self._charges_of_first(len(self.lines))

    @property
    def fits(self) -> bool:
        """Whether all of them can be asked, whatever they return."""
        return self.number_certain == len(self.lines)

    @property
    def number_certain(self) -> int:
        """How many can be asked, in this order, whatever they return."""
        count = 0
        while count < len(self.lines) and all(charge.fits for charge in self._charges_of_first(count + 1)):
            count += 1
        return count

    def _charges_of_first(self, count: int) -> tuple[Charge, ...]:
        return sum_charges(charge for line in self.lines[:count] for charge in line.price.charges)


def price_batch(questions: Sequence[BatchQuestion], payers_of: PayersOf) -> Batch:
    """The price of every question. One that comes twice is paid twice: the data may change in between."""
    return Batch(tuple(_line(number, posed, payers_of) for number, posed in enumerate(questions, start=1)))


def prepare_question(posed: BatchQuestion, payers: Payers) -> Prepared:
    """The mechanism that would answer, found exactly as `top` finds it; the last account is the one that asks."""
    return prepare(posed.question, budget=_budget(payers))


def _budget(payers: Payers) -> Budget:
    """The budget that asks; a window of periods is none, but what caps one."""
    budgets = [payer.balance.budget for payer in payers]
    by_period = [budget for budget in budgets if budget.calendar is not None]
    return (by_period or budgets)[-1]


def parse_question(given: Mapping[str, Any]) -> BatchQuestion:
    """A question from the arguments of `top`, checked; what is empty counts as not given."""
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


def _line(number: int, posed: BatchQuestion, payers_of: PayersOf) -> PricedQuestion:
    payers = payers_of(posed)
    try:
        return PricedQuestion(posed, price(prepare_question(posed, payers), payers))
    except CrestlineError as error:
        error.args = (f"question {number}: {error}", *error.args[1:])
        raise
