"""Which mechanism answers a question: decided from the question alone, never from the data (P12.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any

from crestline import mechanisms
from crestline.answer.answer import Choice
from crestline.errors import MechanismError
from crestline.mechanisms.catalogue import entry
from crestline.mechanisms.framework.restricted import own_cost
from crestline.mechanisms.identity import identity, shown
from crestline.mechanisms.mechanism import Mechanism
from crestline.mechanisms.slots import contribution_bound
from crestline.mechanisms.stated import KNOWN, UNKNOWN, contribution_of, domain_of, parts
from crestline.parameters import LARGEST_K, LARGEST_K_BAR, Exact, positive, probability, whole

AUTO = "auto"


@dataclass(frozen=True)
class Rule:
    """What `auto` takes when a question looks like this, and why."""

    name: str
    reason: str


KNOWN_DOMAIN_ONE = Rule("Lipschitz", "chosen because one item of a public list is wanted: permute-and-flip")
KNOWN_DOMAIN = Rule(
    "Canonical", "chosen because the items are on a public list: it picks a whole set at the price of one step"
)
KNOWN_DOMAIN_MANY = Rule(
    "Lipschitz",
    "chosen because many items of a public list are wanted: its k steps add up to less than k of them",
)
KNOWN_CONTRIBUTION = Rule(
    "LimitedDomainGauss", "chosen because the contribution is bounded: its noise does not grow with k"
)
KNOWN_CONTRIBUTION_FEW = Rule(
    "LimitedDomainLaplace", "chosen because users have few items each: Laplace noise needs the smallest lead"
)
WITH_BOOKS = Rule("LimitedDomain", "chosen because a ledger is kept: it pays only for the items it draws")
FEW_ITEMS = Rule("CanonicalBottom", "chosen because few items are wanted: one step names the whole set, or none of it")
MANY_ITEMS = Rule("RestrictedGumbel", "chosen because many items are wanted: it returns as many as it safely can")

# P12.1: up to here a whole set in one step beats drawing item after item.
_FEW = 10
# Up to here Laplace noise needs a smaller lead than Gaussian noise (ε = 0.1 to 8, δ = 1e-6 to 1e-10); but a
# ledger adds Gaussian noise up for less.
_FEW_EACH = 3


@dataclass(frozen=True)
class Chosen:
    """A mechanism ready to run, and the reason for it."""

    mechanism: Any
    choice: Choice
    k_bar: int

    @property
    def identity(self) -> Mapping[str, str] | None:
        """What tells the mechanism from every other; None: it cannot be told, and no answer of it is served again."""
        return identity(self.mechanism)


def choose(
    wanted: Any,
    *,
    k: int,
    k_bar: int | None,
    epsilon: Exact | None,
    delta: Exact | None,
    contribution: int | None,
    counts: bool = False,
    books: bool = False,
    known_domain: bool = False,
    scored: bool = False,
    most_slots: int | None = None,
) -> Chosen:
    """The mechanism for a question: `wanted` is `"auto"`, a catalogue name, or a mechanism.

    `counts` asks for a noisy count of every item, `books` says that a ledger is kept (many questions, each paid for),
    `known_domain` that the universe is public, `scored` that sums are ranked and not numbers of users. Unless `k_bar`
    is given, no mechanism sees more than `most_slots` items: all that a ready histogram has, or a service allows.
    """
    whole(k, "k", at_most=LARGEST_K)
    if k_bar is not None:
        whole(k_bar, "k_bar", at_most=LARGEST_K_BAR)
    contribution_bound(contribution)
    if not isinstance(wanted, str):
        return _fit_for(scored, known_domain, _given(wanted, k, k_bar, contribution))
    if epsilon is None or delta is None:
        raise MechanismError("a mechanism chosen by name needs epsilon and delta: the total for this answer")
    rule = automatic(k, contribution, books, known_domain, scored) if wanted == AUTO else _named(wanted)
    budget = {"epsilon": positive(epsilon, "epsilon"), "delta": probability(delta, "delta")}
    mechanism = _made(rule, counts, k=k, k_bar=k_bar, contribution=contribution, **budget)
    if k_bar is None and most_slots is not None and k <= most_slots < (getattr(mechanism, "k_bar", None) or 0):
        mechanism = _made(rule, counts, k=k, k_bar=most_slots, contribution=contribution, **budget)
    own = getattr(mechanism, "k_bar", None) or k_bar or k  # a public list has no slots
    return _fit_for(scored, known_domain, Chosen(mechanism, describe(mechanism, rule.reason), own))


def _fit_for(scored: bool, known_domain: bool, chosen: Chosen) -> Chosen:
    """Refuse, before anything is charged, what the mechanism would refuse once the rows are counted.

    That is the wrong kind of domain, and sums where noise is charged by a user's items (P1.1e).
    """
    name, domain = chosen.choice.name, domain_of(chosen.mechanism)
    if domain == KNOWN and not known_domain:
        raise MechanismError(
            f"{name} needs the public list of all items: give domain=…, or take mechanism='auto' or another mechanism"
        )
    if domain == UNKNOWN and known_domain:
        raise MechanismError(
            f"{name} is for items that are not publicly listed: leave domain out, or take mechanism='auto' or another "
            "mechanism"
        )
    if scored and any(_charged_by_items(part) for part in parts(chosen.mechanism)):
        raise MechanismError(
            "Laplace noise is charged by the number of a user's items: with a score, take mechanism='auto' or another "
            "mechanism, or leave contribution or counts out"
        )
    return chosen


def _charged_by_items(mechanism: Any) -> bool:
    counted = isinstance(mechanism, mechanisms.NoisyCounts) and mechanism.contribution is not None
    return isinstance(mechanism, mechanisms.LimitedDomainLaplace) or (counted and mechanism.noise == "laplace")


def _made(rule: Rule, counts: bool, **question: Any) -> Any:
    """The mechanism within the budget; counts come free where the mechanism allows it, else as a charged release."""
    kind = entry(rule.name).load()
    if not counts:
        return kind.for_budget(**question)
    if question["contribution"] is not None and "counts" in signature(kind.for_budget).parameters:
        return kind.for_budget(counts=True, **question)  # P4.1, P4.2
    return mechanisms.NoisyCounts.for_budget(mechanism=kind, **question)  # P3.7


def automatic(k: int, contribution: int | None, books: bool, known_domain: bool, scored: bool = False) -> Rule:
    """P12.1 as code: looks at the question only, never at the data."""
    if known_domain:
        return KNOWN_DOMAIN_ONE if k == 1 else KNOWN_DOMAIN if k <= _FEW else KNOWN_DOMAIN_MANY
    if contribution is not None:
        few = contribution <= _FEW_EACH and not books and not scored
        return KNOWN_CONTRIBUTION_FEW if few else KNOWN_CONTRIBUTION
    if books:
        return WITH_BOOKS
    return FEW_ITEMS if k <= _FEW else MANY_ITEMS


def _named(wanted: str) -> Rule:
    if entry(wanted).domain == "queries":
        raise MechanismError(f"{wanted} answers queries of your own, not a top-k: call it from Python, or name another")
    return Rule(wanted, "named in the question")


def _given(mechanism: Any, k: int, k_bar: int | None, contribution: int | None) -> Chosen:
    if not isinstance(mechanism, Mechanism):
        raise MechanismError(
            "a mechanism is 'auto', a name of the catalogue, or an object with guarantee() and release()"
        )
    own = getattr(mechanism, "k_bar", None)
    slots = own if own is not None else k_bar
    if slots is None:
        raise MechanismError("say how many items this mechanism may see: k_bar=…")
    if k_bar is not None and k_bar != slots:
        raise MechanismError(f"k_bar={k_bar} does not agree with the mechanism's own k_bar={slots}; leave it out")
    if getattr(mechanism, "k", k) != k:
        raise MechanismError(f"k={k} does not agree with the mechanism's own k={mechanism.k}")  # type: ignore[attr-defined] # it has one
    bound = contribution_of(mechanism)
    if bound is not None and (contribution is None or contribution > bound):  # D3: enforced, not assumed
        raise MechanismError(
            f"the mechanism's promise is for users of at most {bound} items: ask with contribution={bound}"
        )
    own_cost(mechanism)  # a promise that cannot be charged is refused here, before anything is
    return Chosen(mechanism, describe(mechanism, "given in the question"), slots)


def describe(mechanism: Any, reason: str) -> Choice:
    """A mechanism's name and exact parameters, as text."""
    return Choice(type(mechanism).__name__, shown(mechanism), reason)
