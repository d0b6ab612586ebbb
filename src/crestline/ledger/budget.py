"""Budget: what may be spent in all, decided once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, TypedDict, Unpack

from crestline.errors import ParameterError
from crestline.exact_numbers import (
    Exact,
    decimal_text,
    non_negative_number,
    positive_number,
    probability,
    proportion,
    set_frozen_fields,
    whole_number,
    with_typed_dict_signature,
)
from crestline.guarantees.cost import Cost
from crestline.guarantees.guarantee import Adjacency, ApproxDP
from crestline.label_text import HasShortRepr
from crestline.ledger.amount import Amount, check_length, fraction_text
from crestline.ledger.budget_rules import BudgetRule, PerItemRule, PureRule, ZcdpRule, per_item_rule, zcdp_rule
from crestline.periods.calendar import MOST_PERIODS, Calendar

_KINDS: dict[str, type[ZcdpRule] | type[PureRule] | type[PerItemRule]] = {
    kind.name: kind for kind in (ZcdpRule, PureRule, PerItemRule)
}


class BudgetOptions(TypedDict, total=False):
    """What may be said of a budget beside ε, δ and its kind; `Budget` says what each means."""

    slack: Exact | None
    items: int | None
    questions: int | None
    item_epsilon: Exact | None
    question_delta: Exact | None
    per: str | None
    time: str | None
    zone: str | None
    cap: Window | None


@dataclass(frozen=True, repr=False)
class Budget(HasShortRepr):
    """(ε, δ) for a whole interaction, and the rules by which questions draw on it.

    kind           "zcdp" (default): any mechanism, any ε per question (P10.5)
                   "pure": ε adds up; no Gaussian noise; `delta` may be 0
                   "homogeneous": `items` drawn items over `questions` questions, all with the same ε and δ (P10.6)
    slack          the part of `delta` that pays for the conversion to ε (half of it unless given); not for "pure"
    item_epsilon, question_delta    "homogeneous" only; as large as epsilon and delta allow unless given
    per, time, zone    one account for each day, week, month, quarter or year of the column `time`: new data bring new
                   budget, and old data stay spent (P16.1); days begin in `zone`, UTC unless given
    cap            a `Window`: a budget of its own for any such number of consecutive periods together (P16.3)

    >>> budget = Budget(epsilon=2, delta=1e-7)
    >>> str(budget.guarantee())
    '(2, 1e-07)-DP'
    """

    epsilon: Fraction
    delta: Fraction
    terms: BudgetRule
    calendar: Calendar | None = None
    cap: Window | None = None

    @with_typed_dict_signature(BudgetOptions, {})
    def __init__(self, epsilon: Exact, delta: Exact = 0, kind: str = "zcdp", **options: Unpack[BudgetOptions]) -> None:
        _refuse_unknown(options)
        total, failure = positive_number(epsilon, "epsilon"), _delta(delta)
        calendar, cap = _calendar(kind, options), options.get("cap")
        if cap is not None:
            if not isinstance(cap, Window):
                raise ParameterError(f"a cap is written Window(12, epsilon=4, delta=1e-6), not {cap!r}")
            cap.check(kind)
        _set_fields(self, total, failure, _build_rule(kind, total, failure, options), calendar, cap)

    @property
    def kind(self) -> str:
        """The name of its kind, as it was opened with."""
        return self.terms.name

    @property
    def limit(self) -> Amount:
        """How much may be charged, in the budget's own units."""
        return self.terms.limit

    def measure(self, cost: Cost) -> Amount:
        """What a cost takes from this budget; `BudgetMismatch` where this kind of budget cannot pay for it."""
        return check_length(self.terms.measure(cost))

    def guarantee(self) -> ApproxDP:
        """What holds for everything that is ever charged to this budget, taken together; with a calendar, for a user's
        rows of one period."""
        if self.calendar is None:
            return ApproxDP(self.epsilon, self.delta, theorem=self.terms.theorem)
        return ApproxDP(self.epsilon, self.delta, theorem="P16.1", adjacency=Adjacency.USER_PERIOD)

    def has_same_terms(self, other: Budget) -> bool:
        """Whether both were opened with the same choices. ρ follows from them; another release may round it closer."""
        mine, theirs = self.to_json(), other.to_json()
        for written in (mine, theirs):
            written["terms"].pop("rho", None)
            written.get("cap", written)["terms"].pop("rho", None)
        return mine == theirs

    def to_json(self) -> dict[str, Any]:
        """Everything that was decided, as exact text; the limits are kept, not derived again."""
        terms = {field.name: fraction_text(getattr(self.terms, field.name)) for field in fields(_KINDS[self.kind])}
        exact = {"epsilon": fraction_text(self.epsilon), "delta": fraction_text(self.delta)}
        periods = {} if self.calendar is None else {"calendar": self.calendar.to_json()}
        cap = {} if self.cap is None else {"cap": {"periods": self.cap.periods, **self.cap.budget.to_json()}}
        return {"kind": self.kind, **exact, "terms": terms, **periods, **cap}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Budget:
        """The budget that `to_json` wrote."""
        terms = _KINDS[value["kind"]](**{name: Fraction(text) for name, text in value["terms"].items()})
        calendar = Calendar(**value["calendar"]) if "calendar" in value else None
        cap = Window.from_json(value["cap"]) if "cap" in value else None
        budget = cls.__new__(cls)
        _set_fields(budget, Fraction(value["epsilon"]), Fraction(value["delta"]), terms, calendar, cap)
        return budget

    def __str__(self) -> str:
        amount = f"epsilon {decimal_text(self.epsilon)}, delta {decimal_text(self.delta)} ({self.kind})"
        periods = "" if self.calendar is None else f" for {self.calendar}"
        return amount + periods + ("" if self.cap is None else f", {self.cap}")


