"""Which mechanism answers a question: the only place that chooses, and the only cache of what was chosen.

Decided from the question, the budget and public limits alone, never from the data (P12.1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from functools import lru_cache
from inspect import signature
from typing import TypeVar

from crestline import mechanisms
from crestline.answer.answer import Choice
from crestline.errors import CrestlineError, MechanismError, ParameterError
from crestline.guarantees.cost import Cost
from crestline.guarantees.guarantee import Adjacency, Guarantee
from crestline.histogram.views import KINDS, PAIRS, SLOTS, Kind, View, view_of
from crestline.ledger.budget import Budget
from crestline.ledger.periods import Reach
from crestline.ledger.shares import usual_delta, usual_epsilon
from crestline.mechanisms.adopt import adopt, domain_of, original
from crestline.mechanisms.catalogue import entry
from crestline.mechanisms.identity import identity, shown
from crestline.mechanisms.in_groups import InGroups
from crestline.mechanisms.mechanism import KNOWN, UNKNOWN, BuiltIn
from crestline.mechanisms.selection import GroupSelections, Selection
from crestline.mechanisms.stated import contribution_of, parts
from crestline.mechanisms.total import Total
from crestline.periods.span import resolve
from crestline.prepare.rules import Rule, candidates
from crestline.question import AUTO, NO_LIMITS, PUBLIC_GROUPS, Limits, Question

_Result = TypeVar("_Result")

_NO_MECHANISM = "a mechanism is 'auto', a name of the catalogue, or an object with guarantee() and release()"


@dataclass(frozen=True)
class Prepared:
    """A question and the mechanism that will answer it.

    question    as it is put to a source: its `k_bar` is decided
    mechanism   ready to run within the total of the question
    choice      its name and parameters in words, and why it was taken
    cost        the worst case, step by step: what is reserved before a row is read
    promise     the guarantee of one answer
    in_groups   the mechanism in every group, where the question has groups
    """

    question: Question
    mechanism: BuiltIn
    choice: Choice
    cost: Cost
    promise: Guarantee
    in_groups: InGroups | None = None

    @property
    def identity(self) -> Mapping[str, str] | None:
        """What tells the mechanism from every other; None: it cannot be told, and no answer of it is served again."""
        return identity(self.mechanism)

    @property
    def view(self) -> View:
        """What the mechanism looks at: a source provides it."""
        return view_of(self.mechanism)

    @property
    def as_answered(self) -> Question:
        """The question as an answer keeps it: plain values only, a mechanism of its own by its name."""
        named = self.question.mechanism if isinstance(self.question.mechanism, str) else self.choice.name
        groups = None if self.question.groups is None else PUBLIC_GROUPS
        return replace(self.question, mechanism=named, domain=None, groups=groups)

    @property
    def margin(self) -> float | None:
        """By how many users an item must lead to be named; None where nothing is left out, or nobody can say."""
        margin = self.mechanism.margin
        return None if margin is None else float(margin())

    def margin_of(self, selection: Selection) -> float | None:
        """The same for the mechanism that answered, where the one that was asked chose between others."""
        margin = self.mechanism.answering(selection).margin
        return None if margin is None else float(margin())

    @property
    def spread(self) -> float | None:
        """95% of the noise in a published count stays within this many users; None where nobody can say."""
        spread = self.mechanism.spread
        return None if spread is None else float(spread())

    @property
    def reach(self) -> Reach | None:
        """Which periods pay, and how a person who is in several of them is charged."""
        return reach_of(self.question)

    def settled(self, selection: Selection | GroupSelections) -> Cost:
        """What must be charged once the selection is known; less than `cost` only where a theorem says so (P10.6)."""
        if isinstance(selection, GroupSelections):
            assert self.in_groups is not None, "selections by group answer a question with groups"
            return self.in_groups.settled(selection)
        return self.mechanism.settled(selection)

    @property
    def least(self) -> Cost:
        """What is charged when nothing can be named: no answer costs less."""
        nothing = Selection((), stopped=True)
        return self.settled(nothing if self.in_groups is None else GroupSelections(()))


def prepare(
    question: Question,
    *,
    budget: Budget | None = None,
    limits: Limits = NO_LIMITS,
    asker: str = "",
    now: datetime | None = None,
) -> Prepared:
    """The mechanism for a question, and what it promises and costs.

    `budget` is the budget that pays, if there is one: what the question leaves open is a share of it. `asker` keeps
    what is remembered for one person apart from others, so that nobody learns from the time a refusal or a price takes
    what somebody else has asked. `now` decides which periods have ended, where the budget is by period.
    """
    question = replace(question, period=resolve(question.period, None if budget is None else budget.calendar, now))
    if question.periods is None:
        return _without_periods(question, budget, limits, asker)
    seen = limits if question.periods.size == 1 else replace(limits, views=_over_several(limits.views))
    made = _without_periods(replace(question, period=None), budget, seen, asker)
    promise = replace(made.promise, adjacency=Adjacency.USER_PERIOD)  # type: ignore[type-var] # all are dataclasses
    return replace(made, question=replace(made.question, period=question.period), promise=promise)


def reach_of(question: Question) -> Reach | None:
    """Which periods pay, and how a person who is in several of them is charged (P16.1). A mechanism with a bound of its
    own either asks for it in the question, or (the sieve) reads one period only."""
    if question.periods is None:
        return None
    bounded = question.contribution is not None or bool(question.by)  # also in how many groups a user counts
    return Reach(question.periods, "sum" if question.score is not None else "each" if bounded else "once")


def _over_several(views: tuple[Kind, ...]) -> tuple[Kind, ...]:
    """Over several periods a user's pairs have no one histogram of items (P16.2): the sieve looks at one period."""
    return tuple(kind for kind in views if kind != "pairs")


