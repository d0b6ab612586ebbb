"""Counts of named items: what they cost, what they reveal, how often their intervals hold, and broken twins."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, norm
from tests.mechanisms.observed.test_observed import User, hockey_stick, neighbours, scored
from tests.mechanisms.observed.test_sieve import planted

from crestline.histogram.observed_items import ObservedItems
from crestline.histogram.relation import CELLS, Relation, Rows, SplitMixHashing
from crestline.mechanisms.observed.choose_bound import SieveSetting
from crestline.mechanisms.observed.count_step import NoisyUsers
from crestline.mechanisms.observed.named_counts import (
    FULL_WEIGHT,
    MeanWeight,
    NoisyScores,
    combine_counts,
    count_named,
    mean_weight,
)
from crestline.mechanisms.observed.noisy_query import FINE, NoisyQuery
from crestline.mechanisms.observed.observed import Observed
from crestline.mechanisms.observed.release import ThresholdRule, draw_releases
from crestline.mechanisms.observed.sieve import Sieve
from crestline.mechanisms.observed.weights import UNIT
from crestline.randomness.entropy import replay
from crestline.randomness.laws import GAUSSIAN, LAPLACE, Law

CHANCE = 1e-7  # that a count of successes is as far off as this, with the stated probability of each


def look(cells: list[int], sigma: int) -> NoisyQuery:
    """A released number of users in each cell."""
    steps = np.array(cells + [0] * (CELLS - len(cells))) * FINE // sigma
    return NoisyQuery(steps, Fraction(sigma))


@pytest.mark.long
@pytest.mark.parametrize("light", [True, False])
def test_counts_cost_nothing_and_change_no_name(light: bool) -> None:
    names, counted = Sieve(10, 1, "1e-6"), Sieve(10, 1, "1e-6", counts=True)
    assert (names.guarantee(), names.cost()) == (counted.guarantee(), counted.cost())
    truth = np.bincount(planted(light).pairs()[1])
    for key in range(3):
        alone, both = (one.release(planted(light), replay(key)) for one in (names, counted))
        assert alone.items == both.items
        assert alone.counts is None
        assert both.counts is not None
        assert both.bounds is not None
        assert list(both.counts) == sorted(both.counts, reverse=True)
        for item, count, bound in zip(both.items, both.counts, both.bounds, strict=True):
            assert bound.low <= count <= bound.high
            assert abs(count - int(truth[item])) < 0.35 * truth[item]  # type: ignore[call-overload] # items are numbers


@pytest.mark.long
def test_over_several_periods_counts_are_paid_for() -> None:
    """Users who are there in both of two periods count once, and the noisy scores tell nothing about users."""
    users, items = planted(False).pairs()
    rows = Rows(np.tile(users, 2), np.tile(items, 2), np.repeat(np.arange(2), len(users)))
    both = Relation.from_rows(rows, list, SplitMixHashing(np.arange(3_000), np.arange(40_000)))
    truth = np.bincount(items)
    found = Sieve(10, 1, "1e-6", counts=True, several=True).release(both, replay("periods"))
    assert len(found) == 10
    for item, count, bound in zip(found.items, found.counts or (), found.bounds or (), strict=True):
        assert abs(count - int(truth[item])) < 200  # type: ignore[call-overload] # items are numbers; σ is 25
        assert bound.low < count < bound.high
    assert Sieve(10, 1, "1e-6", several=True).release(both, replay("periods")).counts is None


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_counts_of_observed_items_change_no_name(noise: str) -> None:
    items = ObservedItems.from_scores({name: 200 - 5 * i for i, name in enumerate("abcdef")})
    for key in range(5):
        alone, both = (
            Observed(3, 5, 9, "1e-6", noise, counts=counts).release(items, replay(key)) for counts in (False, True)
        )
        assert alone.items == both.items


def holds(hits: int, trials: int, chance: float) -> bool:
    """Whether this number of successes is likely enough."""
    return bool(min(binom.cdf(hits, trials, chance), binom.sf(hits - 1, trials, chance)) > CHANCE / 2)


@pytest.mark.statistics
@pytest.mark.parametrize("law", [GAUSSIAN, LAPLACE])
@pytest.mark.parametrize("lead", [-2.0, 0.0, 1.0, 8.0])
def test_an_interval_holds_given_that_the_item_was_named(law: Law, lead: float) -> None:
    """Power: V ± 1.96 σ holds for .95 of all items, and for none of the named ones two σ below the threshold."""
    draws, scale, bar = 20_000, 50.0, 1_000.0
    truth = bar + lead * scale
    rng = np.random.default_rng(3)
    below = float(law.cdf(np.array([-lead]))[0])
    chances = below + (1 - below) * rng.random(draws)
    ppf = norm.ppf if law is GAUSSIAN else (lambda p: np.where(p < 0.5, np.log(2 * p), -np.log(2 * (1 - p))))
    scores = truth + scale * ppf(chances)
    _, bounds = count_named(NoisyScores(scores, scale, bar, law), FULL_WEIGHT)
    hits = sum(bound.low <= truth <= bound.high for bound in bounds)
    assert holds(hits, draws, 0.95) or 0 <= hits / draws - 0.95 < 0.03  # ends are rounded outwards, and reach the count
    if law is GAUSSIAN and lead == -2.0:
        assert not (np.abs(scores - truth) < 1.96 * scale).any()


@pytest.mark.statistics
def test_where_k_cuts_the_bar_is_what_was_cut() -> None:
    """30 items of nearly equal scores compete for five places: with the threshold as bar, too few intervals hold."""
    names = range(30)
    truth = {name: 500 + name for name in names}
    items = ObservedItems.from_scores(truth)
    rule = ThresholdRule(5, GAUSSIAN, Fraction(60), Fraction(300), Fraction(1))
    share = {}
    for cut in (True, False):
        hits, number = 0, 0
        for found in draw_releases(items, rule, 400, replay("cut")):
            assert found.bar >= rule.threshold
            bar = float(found.bar if cut else rule.threshold)
            _, bounds = count_named(NoisyScores(np.array(found.values, dtype=float), 60.0, bar), FULL_WEIGHT)
            true = [truth[name] for name in items.names(found.ranks)]  # type: ignore[index] # names are numbers
            hits += sum(bound.low <= users <= bound.high for users, bound in zip(true, bounds, strict=True))
            number += len(bounds)
        share[cut] = hits / number
    assert share[True] > 0.92  # of 2,000; one that holds for .95 falls below with less than 1e-8
    assert share[False] < 0.88


def test_the_mean_weight_is_that_of_the_cells_that_stand() -> None:
    setting = SieveSetting(1, 4)
    alone = mean_weight(look([6400], 64), setting)
    assert (alone.value, alone.variation) == (1.0, 0.0)
    assert alone.error > 0.01  # what the look cannot see in the next cell
    both = mean_weight(look([6400, 6400], 64), setting)
    two = 2**0.58
    assert both.value == pytest.approx((1 + two / math.sqrt(two)) / (1 + two))
    # A cell away from the others is noise, however large; and so is one below two σ.
    assert mean_weight(look([6400, 6400, 0, 0, 0, 256], 64), setting) == both
    assert mean_weight(look([6400, 6400, 64], 64), setting).value == both.value
    nothing = mean_weight(look([0], 64), setting)
    assert nothing.value == pytest.approx(2**-0.79)
    assert nothing.error > 0.1
    assert alone.error < mean_weight(look([640], 64), setting).error


def test_a_count_is_a_score_divided_by_the_mean_weight() -> None:
    def counted(values: list[float], weight: MeanWeight, bar: float = 20.0, least: int = 1) -> Any:
        return count_named(NoisyScores(np.array(values), 5.0, bar), weight, least=least)

    counts, bounds = counted([60.0, 30.0], MeanWeight(0.5, 0.02, 0.4))
    assert counts == [120, 60]
    assert all(bound.low < count < bound.high for count, bound in zip(counts, bounds, strict=True))
    wide = counted([60.0, 30.0], MeanWeight(0.5, 0.2, 0.4))[1]
    assert wide[0].high - wide[0].low > bounds[0].high - bounds[0].low
    assert wide[0].error == bounds[0].error  # all counts share the error of the mean weight: it moves no rank
    assert counted([], FULL_WEIGHT) == ([], [])
    (least,), (bound,) = counted([0.2], FULL_WEIGHT, 0.1, 3)
    assert (least, bound.low) == (3, 3)


def test_noisy_counts_and_scores_are_weighed_by_their_noise() -> None:
    """Against the formulas of `combine_counts` in plain numbers: the mean weight is corrected first, then each item."""
    weight, scores = MeanWeight(0.5, 0.1, 0.0), NoisyScores(np.array([100.0, 60.0]), 5.0, 20.0)
    counted = NoisyUsers(np.array([180.0, 110.0]), 36.0, 9.0)
    off = (9 + (36 + 10**2) / 2) / 160**2  # squared error of the ratio of the means, by their noise
    gain = 0.01 / (0.01 + off)
    factor = 1 + gain * (145 / 160 - 1)
    left = 0.01 * (1 - gain)
    values, bounds = combine_counts(scores, weight, counted)
    for value, bound, free, count in zip(values, bounds, (200, 120), (180, 110), strict=True):
        alone = (10 * factor) ** 2
        one, other = 1 / (alone + left * (free * factor) ** 2), 1 / 45
        assert value == pytest.approx((free * factor * one + count * other) / (one + other))
        half = 1.96 / math.sqrt(one + other)
        assert (bound.low, bound.high) == (math.floor(value - half), math.ceil(value + half))
        own = 1.96 * math.sqrt(one**2 * alone + other**2 * 36) / (one + other)
        assert float(bound.error) == pytest.approx(own, abs=1e-3)


def test_counts_alone_where_no_mean_weight_is_known() -> None:
    scores, counted = NoisyScores(np.array([100.0, 60.0]), 5.0, 20.0), NoisyUsers(np.array([180.0, 2.0]), 36.0, 0.0)
    values, bounds = combine_counts(scores, None, counted, least=2)
    assert values.tolist() == [180, 2]
    assert [(bound.low, bound.high) for bound in bounds] == [(168, 192), (2, 14)]
    nothing = NoisyScores(np.zeros(0), 5.0, 20.0)
    assert combine_counts(nothing, FULL_WEIGHT, NoisyUsers(np.zeros(0), 0.0, 0.0))[1] == []


# Everything that is released with counts, as an exact law over cells of noisy scores.

WIDTH, MOST = 0.5, 16  # cells of half a σ above the threshold; the last one has no upper end


class Released:
    """`Observed` for k = 1 or 2 with counts: names, rounded noisy scores, and the bar.

    Broken twins publish more: the scores of items below the threshold, or a bar that is not above it.
    """

    def __init__(self, k: int, mechanism: Observed, *, below: bool = False, low_bar: bool = False) -> None:
        self.k, self.sigma, self.threshold = k, float(mechanism.scale), float(mechanism.threshold)
        self.weights, self.below, self.low_bar = mechanism.weights, below, low_bar
        self.edges = self.threshold + self.sigma * WIDTH * np.arange(-MOST, MOST)

    def law(self, users: tuple[User, ...]) -> dict[Any, float]:
        scores = {name: score / UNIT for name, score in scored(users, self.weights).items()}
        chances = []
        for score in scores.values():
            steps = norm.cdf((np.array([-np.inf, *self.edges, np.inf]) - score) / self.sigma)
            cells = np.diff(steps)
            if not (self.below or self.low_bar):
                cells = np.concatenate([[cells[: MOST + 1].sum()], cells[MOST + 1 :]])
            chances.append(cells.tolist())
        passes = MOST + 1 if self.below or self.low_bar else 1  # the first cell above the threshold
        result: defaultdict[Any, float] = defaultdict(float)
        for cells in product(*(range(len(chance)) for chance in chances)):
            likely = math.prod(chance[cell] for chance, cell in zip(chances, cells, strict=True))
            ranked = sorted(zip(cells, scores, strict=True), reverse=True)
            named = tuple(pair for pair in ranked[: self.k] if pair[0] >= passes or self.below)
            after = [cell for cell, _ in ranked[self.k :] if cell >= passes or self.low_bar]
            result[named, max(after, default=None)] += likely  # type: ignore[type-var] # whole numbers, or nothing
        return result


def worst(released: Released, epsilon: float, most: int = 3) -> float:
    found = 0.0
    laws: dict[tuple[User, ...], dict[Any, float]] = {}
    for pair in neighbours():
        if any(len({item for items in users for item in items}) > most for users in pair):
            continue
        for users in pair:
            laws.setdefault(users, released.law(users))
        left, right = laws[pair[0]], laws[pair[1]]
        found = max(found, hockey_stick(left, right, epsilon), hockey_stick(right, left, epsilon))
    return found


@pytest.mark.statistics
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("contribution", [1, 2])
def test_names_scores_and_bar_together_keep_the_promise_on_all_small_neighbours(k: int, contribution: int) -> None:
    mechanism = Observed.for_budget(k=k, epsilon=1, delta="0.05", contribution=contribution, cap=2, noise="gaussian")
    assert 0.95 * 0.05 < worst(Released(k, mechanism), 1.0, most=2) <= 0.05 * (1 + 1e-9)


@pytest.mark.statistics
@pytest.mark.parametrize("twin", [{"below": True}, {"low_bar": True}])
def test_scores_below_the_threshold_are_caught(twin: dict[str, bool]) -> None:
    """A score that is published below the threshold, by itself or as a bar, tells that somebody has an item."""
    mechanism = Observed.for_budget(k=1, epsilon=1, delta="0.05", contribution=1, cap=3, noise="gaussian")
    assert worst(Released(1, mechanism, **twin), 1.0, most=2) > 0.9


def test_a_mean_weight_from_unreleased_numbers_is_caught() -> None:
    """Noisy scores are multiples of σ/64: divided by an exact mean weight they say which of two tables it is of."""
    setting, sigma, steps = SieveSetting(1, 4), 5.0, np.arange(2_000, 2_050)
    scores = steps * sigma / FINE

    def is_of(users: list[int], counts: Any) -> bool:
        """Whether counts are quotients of possible scores by the mean weight of a table with these users by items."""
        exact = counts * mean_weight(look(users, 1), setting).value * FINE / sigma
        return bool((np.abs(exact - np.rint(exact)) < 1e-6).all())

    one_more, without = [400, 300], [400, 299]
    broken = scores / mean_weight(look(one_more, 1), setting).value
    assert is_of(one_more, broken)
    assert not is_of(without, broken)
    released = scores / mean_weight(look([384, 320], 64), setting).value  # from the noisy look, the same for both
    assert not is_of(one_more, released)
    assert not is_of(without, released)
