"""Choice of the mechanism that answers a question, and the only cache of these choices.

The choice depends on the question, the budget and public limits alone, never on the data (P12.1).
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from functools import lru_cache

from crestline.answer.answer import Choice
from crestline.guarantees.guarantee import Adjacency
from crestline.guarantees.root_finding import cached_by_accuracy
from crestline.ledger.budget import Budget
from crestline.mechanisms.catalogue import entry
from crestline.mechanisms.identity import parameter_texts
from crestline.mechanisms.in_groups import InGroups
from crestline.mechanisms.mechanism import AnyMechanism
from crestline.mechanisms.third_party import unwrap_adopted
from crestline.periods.requested import resolve_periods
from crestline.prepare.auto_rules import candidate_rules
from crestline.prepare.build_mechanism import (
    accounting_or_refuse,
    build_within_slots,
    coverage_of_question,
    describe_runner_up,
    mechanism_from_question,
    rule_for_name,
    with_total,
)
from crestline.prepare.compatibility import (
    check_compatible,
    check_domain,
    check_in_groups,
    check_view,
)
from crestline.prepare.prepared import Prepared
from crestline.question import AUTO, NO_LIMITS, PUBLIC_GROUPS, Limits, Question


def prepare(
    question: Question,
    *,
    budget: Budget | None = None,
    limits: Limits = NO_LIMITS,
    asker: str = "",
    now: datetime | None = None,
) -> Prepared:
    """Choose the mechanism for a question, with its guarantee and its cost.

    Args:
        question: Question, with the periods as they were requested.
        budget: Budget that pays, if there is one; a total that the question leaves open is a share of it.
        limits: What the source or the service allows.
        asker: Owner of the cache entry: choices are cached for each asker apart, so that the time which a refusal or a
            price takes does not reveal what others have asked.
        now: Moment that decides which periods have ended, where the budget is by period.

    Raises:
        ParameterError: The total is outside what can be accounted for.
        MechanismError: No mechanism answers this question, or the named one does not.
        QuestionError: The periods do not go with the budget, or have not ended.
    """
    question = replace(
        question, period=resolve_periods(question.period, None if budget is None else budget.calendar, now)
    )
    users, limits = limits.users, replace(limits, users=None)  # their number has no part in the choice
    return replace(_prepare_for_periods(question, budget, limits, asker), users=users)


def _prepare_for_periods(question: Question, budget: Budget | None, limits: Limits, asker: str) -> Prepared:
    """`prepare` for a question whose periods are known."""
    if question.periods is None:
        return _prepare_without_periods(question, budget, limits, asker)
    seen = replace(limits, several=question.periods.size > 1)  # bounds are for each of them (P16.2)
    made = _prepare_without_periods(replace(question, period=None), budget, seen, asker)
    promise = replace(made.promise, adjacency=Adjacency.USER_PERIOD)  # type: ignore[type-var] # all are dataclasses
    return replace(made, question=replace(made.question, period=question.period), promise=promise)


def _prepare_without_periods(question: Question, budget: Budget | None, limits: Limits, asker: str) -> Prepared:
    """`prepare` without periods: which ones are read has no part in the choice."""
    public_list = question.domain is not None or limits.public_list
    if not isinstance(question.mechanism, str):
        return _build_prepared(
            question, mechanism_from_question(question), "given in the question", public_list, limits
        )
    wanted = replace(question, domain=None, groups=None, where=None)  # these have no part in the choice
    made = _prepare_cached(asker, wanted, limits, budget, public_list, question.groups is not None)
    return replace(made, question=replace(question, k_bar=made.question.k_bar))


def describe_choice(mechanism: AnyMechanism, reason: str) -> Choice:
    """Name and exact parameters of a mechanism, as text."""
    return Choice(type(unwrap_adopted(mechanism)).__name__, parameter_texts(mechanism), reason)


@lru_cache(maxsize=4096)
def _prepare_cached(
    asker: str, question: Question, limits: Limits, budget: Budget | None, public_list: bool, public_groups: bool
) -> Prepared:
    """`prepare` for a mechanism given by name or `auto`: cached, since accounting takes longer than most questions."""
    name = str(question.mechanism)  # mechanism objects are not cached
    auto = name == AUTO
    rules = (
        candidate_rules(question, budget=budget, limits=limits, public_list=public_list)
        if auto
        else (rule_for_name(name),)
    )
    rule = rules[0]
    check_domain(entry(rule.name).domain, rule.name, public_list)

    @cached_by_accuracy(maxsize=None)  # the search for a total ends with the one that it returns
    def build(asked: Question) -> AnyMechanism:
        return build_within_slots(rule, asked, limits)

    question = with_total(question, budget, limits, build)
    listed = replace(question, groups=PUBLIC_GROUPS if public_groups else None)
    made = _build_prepared(listed, build(question), rule.reason, public_list, limits)
    return replace(made, choice=made.choice.replace_fields(instead=lambda: describe_runner_up(rules, question, limits)))


def _build_prepared(
    question: Question, mechanism: AnyMechanism, reason: str, public_list: bool, limits: Limits
) -> Prepared:
    """Check the mechanism against the question and compute its cost and guarantee."""
    choice = describe_choice(mechanism, reason)
    check_compatible(question, mechanism, choice.name, public_list)
    check_view(question, mechanism, choice.name, limits)
    k_bar = mechanism.k_bar or question.k_bar or question.k  # a public list has no slots
    slotted = replace(question, k_bar=k_bar)
    if question.by:
        grouped = _build_in_groups(question, mechanism, choice.name, public_list)
        cost, promise = accounting_or_refuse(lambda: (grouped.cost(), grouped.guarantee()))
        return Prepared(slotted, mechanism, choice, cost, promise, grouped)
    cost, promise = accounting_or_refuse(lambda: (mechanism.cost(), mechanism.guarantee()))
    coverage = coverage_of_question(question, limits)
    if coverage is None:
        return Prepared(slotted, mechanism, choice, cost, promise)
    return Prepared(
        slotted, mechanism, choice, cost + coverage.cost(), coverage.guarantee_after(promise), coverage=coverage
    )


def _build_in_groups(question: Question, mechanism: AnyMechanism, name: str, public_list: bool) -> InGroups:
    """The mechanism in every group; raises MechanismError where it may not be run there (P15.1)."""
    check_in_groups(question, mechanism, name, public_list)
    public = question.groups is not None
    total = question.delta if isinstance(question.mechanism, str) else None
    return accounting_or_refuse(
        lambda: InGroups.from_mechanism(mechanism, question.groups_per_user, delta=total, public=public)
    )