def _without_periods(question: Question, budget: Budget | None, limits: Limits, asker: str) -> Prepared:
    """The mechanism does not depend on which periods are read."""
    public_list = question.domain is not None or limits.public_list
    if not isinstance(question.mechanism, str):
        return _prepared(question, _given(question), "given in the question", public_list, limits)
    wanted = replace(question, domain=None, groups=None)
    made = _remembered(asker, wanted, limits, budget, public_list, question.groups is not None)
    return replace(made, question=replace(question, k_bar=made.question.k_bar))


def describe(mechanism: BuiltIn, reason: str) -> Choice:
    """A mechanism's name and exact parameters, as text."""
    return Choice(type(original(mechanism)).__name__, shown(mechanism), reason)


@lru_cache(maxsize=4096)
def _remembered(
    asker: str, question: Question, limits: Limits, budget: Budget | None, public_list: bool, public_groups: bool
) -> Prepared:
    """Accounting takes longer than most questions, and depends on these values alone: done once for each asker."""
    name = str(question.mechanism)  # one that a question brings along is not remembered
    auto = name == AUTO
    rules = candidates(question, budget=budget, limits=limits, public_list=public_list) if auto else (_named(name),)
    rule = rules[0]
    _fit_for_domain(entry(rule.name).domain, rule.name, public_list)
    question = _with_total(question, budget, lambda asked: _slotted(rule, asked, limits))
    listed = replace(question, groups=PUBLIC_GROUPS if public_groups else None)
    made = _prepared(listed, _slotted(rule, question, limits), rule.reason, public_list, limits)
    return replace(made, choice=replace(made.choice, instead=_instead(rules, question, limits)))


def _prepared(question: Question, mechanism: BuiltIn, reason: str, public_list: bool, limits: Limits) -> Prepared:
    choice = describe(mechanism, reason)
    _fit_for(question, mechanism, choice.name, public_list)
    _seen_by(question, mechanism, choice.name, limits)
    k_bar = mechanism.k_bar or question.k_bar or question.k  # a public list has no slots
    slotted = replace(question, k_bar=k_bar)
    if question.by:
        grouped = _in_groups(question, mechanism, choice.name, public_list)
        cost, promise = _computed(lambda: (grouped.cost(), grouped.guarantee()))
        return Prepared(slotted, mechanism, choice, cost, promise, grouped)
    cost, promise = _computed(lambda: (mechanism.cost(), mechanism.guarantee()))
    return Prepared(slotted, mechanism, choice, cost, promise)


