"""A question and the mechanism that will answer it: everything computed once, before anything is charged."""

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
    """A question and the mechanism that will answer it.

    question    as it is put to a source: its `k_bar` is decided
    mechanism   ready to run within the total of the question
    choice      its name and parameters in words, and why it was taken
    cost        the worst case, step by step: what is reserved before a row is read
    promise     the guarantee of one answer
    in_groups   the mechanism in every group, where the question has groups
    users       roughly how many users there are, where that is public
    coverage    the release that follows the selection, where the question asks for one; `cost` and `promise` have it
    computed    what was computed of the mechanism when it was asked for
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
        """What tells the mechanism from every other; None: it cannot be told, and no answer of it is served again."""
        return identity(self.mechanism)

    @property
    def view(self) -> View:
        """What the mechanism looks at: a source provides it."""
        return view_of(self.mechanism)

    @property
    def question_for_answer(self) -> Question:
        """The question as an answer keeps it: plain values only, a mechanism of its own by its name."""
        named = self.question.mechanism if isinstance(self.question.mechanism, str) else self.choice.name
        groups = None if self.question.groups is None else PUBLIC_GROUPS
        return replace(self.question, mechanism=named, domain=None, groups=groups)

    @property
    def margin(self) -> float | None:
        """By how many users an item must lead to be named; None where nothing is left out, or nobody can say. Of all
        observed items so many users are needed, and a floor takes off what it hides (P17.6)."""
        hidden = self.question.floor - 1 if self.view.kind == "observed" else 0
        return self._computed_once("margin", self.mechanism.margin, hidden)

    def margin_of_selection(self, selection: Selection | GroupSelections) -> float | None:
        """The same for the mechanism that answered, where the one that was asked chose between others. Where it follows
        from looks at each group, it is what an item needs in that group that is published and asks for the most."""
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
        """95% of the noise in a published count stays within this many users (or this much of a score); None where
        nobody can say."""
        return self._computed_once("spread", self.mechanism.spread)

    def _computed_once(self, name: str, number: Callable[[], float] | None, hidden_floor: int = 0) -> float | None:
        """Computed once for all questions that were prepared together."""
        if name not in self.computed:
            self.computed[name] = self._to_units(number, hidden_floor)
        return self.computed[name]

    def _to_units(self, number: Callable[[], float] | None, hidden_floor: int = 0) -> float | None:
        return None if number is None else (float(number()) + hidden_floor) * (self.question.clip or 1)

    @property
    def period_charge(self) -> PeriodCharge | None:
        """Which periods pay, and how a person who is in several of them is charged."""
        return period_charge_of(self.question, own_bound=self.view.kind == "pairs")

    def settlement_cost(self, selection: Selection | GroupSelections) -> Cost:
        """What must be charged once the selection is known; less than `cost` only where a theorem says so (P10.6)."""
        if isinstance(selection, GroupSelections):
            assert self.in_groups is not None, "selections by group answer a question with groups"
            return self.in_groups.settlement_cost(selection)
        settled = self.mechanism.settlement_cost(selection)
        return settled if self.coverage is None else settled + self.coverage.cost()

    @property
    def least_cost(self) -> Cost:
        """What is charged when nothing can be named: no answer costs less."""
        nothing = Selection((), stopped=True)
        return self.settlement_cost(nothing if self.in_groups is None else GroupSelections(()))


def period_charge_of(question: Question, *, own_bound: bool = True) -> PeriodCharge | None:
    """Which periods pay, and how a person who is in several of them is charged (P16.1). `own_bound` says that the
    mechanism bounds or weighs users by itself, as the sieve does; until one is chosen, it may."""
    if question.periods is None:
        return None
    bounded = own_bound or question.contribution is not None or bool(question.by)  # also: in how many groups
    return PeriodCharge(question.periods, "sum" if question.score is not None else "each" if bounded else "once")
