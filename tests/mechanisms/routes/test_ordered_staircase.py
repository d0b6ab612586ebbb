"""The ordered staircase: its law, its neighbours, broken twins, and what it spends."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from tests.mechanisms.conformance import follows_its_law, is_equivariant, items_law, notices, stays_within

from crestline.audit.neighbours import small_histogram_pairs
from crestline.audit.testers.exact import worst_pair
from crestline.errors import ParameterError
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.canonical.staircase import Staircase
from crestline.mechanisms.routes.ordered_staircase import OrderedStaircase
from crestline.mechanisms.selection import Selection
from crestline.randomness.entropy import replay

COUNTS = {"a": 14, "b": 9, "c": 7, "d": 1}


def ordered(k: int, k_bar: int, epsilon: Any = "0.6", order: Any = "0.4", delta: Any = "0.1") -> OrderedStaircase:
    return OrderedStaircase(Staircase(k, k_bar, epsilon, delta), order)


def test_the_law_is_that_of_the_set_times_that_of_the_order() -> None:
    """Two items: Laplace noise of rate 0.4 in both counts, which one user moves by one up to a shift (P2.7)."""
    mechanism, histogram = ordered(2, 3), Histogram.from_counts(COUNTS, 3)
    sets, lists = items_law(mechanism.staircase.law(histogram)), items_law(mechanism.law(histogram))
    assert math.fsum(lists.values()) == pytest.approx(1, abs=1e-9)
    gap = 0.4 * (14 - 9)
    second_first = math.exp(-gap) * (2 + gap) / 4  # P2.3
    assert lists["b", "a"] == pytest.approx(sets[frozenset("ab")] * second_first, rel=1e-6)
    assert lists["a", "b"] == pytest.approx(sets[frozenset("ab")] * (1 - second_first), rel=1e-6)


@pytest.mark.parametrize("unit", [1, 10])
def test_the_noise_of_an_order_is_for_half_of_its_items(unit: int) -> None:
    """No more than half of the counts move by one user up to a shift, however many there are (P2.7)."""
    histogram = Histogram.from_counts(COUNTS, 3, unit=unit)
    rates = [ordered(2, 3)._rate(size, histogram) * unit for size in range(1, 9)]
    assert rates == [Fraction(2, 5) / moved for moved in (1, 1, 1, 2, 2, 3, 3, 4)]


@pytest.mark.statistics
@pytest.mark.parametrize(("k", "k_bar"), [(1, 3), (2, 4), (3, 4)])
def test_the_sampler_follows_the_law_and_the_test_has_power(k: int, k_bar: int) -> None:
    histogram = Histogram.from_counts({"a": 9, "b": 8, "c": 7, "d": 4}, k_bar)
    mechanism = ordered(k, k_bar)
    follows_its_law(mechanism, histogram)
    notices(mechanism, ordered(k, k_bar, "0.66"), histogram)
    if k > 1:
        notices(mechanism, ordered(k, k_bar, order="0.44"), histogram)


@pytest.mark.statistics
def test_the_sampler_follows_the_law_of_sums() -> None:
    follows_its_law(ordered(2, 4), Histogram.from_counts({"a": 95, "b": 80, "c": 77, "d": 41}, 4, unit=10))


@pytest.mark.long
@pytest.mark.parametrize(("k", "k_bar"), [(1, 2), (2, 2), (2, 3), (3, 3)])
def test_neighbours_stay_within_the_promise(k: int, k_bar: int) -> None:
    stays_within(ordered(k, k_bar, "0.5", "0.3"), lambda counts: Histogram.from_counts(counts, k_bar))


def test_permuting_labels_permutes_the_law() -> None:
    renaming = {"a": "d", "b": "a", "c": "b", "d": "c"}
    is_equivariant(ordered(2, 3), lambda counts: Histogram.from_counts(counts, 3), COUNTS, renaming)


class FreeOrder(OrderedStaircase):
    """What a careless author might do: the order is taken from the true counts."""

    def _rate(self, size: int, histogram: Histogram) -> Fraction:
        return Fraction(10)


@pytest.mark.statistics
def test_an_order_that_is_not_paid_for_is_caught() -> None:
    """The promise is for an order of 0.3; the true order tells who came last."""
    twin = FreeOrder(Staircase(2, 2, "0.5", "0.1"), "0.3")
    law = lambda counts: twin.law(Histogram.from_counts(counts, 2))  # noqa: E731
    found = worst_pair(law, small_histogram_pairs("abc", 12), 0.8).delta
    assert found > 0.15


def test_a_total_is_spent_in_full() -> None:
    mechanism = OrderedStaircase.for_budget(k=5, epsilon=1, delta="1e-8")
    promise: Any = mechanism.guarantee()
    assert (promise.epsilon, promise.delta) == (1, Fraction(1, 10**8))
    assert (mechanism.order, mechanism.staircase.epsilon, mechanism.k_bar) == (Fraction(1, 5), Fraction(4, 5), 50)
    assert mechanism.margin() == mechanism.staircase.margin()
    assert mechanism.cost().rho == Fraction(16, 25) / 2 + Fraction(3, 8) * Fraction(1, 25)
    assert mechanism.cost().epsilon == 1


@pytest.mark.parametrize("k", [2, 10])
@pytest.mark.parametrize("times", [-1, 0, 1.2, 1.7, 1.8, 1.9, 2.1, 2.3, 9])
def test_what_a_clear_lead_leaves_goes_to_the_order(k: int, times: float) -> None:
    """A set is safe at 1.5 times its margin, margins are like 1/ε, and between 2 and 6 twentieths may go."""
    usual = OrderedStaircase.for_budget(k=k, epsilon=2, delta="1e-6")
    lead = times * usual.margin()
    needed = 1.5 * (usual.margin() - 1) * 1.6 / max(lead, 1) / 2
    twentieths = min(6, max(2, math.floor(20 * (1 - needed) + 1e-9)))
    mechanism = usual.for_lead(lead)
    assert (mechanism.order, mechanism.staircase.epsilon) == (Fraction(twentieths, 10), 2 - Fraction(twentieths, 10))
    assert mechanism.guarantee() == usual.guarantee()
    one = OrderedStaircase.for_budget(k=1, epsilon=2, delta="1e-6")
    assert one.for_lead(lead) is one


def test_one_item_has_no_order_to_pay_for() -> None:
    mechanism = OrderedStaircase.for_budget(k=1, epsilon=1, delta="1e-8")
    assert (mechanism.order, mechanism.staircase.epsilon) == (Fraction(0), Fraction(1))
    assert mechanism.cost() == mechanism.staircase.cost()
    with pytest.raises(ParameterError, match="order must be larger than zero"):
        OrderedStaircase(Staircase(2, 3, 1, "0.1"), 0)


def test_an_empty_table_names_nothing() -> None:
    (selection,) = ordered(2, 3).release_many(Histogram.from_counts({}, 3), 1, replay("empty"))
    assert (selection.items, selection.stopped) == ((), True)


@pytest.mark.parametrize(
    ("named", "share"), [(0, "0"), (1, "0"), (2, "1/4"), (3, "3/8"), (4, "1/8"), (5, "5/32"), (10, "1/20")]
)
def test_the_order_is_charged_by_the_items_that_are_named(named: int, share: str) -> None:
    """P22.1: i/(8 floor(i/2)^2) of order², and the largest of these is reserved."""
    mechanism = OrderedStaircase.for_budget(k=10, epsilon=1, delta="1e-8")
    settled = mechanism.settlement_cost(Selection(tuple(range(named)), named < 10))
    assert settled.rho == mechanism.staircase.cost().rho + Fraction(share) * mechanism.order**2
    assert settled.rho <= mechanism.cost().rho == mechanism.staircase.cost().rho + Fraction(3, 8) * mechanism.order**2
    assert settled.epsilon == mechanism.staircase.cost().epsilon + (mechanism.order if named > 1 else 0)  # type: ignore[operator] # both are pure
    assert settled.delta == mechanism.cost().delta


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("order", [0.4, 2.0])
def test_an_order_costs_no_more_than_is_charged(size: int, order: float) -> None:
    """Rényi divergences of the order of a set, over all moves of its counts by 0 or 1, at four orders of Rényi."""
    mechanism = ordered(2, 4, order=Fraction(order))
    items = "abcd"[:size]
    counts = [dict(zip(items, row, strict=True)) for row in product(range(3, 6), repeat=size)]
    charged = float(mechanism._cost_of_order(size).rho - mechanism.staircase.cost().rho)
    half = order**2 / 2 / max(1, size // 2) ** 2 / 8  # less noise would not do: a fraction of the charge is met
    found = 0.0
    for before in counts[:: 3 ** (size - 2)]:
        for moved in product((0, 1), repeat=size):
            after = {item: count + move for (item, count), move in zip(before.items(), moved, strict=True)}
            laws = [order_law(mechanism, histogram) for histogram in (before, after)]
            for alpha in (1.1, 2, 5, 30):
                for one, other in (laws, laws[::-1]):
                    moment = math.fsum(one[key] ** alpha * other[key] ** (1 - alpha) for key in one)
                    found = max(found, math.log(moment) / (alpha - 1) / alpha)
    assert half < found <= charged * (1 + 1e-9)


def order_law(mechanism: OrderedStaircase, counts: dict[str, int]) -> dict[tuple[int, ...], float]:
    """Law of the order of all items of a histogram, once they are a set."""
    histogram = Histogram.from_counts(counts, 4)
    law = mechanism._order_chances(histogram, list(range(len(counts))))
    names = {tuple(histogram.names(places)): chance for places, chance in law}
    return {tuple(map(ord, key)): chance for key, chance in names.items()}  # type: ignore[arg-type] # letters
