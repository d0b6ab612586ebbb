"""Prepared questions: a question with its mechanism, cost and guarantee, before anything is charged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from crestline.answer.answer import Choice
from crestline.guarantees.cost import Cost
from crestline.guarantees.guarantee import Guarantee
from crestline.histogram.view_kinds import View, view_of
from crestline.ledger.periods import PeriodCharge
from crestline.mechanisms.coverage.coverage import Coverage
from crestline.mechanisms.identity import identity
from crestline.mechanisms.in_groups import InGroups
from crestline.mechanisms.mechanism import AnyMechanism
from crestline.mechanisms.selection import GroupSelections, Selection
from crestline.question import PUBLIC_GROUPS, Question


@dataclass(frozen=True)
class Prepared:
    """A question with the mechanism that will answer it.

    Attributes:
        question: The question as a source reads it, with `k_bar` decided.
        mechanism: Mechanism within the total of the question.
        choice: Its name and parameters as text, and why it was chosen.
        cost: Steps of the worst case, which are reserved before a row is read.
        promise: Guarantee of one answer.
        in_groups: The mechanism in every group, where the question has groups.
        coverage: Release that follows the selection, where the question asks for one; part of `cost` and `promise`.
        computed: Cache of margin and spread, shared by all questions prepared together.
        users: Approximate number of users, where that is public.
    """

    question: Question
    mechanism: AnyMechanism
    choice: Choice
    cost: Cost
    promise: Guarantee
    in_groups: InGroups | None = None
    coverage: Coverage | None = None
    computed: dict[str, float | None] = field(default_factory=dict, compare=False, repr=False)
    users: int | None = None

    @property
    def identity(self) -> Mapping[str, str] | None:
        """Texts that identify the mechanism and its parameters; None where there are none: nothing is served again."""
        return identity(self.mechanism)

    @property
    def view(self) -> View:
        """The view of the data that the mechanism needs."""
        return view_of(self.mechanism)

    @property
    def question_for_answer(self) -> Question:
        """The question as an answer stores it: plain values only, with a mechanism object replaced by its name."""
        named = self.question.mechanism if isinstance(self.question.mechanism, str) else self.choice.name
        groups = None if self.question.groups is None else PUBLIC_GROUPS
        return replace(self.question, mechanism=named, domain=None, groups=groups)

    @property
    def margin(self) -> float | None:
        """Users by which an item must lead to be named with 95% probability; None if none is needed or known.

        Over all observed items it is the number of users an item needs, with those that a floor hides added (P17.6).
        """
        hidden = self.question.floor - 1 if self.view.kind == "observed" else 0
        return self._computed_once("margin", self.mechanism.margin, hidden)

    def margin_of_selection(self, selection: Selection | GroupSelections) -> float | None:
        """`margin` of the mechanism that answered, where the mechanism of the question chooses between others.

        Where the selection states a margin itself, that one; in groups, the largest of those that are published.
        """
        if isinstance(selection, GroupSelections):
            needed = [part.needed for _, part in selection.groups if part.needed is not None]
            return max(needed) if needed else self.margin
        if selection.needed is not None:
            return selection.needed
        answering = self.mechanism.answering_mechanism(selection)
        if answering is self.mechanism:
            return self.margin
        return self._to_units(answering.margin)

    @property
    def spread(self) -> float | None:
        """Users, or amount of a score, that hold 95% of the noise in a published count; None where it is not known."""
        return self._computed_once("spread", self.mechanism.spread)

    def _computed_once(self, name: str, number: Callable[[], float] | None, hidden_floor: int = 0) -> float | None:
        """`_to_units` of a number, computed once for all questions that were prepared together."""
        if name not in self.computed:
            self.computed[name] = self._to_units(number, hidden_floor)
        return self.computed[name]

    def _to_units(self, number: Callable[[], float] | None, hidden_floor: int = 0) -> float | None:
        """The number plus the users that a floor hides, times the clip of a score."""
        return None if number is None else (float(number()) + hidden_floor) * (self.question.clip or 1)

    @property
    def period_charge(self) -> PeriodCharge | None:
        """Which periods pay, and how a user who occurs in several of them is charged; None without periods."""
        return period_charge_of(self.question, own_bound=self.view.kind == "pairs")

    def settlement_cost(self, selection: Selection | GroupSelections) -> Cost:
        """Cost charged once the selection is known; less than `cost` only where a theorem permits it (P10.6)."""
        if isinstance(selection, GroupSelections):
            assert self.in_groups is not None, "selections by group answer a question with groups"
            return self.in_groups.settlement_cost(selection)
        settled = self.mechanism.settlement_cost(selection)
        return settled if self.coverage is None else settled + self.coverage.cost()

    @property
    def least_cost(self) -> Cost:
        """Cost that is charged when nothing can be named, the least of all answers."""
        nothing = Selection((), stopped=True)
        return self.settlement_cost(nothing if self.in_groups is None else GroupSelections(()))


def period_charge_of(question: Question, *, own_bound: bool = True) -> PeriodCharge | None:
    """Which periods pay, and how a user who occurs in several of them is charged (P16.1).

    `own_bound`: whether the mechanism bounds or weighs users by itself, as the sieve does; true until one is chosen.
    """
    if question.periods is None:
        return None
    # A question with groups bounds the groups of a user.
    bounded = own_bound or question.contribution is not None or bool(question.by)
    return PeriodCharge(question.periods, "sum" if question.score is not None else "each" if bounded else "once")