@dataclass(frozen=True, repr=False)
class Window(HasShortRepr):
    """A cap: what any `periods` consecutive periods may cost one user together, a budget of its own (P16.3).

    >>> str(Window(12, epsilon=4, delta="1e-6"))
    'any 12 together epsilon 4, delta 1e-06'
    """

    periods: int
    budget: Budget

    def __init__(self, periods: int, epsilon: Exact, delta: Exact = 0, kind: str = "zcdp") -> None:
        whole_number(periods, "periods", at_least=2, at_most=MOST_PERIODS)
        if kind == PerItemRule.name:
            raise ParameterError("a cap is of kind 'zcdp' or 'pure', like the budget it belongs to")
        set_frozen_fields(self, periods=periods, budget=Budget(epsilon, delta, kind))

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Window:
        """What the budget of a ledger wrote."""
        window = cls.__new__(cls)
        set_frozen_fields(window, periods=value["periods"], budget=Budget.from_json(value))
        return window

    def check(self, kind: str) -> None:
        """The units must be those of the budget, so that one charge is an amount of both."""
        if self.budget.kind != kind:
            raise ParameterError(f"the cap is of kind {self.budget.kind!r} and the budget of kind {kind!r}: take one")

    def __str__(self) -> str:
        limits = f"epsilon {decimal_text(self.budget.epsilon)}, delta {decimal_text(self.budget.delta)}"
        return f"any {self.periods} together {limits}"


def _refuse_unknown(options: BudgetOptions) -> None:
    known = BudgetOptions.__annotations__
    unknown = sorted(options.keys() - known)
    if unknown:
        raise TypeError(f"{', '.join(unknown)}: no such argument; known: {', '.join(sorted(known))}")


def _build_rule(kind: str, epsilon: Fraction, delta: Fraction, options: BudgetOptions) -> BudgetRule:
    if kind != PerItemRule.name:
        _refuse_options(options, "items", "questions", "item_epsilon", "question_delta", kind=kind)
    if kind == ZcdpRule.name:
        return zcdp_rule(epsilon, delta, _check_slack(options.get("slack"), delta, kind))
    if kind == PureRule.name:
        _refuse_options(options, "slack", kind=kind)
        return PureRule(epsilon, delta)
    if kind == PerItemRule.name:
        return _per_item_rule(epsilon, delta, _check_slack(options.get("slack"), delta, kind), options)
    raise ParameterError(f"kind must be one of {', '.join(_KINDS)}, not {kind!r}")


def _calendar(kind: str, options: BudgetOptions) -> Calendar | None:
    per, time, zone = options.get("per"), options.get("time"), options.get("zone")
    if per is None:
        given = _given_options(options, "time", "zone", "cap")
        if given:
            raise ParameterError(f"{', '.join(given)} goes with per, such as per='month', time='day'")
        return None
    if kind == PerItemRule.name:
        raise ParameterError("a budget by period is of kind 'zcdp' or 'pure': items and questions are counted once")
    if time is None:
        raise ParameterError("per needs time, the column that says when: per='month', time='day'")
    return Calendar(per, time, zone or "UTC")


def _set_fields(
    budget: Budget, epsilon: Fraction, delta: Fraction, terms: BudgetRule, calendar: Calendar | None, cap: Window | None
) -> None:
    set_frozen_fields(budget, epsilon=epsilon, delta=delta, terms=terms, calendar=calendar, cap=cap)
    check_length(budget.limit)


def _delta(value: Exact) -> Fraction:
    delta = proportion(value, "delta")
    if delta == 1:
        raise ParameterError("delta must be smaller than one: with delta=1 nothing is promised")
    return delta


def _check_slack(value: Exact | None, delta: Fraction, kind: str) -> Fraction:
    """The `d` of P10.5: strictly inside (0, 1), not above `delta`, and independent of any data."""
    if delta == 0:
        raise ParameterError(f"a budget of kind {kind!r} needs a delta larger than zero: give one, or use kind='pure'")
    if value is None:
        return delta / 2
    slack = probability(value, "slack")
    if slack > delta:
        raise ParameterError("slack is a part of delta and must not be larger than it")
    return slack


def _per_item_rule(epsilon: Fraction, delta: Fraction, slack: Fraction, options: BudgetOptions) -> PerItemRule:
    per_item, per_question = options.get("item_epsilon"), options.get("question_delta")
    return per_item_rule(
        epsilon,
        delta,
        slack,
        items=whole_number(options.get("items"), "items"),
        questions=whole_number(options.get("questions"), "questions"),
        item_epsilon=None if per_item is None else positive_number(per_item, "item_epsilon"),
        question_delta=None if per_question is None else non_negative_number(per_question, "question_delta"),
    )


def _refuse_options(options: BudgetOptions, *names: str, kind: str) -> None:
    given = _given_options(options, *names)
    if given:
        raise ParameterError(f"{', '.join(given)} cannot be set for a budget of kind {kind!r}")


def _given_options(options: BudgetOptions, *names: str) -> list[str]:
    return [name for name in names if options.get(name) is not None]
