"""From a rule and a total to a mechanism; the total is that of the question, or the usual share of its budget."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from inspect import signature
from typing import TypeVar

from crestline import mechanisms
from crestline.errors import CrestlineError, MechanismError, ParameterError
from crestline.guarantees.cost import Cost
from crestline.histogram.view_kinds import SLOTS, view_of
from crestline.ledger.budget import Budget
from crestline.ledger.budget_fractions import usual_delta, usual_epsilon
from crestline.mechanisms.catalogue import entry
from crestline.mechanisms.coverage.coverage import SHARE, Coverage
from crestline.mechanisms.in_groups import InGroups, fit_in_groups
from crestline.mechanisms.mechanism import AnyMechanism, PairMechanismBase
from crestline.mechanisms.nested import smallest_contribution
from crestline.mechanisms.privacy_total import PrivacyTotal
from crestline.mechanisms.third_party import adopt
from crestline.prepare.auto_rules import AutoRule
from crestline.question import Limits, Question

_Result = TypeVar("_Result")

_NO_MECHANISM = "a mechanism is 'auto', a name of the catalogue, or an object with guarantee() and release()"


def accounting_or_refuse(step: Callable[[], _Result]) -> _Result:
    """Run an accounting step; turn a numerical failure into ParameterError before anything is charged."""
    try:
        return step()
    except CrestlineError:
        raise
    except (ArithmeticError, ValueError):
        pass
    raise ParameterError(
        "this mechanism cannot be accounted for with these numbers: ask with a larger epsilon or another mechanism"
    )


def total_of_question(question: Question, k_bar: int | None = None) -> PrivacyTotal:
    """Total of a question's selection, for `k_bar` slots; raises MechanismError where epsilon or delta is missing."""
    if question.epsilon is None or question.delta is None:
        raise MechanismError(
            "give epsilon and delta, the total of the answer: epsilon=1, delta=1e-8 (delta far below 1 divided by the "
            "number of users)"
        )
    epsilon = (1 - SHARE) * question.epsilon if question.coverage else question.epsilon
    return PrivacyTotal(question.k, epsilon, question.delta, k_bar=k_bar, contribution=question.contribution)


def coverage_of_question(question: Question, limits: Limits) -> Coverage | None:
    """Release of coverage within the total of a question; None where it does not ask for coverage.

    Raises MechanismError for a mechanism of the caller's own, which leaves no epsilon to coverage.
    """
    if not question.coverage:
        return None
    if not isinstance(question.mechanism, str):
        raise MechanismError(
            "coverage takes a part of the question's epsilon, which a mechanism of your own does not leave: name a "
            "mechanism and give epsilon and delta, or leave coverage out"
        )
    assert question.epsilon is not None, "a named mechanism is made within a total"
    return Coverage.for_epsilon(question.epsilon, several_periods=limits.several)


def with_total(
    question: Question, budget: Budget | None, limits: Limits, made: Callable[[Question], AnyMechanism]
) -> Question:
    """The question with its total: its own epsilon and delta, or else the usual share of the budget.

    The share of epsilon is found by the cost of the mechanism that `made` builds for it. Raises MechanismError where
    neither the question nor a budget gives a total.
    """
    if budget is None:
        total_of_question(question)
        return question
    asked = replace(question, delta=usual_delta(budget) if question.delta is None else question.delta)
    if asked.epsilon is not None:
        return asked

    def cost(epsilon: Fraction) -> Cost:
        tried = replace(asked, epsilon=epsilon)
        mechanism, coverage = made(tried), coverage_of_question(tried, limits)
        found = accounting_or_refuse(
            InGroups.from_mechanism(mechanism, asked.groups_per_user).cost if asked.by else mechanism.cost
        )
        return found if coverage is None else found + coverage.cost()

    return replace(asked, epsilon=usual_epsilon(budget, cost))


def _build_within_total(rule: AutoRule, question: Question, k_bar: int | None, several: bool) -> AnyMechanism:
    """The mechanism within the total; counts are part of it where it allows that, else a release of their own."""
    kind = entry(rule.name).load()
    options: dict[str, object] = {} if rule.noise is None else {"noise": rule.noise}
    if several and "several" in signature(kind.fit).parameters:
        options["several"] = True  # P16.2
    if question.counts:
        bounded = question.contribution is not None or issubclass(kind, PairMechanismBase)  # which finds its own bound
        if bounded and "counts" in signature(kind.fit).parameters:
            options["counts"] = True  # P4.1, P4.2, P23.1, P23.2
        else:
            kind, options = mechanisms.NoisyCounts, {"mechanism": kind}  # P3.7

    total, groups = total_of_question(question, k_bar), question.groups_per_user if question.by else 1
    return accounting_or_refuse(lambda: fit_in_groups(partial(kind.fit, **options), total, groups))


def build_within_slots(rule: AutoRule, question: Question, limits: Limits) -> AnyMechanism:
    """The mechanism within the total, with at most `limits.slots` slots where `k_bar` is open and k is not larger."""
    mechanism = _build_within_total(rule, question, question.k_bar, limits.several)
    if question.k_bar is None and limits.slots is not None and question.k <= limits.slots < (mechanism.k_bar or 0):
        return _build_within_total(rule, question, limits.slots, limits.several)
    return mechanism


def describe_runner_up(rules: tuple[AutoRule, ...], question: Question, limits: Limits) -> str:
    """Sentence on what the second rule would have required, from parameters alone; empty where it could not answer.

    Counts are left out: they are a release of their own, and change no lead.
    """
    if len(rules) < 2:
        return ""
    try:
        other = build_within_slots(rules[1], replace(question, counts=False), limits)
    except CrestlineError:
        return ""
    name = f"{rules[1].name} without a noisy query" if rules[0].name == "Routed" else rules[1].name
    if other.margin is None:
        return f"the next best would have been {name}"
    users = f"{math.ceil(other.margin()) * (question.clip or 1):,} {question.unit}"
    if view_of(other).kind == "observed":
        return f"the next best, {name}, would have needed about {users}"
    rank = f"rank {(other.k_bar or question.k) + 1:,}"
    return f"the next best, {name}, would have needed a lead of about {users} over {rank}"


def rule_for_name(wanted: str) -> AutoRule:
    """Rule for a mechanism named in the question; raises MechanismError for a name that does not answer a top-k."""
    if entry(wanted).domain == "queries":
        raise MechanismError(f"{wanted} answers queries of your own, not a top-k: call it from Python, or name another")
    return AutoRule(wanted, "named in the question")


def mechanism_from_question(question: Question) -> AnyMechanism:
    """The mechanism object that a question carries; raises MechanismError where its fields contradict the question."""
    mechanism, k, k_bar = adopt(question.mechanism, _NO_MECHANISM), question.k, question.k_bar
    own = mechanism.k_bar
    if own is None and k_bar is None and view_of(mechanism) == SLOTS:
        raise MechanismError("give the number of items that this mechanism may see: k_bar=…")
    if own is not None and k_bar is not None and k_bar != own:
        raise MechanismError(f"k_bar={k_bar} does not agree with the mechanism's own k_bar={own}; leave it out")
    if mechanism.k not in (None, k):
        raise MechanismError(f"k={k} does not agree with the mechanism's own k={mechanism.k}")
    bound = smallest_contribution(mechanism)
    if bound is not None and (question.contribution is None or question.contribution > bound):  # D3: enforced
        raise MechanismError(
            f"the mechanism's guarantee is for users of at most {bound} items: ask with contribution={bound}"
        )
    return mechanism
