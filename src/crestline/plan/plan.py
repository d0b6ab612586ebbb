"""Plan: every mechanism side by side for one question, and one sentence of advice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from crestline.answer.warnings import delta_warnings
from crestline.errors import ParameterError
from crestline.exact_numbers import decimal_text
from crestline.plan.advice_sentence import advice_sentence
from crestline.plan.candidates import SkippedMechanism, k_bar_choices
from crestline.plan.count_models import CountModel, bound_counts, count_histogram, ranked_histogram
from crestline.plan.forecast import Forecast, PublicData, Simulation, forecast
from crestline.plan.synthetic_users import SyntheticUsers
from crestline.prepare.auto_rules import best_rule
from crestline.question import Question


@dataclass(frozen=True, repr=False)
class Plan:
    """Forecast of each mechanism for one question.

    Attributes:
        question: The question.
        rows: Forecasts, best first.
        skipped: Mechanisms that cannot answer, with reasons.
        auto: Name of the mechanism that `mechanism="auto"` takes.
        notes: Warnings about the parameters.
    """

    question: Question
    rows: tuple[Forecast, ...]
    skipped: tuple[SkippedMechanism, ...]
    auto: str
    notes: tuple[str, ...] = ()

    @property
    def advice(self) -> str:
        """One sentence of advice."""
        return advice_sentence(self.question, self.rows, self.auto)

    def __str__(self) -> str:
        from crestline.plan.printing import to_text

        return to_text(self)

    def __repr__(self) -> str:
        return f"<Plan: {self.question.words()}: {self.advice}>"

    def _repr_html_(self) -> str:
        from crestline.plan.printing import to_html

        return to_html(self)

    def to_dict(self) -> dict[str, Any]:
        """The plan as JSON values."""
        return {
            "k": self.question.k,
            "epsilon": _decimal(self.question.epsilon),
            "delta": _decimal(self.question.delta),
            "contribution": self.question.contribution,
            "advice": self.advice,
            "auto": self.auto,
            "mechanisms": [{**asdict(row), "parameters": dict(row.parameters)} for row in self.rows],
            "left_out": [asdict(line) for line in self.skipped],
            "notes": list(self.notes),
        }


def plan_for_shape(
    shape: CountModel,
    question: Question,
    simulation: Simulation,
    *,
    mechanisms: Sequence[str] = (),
    users: int,
    public_items: bool = False,
) -> Plan:
    """Plan for data of a public shape.

    Args:
        shape: Counts of the data.
        question: Question with its total.
        simulation: How releases are simulated.
        mechanisms: Names of the mechanisms to compare; all of the catalogue if empty.
        users: Number of users.
        public_items: Whether the list of all items is public (their counts are not).
    """
    counts = bound_counts(shape.counts(), users=users, contribution=question.contribution)
    histogram = ranked_histogram(counts, max(k_bar_choices(question)))
    domain = count_histogram(counts) if public_items else None
    data = PublicData(histogram, domain, SyntheticUsers(counts, users))
    return plan_for_public_data(data, question, simulation, mechanisms=mechanisms, users=users)


def plan_for_public_data(
    data: PublicData,
    question: Question,
    simulation: Simulation,
    *,
    mechanisms: Sequence[str] = (),
    users: int | None = None,
) -> Plan:
    """Plan for public data; never call it with private data, because a plan reveals the data it was made from.

    Raises:
        ParameterError: The question has no epsilon or no delta, or the histogram has too few slots.
    """
    if question.epsilon is None or question.delta is None:
        raise ParameterError("a plan needs epsilon and delta: the total of the answer")
    compared = forecast(data, question, simulation, mechanisms=mechanisms)
    auto = best_rule(question, public_list=data.domain is not None)
    return Plan(question, *compared, auto.name, delta_warnings(question.delta, users))


def _decimal(number: Fraction | None) -> str | None:
    """A number as a decimal text of 12 digits; None for None."""
    return None if number is None else decimal_text(number, 12)