def _in_groups(question: Question, mechanism: BuiltIn, name: str, public_list: bool) -> InGroups:
    """The mechanism in every group, once it may be run there (P15.1)."""
    if public_list:
        raise MechanismError(
            "a public list of items is not offered together with groups: ask about one group with where=…, or leave "
            "domain out"
        )
    if view_of(mechanism) != SLOTS:
        raise MechanismError(
            f"{name} looks at all observed items, which is not offered with groups: take mechanism='auto' or another"
        )
    public = question.groups is not None
    if not public and domain_of(mechanism) != UNKNOWN:
        raise MechanismError(
            f"{name} does not state domain='unknown', that it names nothing where there is nothing: only then may it "
            "be run in groups that are not publicly listed; or give groups=[…]"
        )
    total = question.delta if isinstance(question.mechanism, str) else None
    return _computed(lambda: InGroups.of(mechanism, question.groups_per_user, delta=total, public=public))


def _computed(step: Callable[[], _Result]) -> _Result:
    """What an accountant says. Numbers beyond its reach are refused here, before anything is charged."""
    try:
        return step()
    except CrestlineError:
        raise
    except (ArithmeticError, ValueError):
        pass
    raise ParameterError(
        "this mechanism cannot be accounted for with these numbers: ask with a larger epsilon or another mechanism"
    )


def total_of(question: Question, k_bar: int | None = None) -> Total:
    """What a question says may be spent, for `k_bar` slots; refused where it says nothing."""
    if question.epsilon is None or question.delta is None:
        raise MechanismError(
            "say how much may be spent: epsilon=1, delta=1e-8 (delta far below 1 divided by the number of users)"
        )
    return Total(question.k, question.epsilon, question.delta, k_bar=k_bar, contribution=question.contribution)


def _with_total(question: Question, budget: Budget | None, made: Callable[[Question], BuiltIn]) -> Question:
    """The question with its total: what it says, or else the usual share of the budget, by what it then costs."""
    if budget is None:
        total_of(question)
        return question
    asked = replace(question, delta=usual_delta(budget) if question.delta is None else question.delta)
    if asked.epsilon is not None:
        return asked

    def cost(epsilon: Fraction) -> Cost:
        mechanism = made(replace(asked, epsilon=epsilon))
        return _computed(InGroups.of(mechanism, asked.groups_per_user).cost if asked.by else mechanism.cost)

    return replace(asked, epsilon=usual_epsilon(budget, cost))


def _fit_for(question: Question, mechanism: BuiltIn, name: str, public_list: bool) -> None:
    """Refuse, before anything is charged, what the mechanism would refuse once the rows are counted.

    That is the wrong kind of domain, and sums where noise is charged by a user's items (P1.1e).
    """
    _fit_for_domain(domain_of(mechanism), name, public_list)
    if question.score is not None and any(_charged_by_items(part) for part in parts(mechanism)):
        raise MechanismError(
            "Laplace noise is charged by the number of a user's items: with a score, take mechanism='auto' or another "
            "mechanism, or leave contribution or counts out"
        )


def _fit_for_domain(domain: str | None, name: str, public_list: bool) -> None:
    if domain == KNOWN and not public_list:
        raise MechanismError(
            f"{name} needs the public list of all items: give domain=…, or take mechanism='auto' or another mechanism"
        )
    if domain == UNKNOWN and public_list:
        raise MechanismError(
            f"{name} is for items that are not publicly listed: leave domain out, or take mechanism='auto' or another "
            "mechanism"
        )


def _seen_by(question: Question, mechanism: BuiltIn, name: str, limits: Limits) -> None:
    """Refuse, before anything is charged, a mechanism that looks at something else than the question can show."""
    kind = view_of(mechanism).kind
    shown_inside = (kind, SLOTS.kind) if kind == PAIRS.kind else (SLOTS.kind,)  # views of pairs have slots as well
    if any(view_of(part).kind not in shown_inside for part in parts(mechanism) if part is not original(mechanism)):
        raise MechanismError(f"{name} shows slots to a mechanism inside it which looks at all observed items or pairs")
    if kind == "pairs" and limits.views == _over_several(KINDS):
        raise MechanismError(f"{name} looks at the pairs of one period: name one, or take another mechanism")
    if kind not in limits.views:
        raise MechanismError(
            f"{name} counts for itself, which a ready histogram does not allow: give the table, or for Observed the "
            "scores of all observed items (ObservedItems.from_scores)"
            if "slots" in limits.views
            else f"{name} does not look at scores of observed items: take mechanism='Observed', or give the table"
        )
    if kind == SLOTS.kind:
        return
    if question.passes is not None:
        raise MechanismError(f"{name} reads the table several times: leave passes out, or take another mechanism")
    if question.score is not None:
        raise MechanismError(f"{name} counts users: leave score out, or take mechanism='auto' or another mechanism")
    if kind == "pairs" and question.counts:
        raise MechanismError(
            f"{name} scores items by weights, which are no counts: leave counts out, or take Observed with contribution"
        )
    bound = contribution_of(mechanism)
    if question.contribution != bound:
        raise MechanismError(
            f"{name} finds its own bound on a user's items: leave contribution out, or take Observed"
            if bound is None
            else f"{name} was made for contribution={bound}: ask with that"
        )


