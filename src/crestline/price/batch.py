"""Prices of many questions, one by one and together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias, cast

from crestline.errors import CrestlineError, ParameterError
from crestline.exact_numbers import Exact, exact_number
from crestline.ledger.budget import Budget
from crestline.prepare import Prepared, prepare
from crestline.price.price import Charge, Payers, Price, price, sum_charges
from crestline.question import AUTO, Question, QuestionFields

ARGUMENTS = frozenset({*QuestionFields.__annotations__, "source", "table", "version", "analyst"})

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
    fields = {name: value for name, value in found.items() if name in QuestionFields.__annotations__}
    for name in ("k", "k_bar", "contribution", "clip", "passes", "last", "groups_per_user", "floor"):
        if name in fields:
            fields[name] = _to_int(fields[name], name)
    for name in ("counts", "coverage", "ordered", "open"):
        if name in fields:
            fields[name] = _to_bool(fields[name], name)
    return BatchQuestion(Question.from_fields(cast(QuestionFields, fields)), found.get("analyst"), found, fields)


def _line(number: int, posed: BatchQuestion, payers_of: PayersOf) -> PricedQuestion:
    """A question with its price; an error names the number of the question."""
    payers = payers_of(posed)
    try:
        return PricedQuestion(posed, price(prepare_question(posed, payers), payers))
    except CrestlineError as error:
        error.args = (f"question {number}: {error}", *error.args[1:])
        raise


def _to_bool(value: object, name: str) -> bool:
    """True or false, also from text."""
    known = {True: True, False: False, "true": True, "false": False, "yes": True, "no": False, "1": True, "0": False}
    found = known.get(value.lower() if isinstance(value, str) else value)
    if found is None:
        raise ParameterError(f"{name} must be true or false, not {value!r}")
    return found


def _to_int(value: Exact, name: str) -> int:
    """A whole number of at least 1, also from text."""
    number = exact_number(value, name)
    if number.denominator != 1 or number < 1:
        raise ParameterError(f"{name} must be a whole number of at least 1, not {value!r}")
    return int(number)
