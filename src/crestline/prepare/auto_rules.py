"""Rules of `auto`: mechanisms for a question, from its fields, its budget and public limits, never from the data.

`candidate_rules` lists them, the best first; `docs/decisions/auto.md` has the measurements behind their order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from crestline.histogram.view_kinds import KINDS
from crestline.ledger.budget import Budget
from crestline.ledger.budget_rules import PerItemRule, PureRule, ZcdpRule
from crestline.question import NO_LIMITS, Limits, Question


@dataclass(frozen=True)
class AutoRule:
    """A mechanism that `auto` may choose.

    Attributes:
        name: Name in the catalogue.
        reason: Why it is chosen, for the answer.
        noise: Name of its noise; None for the mechanism's default.
    """

    name: str
    reason: str
    noise: str | None = None


PUBLIC_LIST_ONE = AutoRule(
    "Lipschitz", "chosen because one item of a public list is wanted: permute-and-flip", noise="exponential"
)
PUBLIC_LIST_ONE_CHARGED = AutoRule(
    "Lipschitz", "chosen because one item of a public list is wanted, with the noise that a ledger adds up best"
)
PUBLIC_LIST = AutoRule(
    "CanonicalOrPeeling",
    "chosen because a set from a public list is wanted: a noisy query, which is charged, decides whether it is drawn "
    "at once (then the items are in no order) or one item after the other (then they are)",
)
PUBLIC_LIST_CHARGED = replace(PUBLIC_LIST, noise="gumbel")
PUBLIC_LIST_ORDERED = AutoRule(
    "Lipschitz", "chosen because items of a public list are wanted in order: they are drawn one after the other"
)
BOUNDED = AutoRule("Observed", "chosen because the contribution is bounded: it compares all observed items")
BOUNDED_CHARGED = replace(BOUNDED, noise="gaussian")
BOUNDED_PURE = replace(BOUNDED, noise="laplace")
KNOWN_CONTRIBUTION = AutoRule(
    "LimitedDomainGauss", "chosen because the contribution is bounded: its noise does not grow with k"
)
KNOWN_CONTRIBUTION_FEW = AutoRule(
    "LimitedDomainLaplace", "chosen because users have few items each: Laplace noise needs the smallest lead"
)
ROUTE = AutoRule(
    "Routed",
    "chosen because no contribution is given: a noisy query, which is charged, decides between slots and the sieve",
)
WITH_LEDGER = AutoRule("Sieve", "chosen because a ledger adds up rho: for the same rho it names the most items")
WITH_COUNTS = replace(
    WITH_LEDGER, reason="chosen because counts are wanted: they follow from what it releases, at no extra cost"
)
MANY_PAIRS = replace(
    WITH_LEDGER, reason="chosen because many items are wanted: it finds those that lead by less than slots need"
)
PER_ITEM = AutoRule("LimitedDomain", "chosen because this budget counts items: it pays only for those it draws")
FEW_ITEMS = AutoRule(
    "OrderedStaircase",
    "chosen because few items are wanted in one pass: the largest set that passes a noisy threshold, then its order",
)
FEW_IN_A_SET = AutoRule(
    "Staircase", "chosen because few items are wanted, in any order: the largest set that passes a noisy threshold"
)
MANY_ITEMS = AutoRule(
    "RestrictedGumbel", "chosen because many items are wanted in one pass: it returns as many as it safely can"
)
IN_GROUPS = AutoRule(
    "RestrictedGumbel", "chosen because groups differ in size: it returns as many items of each as it safely can"
)
RULES = (
    *(PUBLIC_LIST_ONE, PUBLIC_LIST, BOUNDED, KNOWN_CONTRIBUTION, KNOWN_CONTRIBUTION_FEW),
    *(ROUTE, WITH_LEDGER, PER_ITEM, FEW_ITEMS, FEW_IN_A_SET, MANY_ITEMS),
)

# Up to this k a whole set in one step beats drawing item after item.
FEW = 10
# Up to this k peeling a public list has the exact set as often as a draw among all sets
# (docs/decisions/public-lists.md).
_FEW_LISTED = 3
# Up to this bound Laplace noise needs a smaller lead than Gaussian noise (ε = 0.1 to 8, δ = 1e-6 to 1e-10); but a
# ledger adds Gaussian noise up for less.
_FEW_EACH = 3
# The largest contribution bound for which thresholds over observed items have weights.
_LARGEST_BOUND = 1 << 16


def best_rule(
    question: Question, *, budget: Budget | None = None, limits: Limits = NO_LIMITS, public_list: bool = False
) -> AutoRule:
    """The first rule of `candidate_rules`."""
    return candidate_rules(question, budget=budget, limits=limits, public_list=public_list)[0]


def candidate_rules(
    question: Question, *, budget: Budget | None = None, limits: Limits = NO_LIMITS, public_list: bool = False
) -> tuple[AutoRule, ...]:
    """Rules for a question, the best first; they depend on how the budget is added up, if there is one."""
    terms = None if budget is None else budget.terms
    if public_list:
        return (_public_list_rule(question, charged=terms is not None),)
    if isinstance(terms, PerItemRule):
        return (PER_ITEM,)
    found: list[AutoRule] = []
    if question.contribution is not None:
        if "observed" in _available_views(question, limits) and question.contribution <= _LARGEST_BOUND:
            found.append(_observed_rule(terms))
        if not isinstance(terms, PureRule):
            found.append(_bounded_rule(question, terms))
    elif not question.by and "pairs" in _available_views(question, limits) and not isinstance(terms, PureRule):
        found += _pair_rules(question, terms)
    if question.by:
        return (*found, _group_rule(question, terms))
    return (*found, *_slot_rules(question, terms))


def auto_mechanism_names() -> frozenset[str]:
    """Names of all mechanisms that `auto` may choose."""
    return frozenset(rule.name for rule in RULES)


def _available_views(question: Question, limits: Limits) -> tuple[str, ...]:
    """Views that a mechanism may have: slots alone where one pass, their number or a score was asked for."""
    if question.passes == 1 or question.k_bar is not None or question.score is not None:
        return ("slots",)
    return tuple(kind for kind in limits.views_of(question) if kind in KINDS)


def _pair_rules(question: Question, terms: object) -> list[AutoRule]:
    """Rules for views of pairs: the sieve where ρ is added up or counts are wanted, none for a short set without them,
    which slots answer in one pass."""
    if isinstance(terms, ZcdpRule):
        return [WITH_LEDGER]
    if question.counts:
        return [WITH_COUNTS]
    if not question.ordered and 1 < question.k <= FEW:
        return []  # a set needs no order, and one pass is enough
    return [ROUTE] if question.k <= FEW else [MANY_PAIRS]


def _group_rule(question: Question, terms: object) -> AutoRule:
    """Rule for one pass over the slots of every group: a set, where that will do and pure steps are not dear."""
    few_in_a_set = not question.ordered and 1 < question.k <= FEW and not isinstance(terms, ZcdpRule)
    return FEW_IN_A_SET if few_in_a_set else IN_GROUPS


def _bounded_rule(question: Question, terms: object) -> AutoRule:
    """Rule for slots with a contribution bound, which is multiplied by the number of a user's groups."""
    most = (question.contribution or 1) * question.groups_per_user
    few = most <= _FEW_EACH and terms is None and question.score is None
    return KNOWN_CONTRIBUTION_FEW if few else KNOWN_CONTRIBUTION


