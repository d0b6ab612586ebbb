"""Routes: a paid look and the mechanism it takes, audited exactly on all small neighbours with the look released."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr
from tests.mechanisms.conformance import SIGNIFICANCE, p_value
from tests.mechanisms.observed.test_observed import User, hockey_stick, neighbours
from tests.mechanisms.observed.test_sieve import planted

from crestline.errors import BudgetMismatch, ParameterError
from crestline.guarantees.cost import Cost
from crestline.guarantees.guarantee import Guarantee
from crestline.guarantees.root_finding import largest_fitting
from crestline.guarantees.rounding import ball, decimal_above, precision
from crestline.histogram.histogram import Histogram
from crestline.histogram.relation import Relation
from crestline.histogram.route import Route
from crestline.ledger.budget_rules import PureRule
from crestline.mechanisms.canonical.staircase import Staircase
from crestline.mechanisms.mechanism import AnyMechanism, PairMechanismBase
from crestline.mechanisms.observed.observed import Observed
from crestline.mechanisms.observed.sieve import Sieve
from crestline.mechanisms.privacy_total import PrivacyTotal
from crestline.mechanisms.routes.ordered_staircase import OrderedStaircase
from crestline.mechanisms.routes.routed import Routed, routed_delta
from crestline.mechanisms.selection import Selection
from crestline.randomness.entropy import Entropy, replay
from crestline.randomness.laws import LAPLACE

KEY = bytes(16)


@dataclass(frozen=True)
class OverPairs(PairMechanismBase):
    """The last step of the sieve, which has a law: a threshold over all observed items of some pairs."""

    observed: Observed

    @property
    def k(self) -> int:
        return self.observed.k

    def guarantee(self) -> Guarantee:
        return self.observed.guarantee()

    def cost(self) -> Cost:
        return self.observed.cost()

    def law(self, pairs: Any) -> Mapping[Selection, float]:
        return self.observed.law(pairs.observed_items(KEY, self.observed.weights))

    def release_many(self, pairs: Any, n: int, entropy: Entropy) -> list[Selection]:
        return self.observed.release_many(pairs.observed_items(KEY, self.observed.weights), n, entropy)


def routed(gate: str = "0.3", epsilon: str = "0.8", delta: str = "0.05", needed: int = 1) -> Routed:
    """Both ways with all that P27.1 leaves them: a threshold with two fifths of δ, and a set with as much."""
    total, look, new = Fraction(epsilon), Fraction(gate), Fraction(delta) * Fraction(2, 5)
    largest = largest_fitting(lambda squared: routed_delta(total, look, new, squared, new) <= Fraction(delta), digits=6)
    with precision():
        sigma = decimal_above(1 / ball(largest).sqrt())
    slots = OrderedStaircase.for_budget(k=2, k_bar=2, epsilon=total - look, delta=new)
    return Routed(total, delta, look, needed, slots, OverPairs(Observed(2, 1, sigma, new, cap=3)))


def pairs(users: tuple[User, ...]) -> Relation:
    rows = [(user, "abc".index(item)) for user, items in enumerate(users) for item in items]
    table = np.array(rows, dtype=np.int64).reshape(-1, 2)
    return Relation(table[:, 0], table[:, 1], "abc")


Law = dict[tuple[int, AnyMechanism], tuple[float, Mapping[Selection, float]]]
LOW, HIGH = -4, 18  # all true leads of the audit lie between them


@cache
def chosen(mechanism: Routed, lead: int) -> AnyMechanism:
    """What answers after a noisy lead: the same for every table."""
    return mechanism._mechanism_for_lead(lead)


def law(mechanism: Routed, users: tuple[User, ...]) -> Law:
    """For every noisy lead its chance, and the law of what answers then.

    Beyond all true leads two Laplace laws have one ratio, so those leads are pooled, and nothing is lost by it.
    """
    view = pairs(users)
    slots = view.slots(mechanism.k_bar)
    chances: Counter[tuple[int, AnyMechanism]] = Counter()
    for lead, chance in mechanism._lead_law(mechanism._true_lead(slots)):
        chances[min(max(lead, LOW), HIGH), chosen(mechanism, lead)] += chance  # type: ignore[assignment] # a sum
    laws: dict[AnyMechanism, Any] = {}
    for _, way in chances:
        if way not in laws:
            laws[way] = way.law(slots if isinstance(way, OrderedStaircase) else view)  # type: ignore[misc, arg-type] # it has one
    return {(lead, way): (chance, laws[way]) for (lead, way), chance in chances.items()}


def divergence(left: Law, right: Law, epsilon: float) -> float:
    """The hockey stick between two laws in which the lead, the way and what was named are all released."""
    found = 0.0
    for outcome, (chance, named) in left.items():
        other, alike = right.get(outcome, (0.0, {}))
        found += hockey_stick(
            {one: chance * part for one, part in named.items()},
            {one: other * part for one, part in alike.items()},
            epsilon,
        )
    return found


def worst(mechanism: Routed, epsilon: float, law_of: Any = law) -> float:
    """The largest δ over all small pairs of neighbours, and the same beside a crowd whose two items lead."""
    known, found = cache(lambda users: law_of(mechanism, users)), 0.0
    crowds: tuple[tuple[User, ...], ...] = ((), (("a", "b"),) * 9)
    for crowd in crowds:
        for more, less in neighbours():
            left, right = known((*crowd, *more)), known((*crowd, *less))
            found = max(found, divergence(left, right, epsilon), divergence(right, left, epsilon))
    return found


@pytest.mark.statistics
@pytest.mark.parametrize(("epsilon", "delta"), [("0.8", "0.05"), ("1.3", "0.01")])
def test_the_promise_is_kept_on_all_small_neighbours(epsilon: str, delta: str) -> None:
    mechanism = routed("0.3", epsilon, delta)
    promise: Any = mechanism.guarantee()
    assert (promise.epsilon, promise.delta) == (Fraction(epsilon), Fraction(delta))
    found = worst(mechanism, float(promise.epsilon))
    assert 0.2 * float(delta) < found <= float(promise.delta) * (1 + 1e-9)


@pytest.mark.statistics
def test_a_look_that_is_not_paid_for_is_caught() -> None:
    """The same mechanism with a promise that leaves the look out."""
    assert worst(routed("0.6", "1.1"), 0.5) > 0.05 * 1.1


def by_true_lead(mechanism: Routed, users: tuple[User, ...]) -> Law:
    """What a careless author might do: the true lead decides."""
    view = pairs(users)
    slots = view.slots(mechanism.k_bar)
    way = mechanism._mechanism_for_lead(mechanism._true_lead(slots))
    return {(0, way): (1.0, way.law(slots if isinstance(way, OrderedStaircase) else view))}  # type: ignore[misc, arg-type] # it has one


@pytest.mark.long
def test_a_choice_by_the_true_lead_is_caught() -> None:
    assert worst(routed(), 0.8, by_true_lead) > 0.9


@pytest.mark.statistics
def test_releases_follow_the_law_and_a_look_ten_percent_off_is_noticed() -> None:
    tight, view = routed("0.5", "1", needed=4), pairs((("a", "b"),) * 9 + (("b", "c"),))
    mechanism = replace(tight, epsilon=Fraction(2), delta=Fraction(1, 2))  # with room for other noisy leads
    drawn = mechanism.release_many(view, 40_000, replay("routes"))
    low, high = 2, 12

    def pooled(selection: Selection) -> tuple[int, Selection]:
        assert selection.route is not None
        lead = min(max(selection.route.lead, low), high)
        return lead, replace(selection, route=None)

    def written(one: Routed) -> dict[tuple[int, Selection], float]:
        result: Counter[tuple[int, Selection]] = Counter()
        for selection, chance in one.law(view).items():  # type: ignore[misc, arg-type] # both mechanisms have one
            result[pooled(selection)] += chance  # type: ignore[assignment] # a sum of chances
        return dict(result)  # type: ignore[arg-type] # as above

    seen = [pooled(selection) for selection in drawn]
    assert math.fsum(written(mechanism).values()) == pytest.approx(1, abs=1e-9)
    assert p_value(seen, written(mechanism)) > SIGNIFICANCE
    for gate in ("0.45", "0.55"):
        assert p_value(seen, written(replace(mechanism, gate=Fraction(gate)))) < SIGNIFICANCE


def test_the_route_is_released_and_decides_what_is_charged() -> None:
    mechanism = Routed.for_budget(k=5, epsilon=1, delta="1e-6")
    clear = Relation(np.repeat(np.arange(2000), 5), np.tile(np.arange(5), 2000))
    selection = mechanism.release(clear, replay("clear"))  # type: ignore[arg-type] # its view says what
    assert selection.route is not None
    assert (selection.route.taken, selection.route.other) == ("OrderedStaircase", "Sieve")
    assert selection.route.lead >= mechanism.needed == selection.route.needed
    taken = mechanism.answering_mechanism(selection)
    assert isinstance(taken, OrderedStaircase)
    assert taken.order > mechanism.slots.order  # type: ignore[attr-defined] # so clear a lead leaves more for the order
    assert taken.guarantee() == mechanism.slots.guarantee()
    look = mechanism.gate**2 / 2
    assert (
        mechanism.settlement_cost(selection).rho == look + taken.settlement_cost(selection).rho <= mechanism.cost().rho
    )
    barely = replace(selection, route=mechanism._route(mechanism.needed))
    assert look + mechanism.pairs.cost().rho <= mechanism.settlement_cost(barely).rho <= mechanism.cost().rho
    flat = mechanism.release(planted(light=False), replay("flat"))  # type: ignore[arg-type] # as above
    vague = replace(flat, route=Route("Sieve", "OrderedStaircase", mechanism.needed - 1, mechanism.needed, 1))
    assert mechanism.answering_mechanism(vague) is mechanism.pairs
    assert mechanism.settlement_cost(vague).rho == look + mechanism.pairs.cost().rho <= mechanism.cost().rho
    ways = mechanism.slots.cost().rho, mechanism.pairs.cost().rho
    assert mechanism.settlement_cost(Selection((), True)).rho == look + min(ways), (
        "at the very least, whatever is released"
    )
    assert mechanism.cost().delta == max(mechanism.slots.cost().delta, mechanism.pairs.cost().delta)


def test_a_pure_ledger_refuses_it_before_anything_is_charged() -> None:
    """One way has Gaussian noise: whichever is dearer, the reservation has no pure epsilon."""
    with pytest.raises(BudgetMismatch):
        PureRule(Fraction(10), Fraction(1, 100)).measure(Routed.for_budget(k=5, epsilon=1, delta="1e-6").cost())


@pytest.mark.long
@pytest.mark.parametrize("k", [1, 2, 10, 100])
@pytest.mark.parametrize("epsilon", ["0.05", "1", "6"])
def test_a_total_is_spent_in_full(k: int, epsilon: str) -> None:
    mechanism, delta = Routed.for_budget(k=k, epsilon=epsilon, delta="1e-8"), Fraction(1, 10**8)
    promise: Any = mechanism.guarantee()
    assert (promise.epsilon, promise.delta) == (Fraction(epsilon), delta)
    slots: Any = mechanism.slots.guarantee()
    assert slots.epsilon == mechanism.epsilon - mechanism.gate
    used = routed_delta(
        mechanism.epsilon, mechanism.gate, slots.delta, 2 * mechanism.pairs.cost().rho, mechanism.pairs.cost().delta
    )
    assert delta * (1 - Fraction(1, 10**6)) < used <= delta
    assert Fraction(2, 5) * delta < slots.delta < Fraction(7, 10) * delta  # more than the part for new items, free
    assert isinstance(mechanism.slots, OrderedStaircase)
    assert isinstance(mechanism.pairs, Sieve)
    alone = Sieve.fit(PrivacyTotal(k, Fraction(epsilon), delta))
    assert 0.96 < math.sqrt(mechanism.pairs.mu_squared / alone.mu_squared) < 0.99
    assert mechanism.k_bar == 10 * k


def gaussian_curve(epsilon: float, mu: float) -> float:
    """δ_G(ε; μ) in doubles."""
    return float(ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu))


def test_the_formula_is_that_of_a_randomised_response_before_a_gaussian_mechanism() -> None:
    """The choice tells neighbours apart as well as an e-DP one can, and both outcomes run the Gaussian mechanism: then
    the bound is met, so no smaller formula would do."""
    epsilon, gate, mu = 1.0, 0.2, 0.3
    places = np.linspace(-12, 12, 400_001)
    normal = np.exp(-(places**2) / 2) / math.sqrt(2 * math.pi)
    moved = np.exp(-((places - mu) ** 2) / 2) / math.sqrt(2 * math.pi)
    p = math.exp(gate) / (1 + math.exp(gate))
    parts = [
        np.maximum(one * moved - math.exp(epsilon) * other * normal, 0).sum() * (places[1] - places[0])
        for one, other in ((p, 1 - p), (1 - p, p))
    ]
    stated = routed_delta(Fraction(1), Fraction(1, 5), Fraction(0), Fraction(9, 100), Fraction(0))
    assert math.fsum(parts) == pytest.approx(float(stated), rel=1e-9)


def noisy_lead_delta(mechanism: Routed, slots_delta: float, deciding: int, moved: int) -> float:
    """δ of a noisy lead that a user moves by one, with a Gaussian mechanism below `deciding` and, from there on, one
    that fails with `slots_delta`; both as bad as they may be, and all leads released."""
    epsilon, gate, mu = float(mechanism.epsilon), float(mechanism.gate), math.sqrt(2 * mechanism.pairs.cost().rho)
    reach = math.ceil(40 / gate)
    edges = np.arange(-reach, reach + 2) - 0.5
    one, other = (
        np.diff(LAPLACE.cdf(np.multiply(places, gate, dtype=np.float64))) for places in (edges, edges - moved)
    )
    seen = (one > 0) & (other > 0)
    leads, one, loss = edges[:-1][seen] + 0.5, one[seen], np.log(one[seen] / other[seen])
    new = float(mechanism.pairs.cost().delta)
    failures = [
        slots_delta if lead >= deciding else gaussian_curve(epsilon - float(gap), mu) + new
        for lead, gap in zip(leads, loss, strict=True)
    ]
    return float(one @ np.array(failures))


@pytest.mark.long
def test_no_deciding_lead_exceeds_the_promise_and_slots_with_the_whole_delta_do() -> None:
    mechanism = Routed.for_budget(k=5, epsilon=1, delta="1e-6")
    own: Any = mechanism.slots.guarantee()
    found = dict.fromkeys(("own", "whole"), 0.0)
    for deciding in (-800, -60, -20, -5, 0, 5, 20, 60, 800):
        for moved in (-1, 1):
            for share, delta in (("own", float(own.delta)), ("whole", 1e-6)):
                found[share] = max(found[share], noisy_lead_delta(mechanism, delta, deciding, moved))
    assert 0.98e-6 < found["own"] <= 1e-6
    assert found["whole"] > 1.15e-6
    with pytest.raises(ParameterError, match="δ is too small"):
        replace(
            mechanism, slots=OrderedStaircase.for_budget(k=5, epsilon="0.95", delta="9.99e-7"), delta=Fraction("9e-7")
        )


@pytest.mark.long
@pytest.mark.parametrize(("k", "epsilon"), [(1, "0.05"), (10, "1"), (100, "6")])
def test_the_lead_that_decides_is_the_chosen_one(k: int, epsilon: str) -> None:
    """Decisions of docs/decisions/auto.md: the margin of the staircase, and a twentieth of ε."""
    mechanism = Routed.for_budget(k=k, epsilon=epsilon, delta="3e-8")
    assert mechanism.needed == math.ceil(mechanism.slots.margin(0.5))
    assert mechanism.gate == Fraction(epsilon) / 20
    assert mechanism._mechanism_for_lead(mechanism.needed - 1) is mechanism.pairs
    assert mechanism._route(mechanism.needed - 1).taken == "Sieve"
    assert type(mechanism._mechanism_for_lead(mechanism.needed)) is type(mechanism.slots)
    route = mechanism._route(mechanism.needed)
    assert (route.taken, route.other) == (type(mechanism.slots).__name__, "Sieve")
    assert route.spread == math.ceil(math.log(20) / float(mechanism.gate))


def test_the_noise_of_the_look_is_taken_off_before_a_set_is_weighed() -> None:
    """A lead that is one scale of the noise smaller divides ε between the set and its order."""
    mechanism = Routed.for_budget(k=5, epsilon=1, delta="1e-6")
    assert isinstance(mechanism.slots, OrderedStaircase)
    leads = range(mechanism.needed, 8 * mechanism.needed, 5)
    chosen = [mechanism._mechanism_for_lead(lead) for lead in leads]
    assert chosen == [mechanism.slots.for_lead(lead - float(1 / mechanism.gate)) for lead in leads]
    assert len(set(chosen)) > 3


def test_the_lead_is_that_of_the_last_item_over_the_first_left_out_less_one() -> None:
    slots = Histogram.from_counts({"a": 90, "b": 70, "c": 20, "d": 5}, 2)
    assert routed()._true_lead(slots) == 70 - 20 - 1
    assert routed()._true_lead(Histogram.from_counts({}, 2)) == -1


def test_every_noisy_lead_that_a_double_can_tell_is_looked_at() -> None:
    leads = dict(routed("0.5")._lead_law(3))
    assert list(leads) == list(range(3 - 74, 3 + 75))
    assert leads[3] == pytest.approx(1 - math.exp(-0.25), rel=1e-12)
    assert leads[5] == pytest.approx((math.exp(-0.75) - math.exp(-1.25)) / 2, rel=1e-12)
    assert leads[1] == pytest.approx(leads[5], rel=1e-12)


def test_an_empty_table_names_nothing() -> None:
    none = Relation(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    for key in range(5):
        selection = Routed.for_budget(k=3, epsilon=1, delta="1e-6").release(none, replay(key))  # type: ignore[arg-type] # its view says what
        assert (selection.items, selection.stopped) == ((), True)


def test_what_does_not_fit_together_is_refused() -> None:
    honest = routed()
    with pytest.raises(ParameterError, match="same number of items"):
        replace(honest, slots=OrderedStaircase(Staircase(3, 5, 1, "0.1"), "0.1"))
    with pytest.raises(ParameterError, match="what the noisy lead leaves"):
        replace(honest, gate=honest.gate * 2)
    with pytest.raises(ParameterError, match="δ is too small"):
        replace(honest, delta=honest.delta * Fraction(9, 10))
    with pytest.raises(ParameterError, match="leave contribution out"):
        Routed.for_budget(k=3, epsilon=1, delta="1e-6", contribution=4)
