"""What `auto` and other mechanisms name, on pairs of real users and items kept in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import numpy as np

from crestline.histogram.relation import Relation
from crestline.histogram.view_kinds import SLOTS
from crestline.ledger.budget import Budget
from crestline.mechanisms.catalogue import entry
from crestline.mechanisms.mechanism import AnyMechanism
from crestline.mechanisms.privacy_total import PrivacyTotal
from crestline.mechanisms.routes.routed import Routed
from crestline.mechanisms.selection import Selection
from crestline.prepare import Prepared, prepare
from crestline.question import Question
from crestline.randomness.entropy import replay
from reproduction.data import Shelf
from reproduction.simulate import ranked

DELTA = Fraction(1, 10**8)
LEADERS = [("STEAM_PURCHASES", 5)] + [
    (name, 10)
    for name in (
        "AMAZON_VIDEO_GAMES",
        "BOOKCROSSING_SUBSET",
        "CITEULIKE_A",
        "ONLINE_RETAIL",
        "ANIME_5000USERS",
        "STEAM_PURCHASES",
    )
]
EPSILONS = (Fraction(1), Fraction(1, 2))
CHARGED = ("ONLINE_RETAIL", "STEAM_PURCHASES", "AMAZON_VIDEO_GAMES", "CITEULIKE_A")
KS = (10, 20, 50)
RIVALS = ("RestrictedGumbel", "LimitedDomain", "LimitedDomainGauss", "CanonicalBottom", "Staircase", "OrderedStaircase")
_BUDGET = Budget(epsilon=10, delta="1e-5")
_HALVINGS = 12


@dataclass(frozen=True)
class Leaders:
    """One cell of the first table. `missed` counts answers that name something, and not a first that leads clearly."""

    data: str
    k: int
    epsilon: Fraction
    clear: bool
    missed: int
    by_slots: float
    first: float
    auto: float
    gumbel: float
    staircase: float


def leaders(shelf: Shelf, data: str, k: int, epsilon: Fraction, runs: int) -> Leaders:
    """`auto` against restricted Gumbel and the staircase, which names sets."""
    prepared = prepare(Question(k=k, epsilon=epsilon, delta=DELTA))
    counts, routed = shelf.counts(data), cast(Routed, prepared.mechanism)
    drawn = released(prepared.mechanism, shelf, data, runs)
    margin = routed.slots.margin
    assert margin is not None, "mechanisms that look at slots have one"
    clear = int(counts[0] - counts[k]) >= 3 * margin()
    return Leaders(
        data=data,
        k=k,
        epsilon=epsilon,
        clear=clear,
        missed=sum(bool(one.items) and 0 not in one.items for one in drawn) if clear else 0,
        by_slots=float(np.mean([one.route is not None and one.route.lead >= routed.needed for one in drawn])),
        first=float(np.mean([tuple(one.items)[:1] == (0,) for one in drawn])),
        auto=share(drawn, k),
        gumbel=share(_alone("RestrictedGumbel", shelf, data, PrivacyTotal(k, epsilon, DELTA), runs), k),
        staircase=share(_alone("Staircase", shelf, data, PrivacyTotal(k, epsilon, DELTA), runs), k),
    )


@dataclass(frozen=True)
class ForTheSame:
    """One cell of the second table: the share of k items that each names for the same ρ."""

    data: str
    k: int
    taken: str
    rho: Fraction
    named: float
    others: dict[str, float]


def for_the_same_charge(shelf: Shelf, data: str, k: int, runs: int) -> ForTheSame:
    """What `auto` takes with a ledger, and others at the ε that costs them the same ρ."""
    prepared: Prepared = prepare(Question(k=k, epsilon=Fraction(1), delta=DELTA), budget=_BUDGET)
    rho = prepared.cost.rho
    named = _named(released(prepared.mechanism, shelf, data, runs), k)
    others = {}
    for name in RIVALS:
        epsilon = _costing(name, k, rho)
        others[name] = _named(_alone(name, shelf, data, PrivacyTotal(k, epsilon, DELTA), runs), k)
    return ForTheSame(data, k, prepared.choice.name, rho, named, others)


def released(mechanism: AnyMechanism, shelf: Shelf, data: str, runs: int) -> list[Selection]:
    """Releases on all pairs; items are called by their true rank, from zero on."""
    users, items = shelf.events(data)
    return mechanism.release_seen(Relation(users, items), runs, replay(f"{data}|{mechanism}"))


def share(drawn: Sequence[Selection], k: int) -> float:
    """The share of the true top k."""
    return float(np.mean([sum(item < k for item in one.items) / k for one in drawn]))


def _named(drawn: Sequence[Selection], k: int) -> float:
    return float(np.mean([len(one) / k for one in drawn]))


def _alone(name: str, shelf: Shelf, data: str, total: PrivacyTotal, runs: int) -> list[Selection]:
    mechanism: AnyMechanism = entry(name).load().fit(total)
    assert getattr(mechanism, "view", SLOTS) == SLOTS, "the others look at slots"
    counts = ranked(shelf.counts(data), mechanism.k_bar or total.k)
    drawn = mechanism.release_seen(counts, runs, replay(f"{data}|{mechanism}"))
    first = {label: rank for rank, label in enumerate(counts.items)}
    return [Selection(tuple(first[item] for item in one.items), one.stopped) for one in drawn]


def _costing(name: str, k: int, rho: Fraction) -> Fraction:
    """The largest ε, to three digits or so, with which a mechanism costs at most ρ."""
    low, high = Fraction(1, 100), Fraction(8)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        made: AnyMechanism = entry(name).load().fit(PrivacyTotal(k, middle.limit_denominator(10**4), DELTA))
        low, high = (middle, high) if made.cost().rho <= rho else (low, middle)
    return low.limit_denominator(10**4)
