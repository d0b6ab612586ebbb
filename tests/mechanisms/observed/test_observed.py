"""Thresholds over all observed items: their law, their exact δ on every small pair of neighbours, and broken twins."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np
import pytest
from scipy.stats import laplace, norm
from tests.mechanisms.conformance import SIGNIFICANCE, p_value

from crestline.errors import HistogramError, ParameterError
from crestline.guarantees.gaussian import largest_mu_squared
from crestline.guarantees.guarantee import ApproxDP
from crestline.guarantees.rounding import ball, precision
from crestline.histogram.histogram import Histogram
from crestline.histogram.observed_items import ObservedItems
from crestline.mechanisms.limited_domain.gumbel import LimitedDomain
from crestline.mechanisms.observed.exact_delta import is_certainly_private
from crestline.mechanisms.observed.law import threshold_law
from crestline.mechanisms.observed.observed import Observed
from crestline.mechanisms.observed.thresholds import (
    _certify_threshold,
    _gaussian_tail,
    _laplace_tail,
    chance_new_item_passes,
    gaussian_threshold,
    laplace_threshold,
)
from crestline.mechanisms.observed.weights import UNIT, gaussian_weights, laplace_weights
from crestline.mechanisms.public_list.lipschitz import Lipschitz
from crestline.mechanisms.selection import Selection
from crestline.randomness.entropy import replay
from crestline.randomness.laws import GAUSSIAN

User = tuple[str, ...]
SUBSETS: list[User] = [chosen for size in (1, 2, 3) for chosen in combinations("abc", size)]
BUDGETS = [("0.5", "0.05"), ("0.2", "0.01"), ("1", "0.001")]


def neighbours() -> Iterator[tuple[tuple[User, ...], tuple[User, ...]]]:
    """All pairs of up to two users and one more, each with some of three items."""
    for size in (0, 1, 2):
        for others in combinations_with_replacement(SUBSETS, size):
            for user in SUBSETS:
                yield (*others, user), others


def view(users: tuple[User, ...], weights: np.ndarray[Any, Any], floor: int = 1) -> ObservedItems:
    """The score of every item, each user's items weighing what the table says; with a floor, what is left above it of
    items that so many users have."""
    return ObservedItems.from_scores(above(scored(users, weights), users, floor), unit=UNIT, floor=floor)


def scored(users: tuple[User, ...], weights: np.ndarray[Any, Any]) -> Counter[str]:
    scores: Counter[str] = Counter()
    for items in users:
        for item in items:
            scores[item] += int(weights[len(items) - 1])
    return scores


def above(scores: Mapping[str, int], users: tuple[User, ...], floor: int, hidden: int | None = None) -> dict[str, int]:
    """The scores of items that at least so many users have, with so many full weights taken off: one fewer."""
    many = Counter(item for items in users for item in items)
    taken = UNIT * (floor - 1 if hidden is None else hidden)
    return {item: score - taken for item, score in scores.items() if many[item] >= floor}


def hockey_stick(left: Mapping[Selection, float], right: Mapping[Selection, float], epsilon: float) -> float:
    return sum(max(0.0, chance - math.exp(epsilon) * right.get(outcome, 0.0)) for outcome, chance in left.items())


def worst(law_of: Any, epsilon: float) -> float:
    """The largest δ over all small pairs of neighbours, in both directions."""
    known = cache(law_of)
    return max(
        max(hockey_stick(known(more), known(less), epsilon), hockey_stick(known(less), known(more), epsilon))
        for more, less in neighbours()
    )


@pytest.mark.statistics
@pytest.mark.parametrize("contribution", [1, 2, 3])
@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_the_promise_is_kept_and_used_up_on_all_small_neighbours(epsilon: str, delta: str, contribution: int) -> None:
    mechanism = Observed.for_budget(
        k=2, epsilon=epsilon, delta=delta, contribution=contribution, cap=3, noise="gaussian"
    )
    found = worst(lambda users: mechanism.law(view(users, mechanism.weights)), float(epsilon))
    assert 0.99 * float(delta) < found <= float(delta) * (1 + 1e-9)


@pytest.mark.parametrize("contribution", [1, 3])
@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS[:2])
def test_laplace_noise_keeps_it_too(epsilon: str, delta: str, contribution: int) -> None:
    mechanism = Observed.for_budget(
        k=2, epsilon=epsilon, delta=delta, contribution=contribution, cap=3, noise="laplace"
    )
    found = worst(lambda users: mechanism.law(view(users, mechanism.weights)), float(epsilon))
    assert 0.5 * float(delta) < found <= float(delta) * (1 + 1e-9)


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("contribution", [1, 2, 3])
@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS[:2])
def test_a_floor_keeps_it_and_uses_it_up(epsilon: str, delta: str, contribution: int, noise: str) -> None:
    """P17.6 with weights: an item that two users have appears with what one of them gives it."""
    mechanism = Observed.for_budget(k=2, epsilon=epsilon, delta=delta, contribution=contribution, cap=3, noise=noise)
    found = worst(lambda users: mechanism.law(view(users, mechanism.weights, 2)), float(epsilon))
    assert 0.5 * float(delta) < found <= float(delta) * (1 + 1e-9)


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("contribution", [1, 3])
def test_a_floor_that_adds_nothing_to_the_threshold_is_caught(contribution: int, noise: str) -> None:
    mechanism = Observed.for_budget(k=2, epsilon="0.5", delta="0.05", contribution=contribution, cap=3, noise=noise)

    def law(users: tuple[User, ...]) -> Mapping[Selection, float]:
        every = above(scored(users, mechanism.weights), users, 2, hidden=0)
        return mechanism.law(ObservedItems.from_scores(every, unit=UNIT))

    assert worst(law, 0.5) > 0.05 * 1.05


@pytest.mark.long
def test_a_floor_under_scores_is_a_threshold_that_is_so_much_higher() -> None:
    """Also where weights leave less than nothing above the floor; and the same is drawn, item by item."""
    mechanism = Observed(2, 1, 2, "0.05", cap=4)
    scores = {"a": 9 * UNIT, "b": 8 * UNIT, "c": 8 * UNIT, "d": 3 * UNIT, "e": 2 * UNIT + 5}
    below = ObservedItems.from_scores({item: score - 4 * UNIT for item, score in scores.items()}, unit=UNIT, floor=5)
    assert (below.floor, below.score_of(4), below.name(4)) == (5, 5 - 2 * UNIT, "e")
    every, higher = ObservedItems.from_scores(scores, unit=UNIT), float(mechanism.threshold) + 4
    wanted = threshold_law(every, 2, GAUSSIAN, 2.0, higher)
    assert mechanism.law(below) == pytest.approx(wanted, abs=1e-12)
    assert p_value(mechanism.release_many(below, 50_000, replay("below")), wanted) > SIGNIFICANCE


def test_scores_of_zero_and_less_are_for_a_floor() -> None:
    assert ObservedItems.from_scores({"a": 0, "b": 1}).size == 1
    assert ObservedItems.from_scores({"a": 0, "b": 1}, floor=2).size == 2
    with pytest.raises(ParameterError, match="score must be at least 1"):
        ObservedItems({0: 3})
    assert ObservedItems({1 - UNIT: 3}, unit=UNIT, floor=2).size == 3
    with pytest.raises(ParameterError, match="score must be at least"):
        ObservedItems({-UNIT: 3}, unit=UNIT, floor=2)  # two users give more than nothing


@dataclass(frozen=True)
class Twin:
    """What a careless author might do: another threshold, or heavier weights."""

    scale: Fraction
    threshold: Fraction
    weights: np.ndarray[Any, Any]

    def law(self, users: tuple[User, ...]) -> Mapping[Selection, float]:
        return threshold_law(view(users, self.weights), 2, GAUSSIAN, float(self.scale), float(self.threshold))


def twins() -> dict[str, Twin]:
    honest = Observed.for_budget(k=2, epsilon="0.5", delta="0.05", contribution=3, cap=3, noise="gaussian")
    light = Observed.for_budget(k=2, epsilon="0.5", delta="0.05", contribution=1, cap=3, noise="gaussian")
    once = gaussian_threshold(3, 1, honest.scale, honest.delta)
    return {
        "a threshold for one new item only": Twin(honest.scale, once, honest.weights),
        "a threshold lower by one": Twin(honest.scale, honest.threshold - 1, honest.weights),
        "weights that are not made smaller": Twin(light.scale, light.threshold, np.full(3, UNIT)),
    }


@pytest.mark.parametrize("name", twins())
def test_broken_twins_are_caught(name: str) -> None:
    assert worst(twins()[name].law, 0.5) > 0.05 * 1.05


def test_noise_for_one_item_is_caught_where_others_have_the_same_items() -> None:
    light = Observed.for_budget(k=2, epsilon="0.5", delta="0.05", contribution=1, noise="gaussian")
    twin = Twin(light.scale, light.threshold, np.full(3, UNIT))
    many: tuple[User, ...] = (("a", "b"), ("a", "b"), ("a", "b"), ("a", "b"), ("a", "b"), ("a", "b"))
    more, less = twin.law((*many, ("a", "b"))), twin.law(many)
    assert max(hockey_stick(more, less, 0.5), hockey_stick(less, more, 0.5)) > 0.05 * 1.05


@pytest.mark.statistics
@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_releases_follow_the_law_and_a_scale_ten_percent_off_is_noticed(noise: str) -> None:
    mechanism = Observed.for_budget(k=2, epsilon=1, delta="0.01", contribution=2, noise=noise)
    items = ObservedItems.from_scores({"a": 19, "b": 16, "c": 16, "d": 12, "e": 1})
    drawn = mechanism.release_many(items, 200_000, replay(f"observed {noise}"))
    assert p_value(drawn, mechanism.law(items)) > SIGNIFICANCE
    for factor in ("0.9", "1.1"):
        scale = mechanism.scale * Fraction(factor)
        other = threshold_law(
            items, 2, GAUSSIAN if noise == "gaussian" else _laplace(), float(scale), float(mechanism.threshold)
        )
        assert p_value(drawn, other) < SIGNIFICANCE


def _laplace() -> Any:
    from crestline.randomness.laws import LAPLACE

    return LAPLACE


@pytest.mark.long
def test_published_counts_are_the_very_keys_that_were_ranked() -> None:
    mechanism = Observed.for_budget(k=3, epsilon=1, delta="1e-6", contribution=5, counts=True, noise="gaussian")
    items = ObservedItems.from_scores({name: 200 - 5 * i for i, name in enumerate("abcdef")})
    values = []
    for selection in mechanism.release_many(items, 2_000, replay("counts")):
        assert selection.counts is not None
        assert list(selection.counts) == sorted(selection.counts, reverse=True)
        values += [
            float(count) - items.score_of("abcdef".index(item))
            for item, count in zip(selection.items, selection.counts, strict=True)
        ]
    spread = mechanism.spread(0.95)
    # Six items compete for three places, so published counts are above the truth; none is off by much more than noise.
    assert np.percentile(np.abs(values), 95) < 1.5 * spread


def test_thresholds_and_noise_are_those_of_the_checked_mathematics() -> None:
    ratio = largest_mu_squared(1, Fraction(1, 10**6))
    for contribution, wanted in ((1, 21.1), (5, 48.9), (20, 101.6), (50, 165.0)):
        mechanism = Observed.for_budget(k=1, epsilon=1, delta="1e-6", contribution=contribution, noise="gaussian")
        assert float(mechanism.threshold) == pytest.approx(wanted, abs=0.06)
        assert float(mechanism.scale) / math.sqrt(contribution) == pytest.approx(4.225, abs=0.001)
        assert contribution / mechanism.scale**2 <= ratio


@pytest.mark.parametrize("digits", [7, 16, 40])
@pytest.mark.parametrize(("contribution", "cap"), [(1, 1), (1, 400), (4, 4096), (20, 50)])
def test_a_threshold_is_certain_and_not_larger_than_needed(contribution: int, cap: int, digits: int) -> None:
    weights, sigma, delta = gaussian_weights(contribution, cap), Fraction(9), Fraction(1, 10**digits)
    threshold = gaussian_threshold(contribution, cap, sigma, delta)
    assert chance_new_item_passes(weights, threshold, sigma) <= float(delta) * (1 + 1e-9)
    assert chance_new_item_passes(weights, threshold - sigma / 10**6, sigma) > float(delta)


@pytest.mark.parametrize("short", [Fraction(1, 10**6), Fraction(1, 10), Fraction(3)])
def test_a_threshold_is_certain_wherever_the_search_starts(short: Fraction) -> None:
    """Doubles that say too little by so many σ cost a sharper threshold, and never the promise."""
    weights, sigma, delta = gaussian_weights(4, 50), Fraction(9), Fraction(1, 10**7)
    best = gaussian_threshold(4, 50, sigma, delta)
    found = _certify_threshold(weights, sigma, delta, float(best - short * sigma), _gaussian_tail)
    assert chance_new_item_passes(weights, found, sigma) <= float(delta) * (1 + 1e-9)
    assert found < best + 20 * short * sigma


@pytest.mark.parametrize(("noise", "law"), [("gaussian", norm), ("laplace", laplace)])
@pytest.mark.parametrize("chance", [0.3, 0.5, 0.95])
def test_a_margin_and_a_spread_are_exact(noise: str, law: Any, chance: float) -> None:
    """With so many users an item passes, and the error of its count is within the spread, with just this chance."""
    mechanism = Observed(2, 2, 3, "0.05", noise)
    over = (mechanism.margin(chance) - float(mechanism.threshold)) / 3
    assert law.cdf(over) == pytest.approx(chance, rel=1e-12)
    assert law.cdf(mechanism.spread(chance) / 3) - law.cdf(-mechanism.spread(chance) / 3) == pytest.approx(chance)
    assert (mechanism.margin(), mechanism.spread()) == (mechanism.margin(0.95), mechanism.spread(0.95))


def test_users_weigh_one_unless_they_may_keep_more_items_than_the_noise_covers() -> None:
    plain, capped = Observed(2, 3, 2, "0.05"), Observed(2, 3, 2, "0.05", cap=5)
    assert (plain.has_fractional_weights, plain.view.weights) == (False, (1, 1, 1))
    assert (capped.has_fractional_weights, capped.view.weights) == (True, tuple(gaussian_weights(3, 5).tolist()))
    assert Observed(2, 3, 2, "0.05", "laplace", cap=5).view.weights == tuple(laplace_weights(3, 5).tolist())


def test_laplace_noise_takes_a_delta_of_one_half_at_most() -> None:
    assert Observed(2, 2, 3, Fraction(1, 2), "laplace").delta == Fraction(1, 2)
    with pytest.raises(ParameterError, match="at most one half"):
        Observed(2, 2, 3, Fraction(501, 1000), "laplace")


def test_the_laplace_threshold_is_the_closed_form() -> None:
    new = np.arange(1, 6)
    tail = -np.expm1(np.log1p(-1e-6) / new)
    wanted = (1 + 5 * np.log(1 / (2 * tail))).max()
    assert float(laplace_threshold(5, 5, Fraction(5), Fraction(1, 10**6))) == pytest.approx(wanted, abs=1e-6)


def test_weights_of_one_user_never_exceed_the_contribution() -> None:
    for contribution in (1, 3, 16):
        table, plain = gaussian_weights(contribution, 500), laplace_weights(contribution, 500)
        for m in range(1, 501):
            assert m * int(table[m - 1]) ** 2 <= contribution * UNIT**2 or m < contribution
            assert m * int(plain[m - 1]) <= contribution * UNIT or m < contribution
            assert table[m - 1] <= UNIT >= plain[m - 1]
            if m >= contribution:  # and they are the largest that do not
                assert m * (int(table[m - 1]) + 1) ** 2 > contribution * UNIT**2


@pytest.mark.long
@pytest.mark.parametrize("epsilon", ["1e-6", "0.01", "1", "10", "100"])
@pytest.mark.parametrize("delta", ["1e-300", "1e-40", "1e-6", "0.1", "0.999"])
def test_the_certificate_holds_wherever_it_is_asked(epsilon: str, delta: str) -> None:
    mechanism = Observed.for_budget(k=1, epsilon=epsilon, delta=delta, contribution=4, noise="gaussian")
    promise = mechanism.guarantee()
    assert (promise.epsilon, promise.delta) == (Fraction(epsilon), Fraction(delta))  # type: ignore[attr-defined]
    assert not is_certainly_private(
        Fraction(epsilon), mechanism.delta, 4 / mechanism.scale**2, mechanism.delta * Fraction(99, 100)
    )


@pytest.mark.long
def test_a_promise_that_is_not_kept_is_refused() -> None:
    honest = Observed.for_budget(k=1, epsilon=1, delta="1e-6", contribution=4, noise="gaussian")
    with pytest.raises(ParameterError, match="not kept"):
        Observed(1, 4, honest.scale * Fraction(99, 100), honest.delta, promise=honest.promise)


def test_a_laplace_promise_is_refused_where_one_of_its_two_numbers_is_too_small() -> None:
    kept = ApproxDP("1", "1e-6")
    assert str(Observed(2, 2, 2, "1e-6", "laplace", promise=kept).guarantee()) == str(kept)
    for epsilon, delta in (("1", "9e-7"), ("0.99", "1e-6")):
        with pytest.raises(ParameterError, match="not kept"):
            Observed(2, 2, 2, "1e-6", "laplace", promise=ApproxDP(epsilon, delta))


def test_the_certificate_of_a_threshold_knows_both_tails() -> None:
    places = np.array([0.0, 0.5, 3.0, 20.0])
    for tail, law in ((_laplace_tail, laplace), (_gaussian_tail, norm)):
        with precision():
            found = [float(tail(ball(Fraction(place)))) for place in places.tolist()]
        assert found == pytest.approx(law.sf(places).tolist(), rel=1e-12, abs=0)


def test_a_ledger_is_charged_the_gaussian_step_and_the_probability_of_something_new() -> None:
    mechanism = Observed.for_budget(k=1, epsilon=1, delta="1e-6", contribution=4, noise="gaussian")
    cost = mechanism.cost()
    assert cost.rho == 4 / mechanism.scale**2 / 2
    assert cost.delta == mechanism.delta
    assert Observed.for_budget(k=1, epsilon=1, delta="1e-6", contribution=2).cost().epsilon == 1  # Laplace


def test_only_observed_items_are_looked_at_and_only_here() -> None:
    mechanism = Observed.for_budget(k=1, epsilon=1, delta="1e-6", contribution=1)
    with pytest.raises(HistogramError, match="every observed item"):
        mechanism.release(Histogram.from_counts({"a": 5}, 3), replay(1))
    items = ObservedItems.from_scores({"a": 5})
    for other in (LimitedDomain(1, 1, 1, "0.1"), Lipschitz(1, 1)):
        with pytest.raises(HistogramError):
            other.release(items, replay(1))


def test_nothing_observed_is_a_stop() -> None:
    mechanism = Observed.for_budget(k=2, epsilon=1, delta="1e-6", contribution=1)
    assert mechanism.release(ObservedItems({}), replay(1)) == Selection((), True)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"contribution": None}, "contribution bound"),
        ({"contribution": 2, "cap": 5, "counts": True}, "no counts of users"),
        ({"contribution": 2, "noise": "laplace", "delta": "0.9"}, "at most one half"),
        ({"contribution": 2, "noise": "cauchy"}, "noise must be one of"),
        ({"contribution": 5, "cap": 2}, "cap must be at least 5"),
    ],
)
def test_refusals(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        Observed.for_budget(**{**dict[str, Any](k=1, epsilon=1, delta="1e-6"), **options})