def _charged_by_items(mechanism: object) -> bool:
    if isinstance(mechanism, mechanisms.NoisyCounts):
        return mechanism.contribution is not None and mechanism.noise == "laplace"
    return isinstance(mechanism, mechanisms.LimitedDomainLaplace)


def _made(rule: Rule, question: Question, k_bar: int | None) -> BuiltIn:
    """The mechanism within the total; counts come free where the mechanism allows it, else as a charged release."""
    kind = entry(rule.name).load()
    options: dict[str, object] = {} if rule.noise is None else {"noise": rule.noise}
    if question.counts:
        if question.contribution is not None and "counts" in signature(kind.fit).parameters:
            options["counts"] = True  # P4.1, P4.2
        else:
            kind, options = mechanisms.NoisyCounts, {"mechanism": kind}  # P3.7

    def make(total: Total) -> BuiltIn:
        made: BuiltIn = kind.fit(total, **options)
        return made

    total = total_of(question, k_bar)
    if not question.by:
        return _computed(lambda: make(total))
    return _computed(lambda: InGroups.within(make, total, question.groups_per_user)).mechanism


def _slotted(rule: Rule, question: Question, limits: Limits) -> BuiltIn:
    """The mechanism within the total, with no more slots than there may be where the question leaves that open."""
    mechanism = _made(rule, question, question.k_bar)
    if question.k_bar is None and limits.slots is not None and question.k <= limits.slots < (mechanism.k_bar or 0):
        return _made(rule, question, limits.slots)
    return mechanism


def _instead(rules: tuple[Rule, ...], question: Question, limits: Limits) -> str:
    """What the second rule would have given in place of the first, from parameters alone; nothing where it could not
    answer at all. Counts are a release of their own, and change no lead."""
    if len(rules) < 2:
        return ""
    try:
        other = _slotted(rules[1], replace(question, counts=False), limits)
    except CrestlineError:
        return ""
    name = f"{rules[1].name} without a look" if rules[0].name == "Routed" else rules[1].name
    if other.margin is None:
        return f"the next best would have been {name}"
    users = f"{math.ceil(other.margin()) * (question.clip or 1):,} {question.unit}"
    if view_of(other).kind == "observed":
        return f"the next best, {name}, would have needed about {users}"
    rank = f"rank {(other.k_bar or question.k) + 1:,}"
    return f"the next best, {name}, would have needed a lead of about {users} over {rank}"


def _named(wanted: str) -> Rule:
    if entry(wanted).domain == "queries":
        raise MechanismError(f"{wanted} answers queries of your own, not a top-k: call it from Python, or name another")
    return Rule(wanted, "named in the question")


def _given(question: Question) -> BuiltIn:
    """The mechanism that a question brings along, once it fits the question."""
    mechanism, k, k_bar = adopt(question.mechanism, _NO_MECHANISM), question.k, question.k_bar
    own = mechanism.k_bar
    if own is None and k_bar is None and view_of(mechanism) == SLOTS:
        raise MechanismError("say how many items this mechanism may see: k_bar=…")
    if own is not None and k_bar is not None and k_bar != own:
        raise MechanismError(f"k_bar={k_bar} does not agree with the mechanism's own k_bar={own}; leave it out")
    if mechanism.k not in (None, k):
        raise MechanismError(f"k={k} does not agree with the mechanism's own k={mechanism.k}")
    bound = contribution_of(mechanism)
    if bound is not None and (question.contribution is None or question.contribution > bound):  # D3: enforced
        raise MechanismError(
            f"the mechanism's promise is for users of at most {bound} items: ask with contribution={bound}"
        )
    return mechanism
