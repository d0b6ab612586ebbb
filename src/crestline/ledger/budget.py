"""Budget: what may be spent in all, decided once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

from crestline.errors import ParameterError
from crestline.guarantees.cost import Cost
from crestline.guarantees.guarantee import ApproxDP
from crestline.ledger.amount import Amount, chargeable, fraction_text
from crestline.ledger.kinds import Concentrated, Homogeneous, Kind, Pure, concentrated, homogeneous
from crestline.parameters import Exact, decimal_text, not_negative, positive, probability, proportion, whole

_KINDS: dict[str, type[Concentrated] | type[Pure] | type[Homogeneous]] = {
    kind.name: kind for kind in (Concentrated, Pure, Homogeneous)
}


@dataclass(frozen=True)
class Budget:
    """(ε, δ) for a whole interaction, and the rules by which questions draw on it.

    kind           "zcdp" (default): any mechanism, any ε per question (P10.5)
                   "pure": ε adds up; no Gaussian noise; `delta` may be 0
                   "homogeneous": `items` drawn items over `questions` questions, all with the same ε and δ (P10.6)
    slack          the part of `delta` that pays for the conversion to ε (half of it unless given); not for "pure"
    item_epsilon, question_delta    "homogeneous" only; as large as epsilon and delta allow unless given

    >>> budget = Budget(epsilon=2, delta=1e-7)
    >>> str(budget.guarantee())
    '(2, 1e-07)-DP'
    """

    epsilon: Fraction
    delta: Fraction
    terms: Kind

    def __init__(
        self,
        epsilon: Exact,
        delta: Exact = 0,
        kind: str = "zcdp",
        *,
        slack: Exact | None = None,
        items: int | None = None,
        questions: int | None = None,
        item_epsilon: Exact | None = None,
        question_delta: Exact | None = None,
    ) -> None:
        total, failure = positive(epsilon, "epsilon"), _delta(delta)
        chosen = {
            "items": items,
            "questions": questions,
            "item_epsilon": item_epsilon,
            "question_delta": question_delta,
        }
        if kind != Homogeneous.name:
            _refuse_options(kind, chosen)
        terms: Kind
        if kind == Concentrated.name:
            terms = concentrated(total, failure, _slack(slack, failure, kind))
        elif kind == Pure.name:
            _refuse_options(kind, {"slack": slack})
            terms = Pure(total, failure)
        elif kind == Homogeneous.name:
            terms = _homogeneous(total, failure, _slack(slack, failure, kind), chosen)
        else:
            raise ParameterError(f"kind must be one of {', '.join(_KINDS)}, not {kind!r}")
        _fill(self, total, failure, terms)

    @property
    def kind(self) -> str:
        return self.terms.name

    @property
    def limit(self) -> Amount:
        """How much may be charged, in the budget's own units."""
        return self.terms.limit

    def measure(self, cost: Cost) -> Amount:
        """What a cost takes from this budget; `BudgetMismatch` where this kind of budget cannot pay for it."""
        return chargeable(self.terms.measure(cost))

    def guarantee(self) -> ApproxDP:
        """What holds for everything that is ever charged to this budget, taken together."""
        return ApproxDP(self.epsilon, self.delta, theorem=self.terms.theorem)

    def same_as(self, other: Budget) -> bool:
        """Whether both were opened with the same choices. ρ follows from them; another release may round it closer."""
        mine, theirs = self.to_json(), other.to_json()
        mine["terms"].pop("rho", None)
        theirs["terms"].pop("rho", None)
        return mine == theirs

    def to_json(self) -> dict[str, Any]:
        """Everything that was decided, as exact text; the limits are kept, not derived again."""
        terms = {field.name: fraction_text(getattr(self.terms, field.name)) for field in fields(_KINDS[self.kind])}
        exact = {"epsilon": fraction_text(self.epsilon), "delta": fraction_text(self.delta)}
        return {"kind": self.kind, **exact, "terms": terms}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Budget:
        """The budget that `to_json` wrote."""
        terms = _KINDS[value["kind"]](**{name: Fraction(text) for name, text in value["terms"].items()})
        budget = cls.__new__(cls)
        _fill(budget, Fraction(value["epsilon"]), Fraction(value["delta"]), terms)
        return budget

    def __str__(self) -> str:
        return f"epsilon {decimal_text(self.epsilon)}, delta {decimal_text(self.delta)} ({self.kind})"


def _fill(budget: Budget, epsilon: Fraction, delta: Fraction, terms: Kind) -> None:
    object.__setattr__(budget, "epsilon", epsilon)
    object.__setattr__(budget, "delta", delta)
    object.__setattr__(budget, "terms", terms)
    chargeable(budget.limit)


def _delta(value: Exact) -> Fraction:
    delta = proportion(value, "delta")
    if delta == 1:
        raise ParameterError("delta must be smaller than one: with delta=1 nothing is promised")
    return delta


def _slack(value: Exact | None, delta: Fraction, kind: str) -> Fraction:
    """The `d` of P10.5: strictly inside (0, 1), not above `delta`, and independent of any data."""
    if delta == 0:
        raise ParameterError(f"a budget of kind {kind!r} needs a delta larger than zero: give one, or use kind='pure'")
    if value is None:
        return delta / 2
    slack = probability(value, "slack")
    if slack > delta:
        raise ParameterError("slack is a part of delta and must not be larger than it")
    return slack


def _homogeneous(epsilon: Fraction, delta: Fraction, slack: Fraction, chosen: Mapping[str, Any]) -> Homogeneous:
    per_item, per_question = chosen["item_epsilon"], chosen["question_delta"]
    return homogeneous(
        epsilon,
        delta,
        slack,
        items=whole(chosen["items"], "items"),
        questions=whole(chosen["questions"], "questions"),
        item_epsilon=None if per_item is None else positive(per_item, "item_epsilon"),
        question_delta=None if per_question is None else not_negative(per_question, "question_delta"),
    )


def _refuse_options(kind: str, options: Mapping[str, object]) -> None:
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise ParameterError(f"{', '.join(given)} cannot be set for a budget of kind {kind!r}")