def _observed_rule(terms: object) -> AutoRule:
    """Rule for all observed items: Gaussian noise where ρ is added up, Laplace where ε is, else the lower threshold."""
    return BOUNDED_CHARGED if isinstance(terms, ZcdpRule) else BOUNDED_PURE if isinstance(terms, PureRule) else BOUNDED


def _slot_rules(question: Question, terms: object) -> tuple[AutoRule, ...]:
    """Rules for one pass over `k_bar + 1` rows; pure steps are dear where ρ is added up, many of them where ε is."""
    if isinstance(terms, ZcdpRule):
        return (PER_ITEM, MANY_ITEMS) if question.k == 1 else (MANY_ITEMS, PER_ITEM)
    if question.k > FEW:
        return (PER_ITEM, MANY_ITEMS) if isinstance(terms, PureRule) else (MANY_ITEMS, PER_ITEM)
    as_a_set = not question.ordered and question.k > 1
    return (FEW_IN_A_SET, FEW_ITEMS, MANY_ITEMS) if as_a_set else (FEW_ITEMS, MANY_ITEMS)


def _public_list_rule(question: Question, *, charged: bool) -> AutoRule:
    """Rule for a public list; a ledger adds up bounded ranges for less, which only Gumbel noise has."""
    if question.k == 1:
        return PUBLIC_LIST_ONE_CHARGED if charged else PUBLIC_LIST_ONE
    if question.ordered or question.k <= _FEW_LISTED:
        return PUBLIC_LIST_ORDERED
    return PUBLIC_LIST_CHARGED if charged else PUBLIC_LIST
