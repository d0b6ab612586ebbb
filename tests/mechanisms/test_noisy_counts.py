"""NoisyCounts: the counts follow their noise, the promise holds with them, and only what is published is paid for."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.mechanisms.conformance import SIGNIFICANCE, p_value, promised_epsilon

from crestline.audit.neighbours import Counts, small_histogram_pairs
from crestline.audit.testers.exact import worst_pair
from crestline.errors import HistogramError, MechanismError, ParameterError
from crestline.guarantees.accountants import total
from crestline.guarantees.conversion import largest_rho
from crestline.guarantees.guarantee import ZCDP, PureDP
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.framework.testing_order import orders_to_test
from crestline.mechanisms.limited_domain.fixed_threshold import FixedThreshold
from crestline.mechanisms.limited_domain.gauss import LimitedDomainGauss, least_sigma
from crestline.mechanisms.limited_domain.gumbel import LimitedDomain
from crestline.mechanisms.noisy_counts import NoisyCounts, _possible_sigmas
from crestline.mechanisms.public_list.lipschitz import Lipschitz
from crestline.mechanisms.selection import Selection
from crestline.mechanisms.stability.top_stable import TopStable
from crestline.mechanisms.third_party import adopt_slot_mechanism
from crestline.randomness.entropy import Entropy, replay
from crestline.randomness.laws import LAWS

NOISES = ["gaussian", "laplace"]


class First:
    """Names the first k, always: so that only the counts are random."""

    k = 2

    def guarantee(self) -> PureDP:
        return PureDP(0)

    def release(self, histogram: Histogram, entropy: Entropy) -> Selection:
        return Selection(histogram.names(range(self.k)), False)

    def release_many(self, histogram: Histogram, n: int, entropy: Entropy) -> list[Selection]:
        return [self.release(histogram, entropy)] * n


class Nameless:
    """Does not say how many items it names."""

    def guarantee(self) -> PureDP:
        return PureDP(0)

    def release(self, histogram: Histogram, entropy: Entropy) -> Selection:
        return Selection((), True)


def rounded_noise(noise: str, scale: float, count: int, grid: int, reach: int = 60) -> dict[int, float]:
    """The law of a count with noise, rounded to the grid: differences of the distribution function."""
    places = np.arange(-reach, reach + 1)
    low, high = (LAWS[noise].cdf(np.asarray(((places + half) * grid - count) / scale, float)) for half in (-0.5, 0.5))
    chances = np.subtract(high, low)
    return {int(place * grid): float(chance) for place, chance in zip(places, chances, strict=True)}


@pytest.mark.statistics
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("grid", [1, 3])
def test_counts_follow_their_noise_and_the_test_has_power(noise: str, grid: int) -> None:
    """Chi-square at 1e-9; noise that is 10% off is rejected."""
    histogram = Histogram.from_counts({"a": 9, "b": 4, "c": 1}, 2)
    law = rounded_noise(noise, 4.0, 9, grid)
    for scale, fits in (("4", True), ("4.4", False), ("3.6", False)):
        drawn = NoisyCounts(First(), scale, noise, grid=grid).release_many(histogram, 30_000, replay("counts"))
        assert (p_value((int(s.counts[0]) for s in drawn if s.counts), law) > SIGNIFICANCE) == fits
        second = rounded_noise(noise, 4.0, 4, grid)
        assert (p_value((int(s.counts[1]) for s in drawn if s.counts), second) > SIGNIFICANCE) == fits


@pytest.mark.long
@pytest.mark.parametrize("noise", NOISES)
def test_noise_grows_with_the_step(noise: str) -> None:
    """Counts that one user moves by up to 3 get three times the noise: chi-square at 1e-9; 10% off is rejected."""
    histogram = Histogram.from_counts({"a": 27, "b": 12, "c": 1}, 2, unit=3)
    for scale, fits in (("2", True), ("2.2", False), ("1.8", False)):
        drawn = NoisyCounts(First(), scale, noise).release_many(histogram, 20_000, replay("step"))
        found = p_value((int(s.counts[0]) for s in drawn if s.counts), rounded_noise(noise, 6.0, 27, 1, reach=120))
        assert (found > SIGNIFICANCE) == fits


@pytest.mark.parametrize("noise", NOISES)
def test_fewer_bits_at_first_give_the_same_counts(noise: str) -> None:
    mechanism = NoisyCounts(LimitedDomain(2, 3, 1, "0.4"), 3, noise)
    histogram = Histogram.from_counts({"a": 9, "b": 4, "c": 1}, 3)
    reference = mechanism.release_many(histogram, 100, replay("bits"))
    for bits in (1, 7):
        assert mechanism.release_many(histogram, 100, replay("bits", first_bits=bits)) == reference


def counted_law(selection: LimitedDomain, counts: Counts, noise: str, scale: float) -> dict[Any, float]:
    """The law of one item with its noisy count."""
    law: dict[Any, float] = {}
    for outcome, chance in selection.law(Histogram.from_counts(counts, selection.k_bar)).items():
        if not outcome.items:
            law[(), None] = chance
            continue
        for value, part in rounded_noise(noise, scale, counts[next(iter(outcome.items))], 1).items():
            law[outcome.items, value] = chance * part
    return law


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("contribution", [None, 1])
def test_neighbours_stay_within_the_promise_and_less_noise_is_caught(noise: str, contribution: int | None) -> None:
    selection = LimitedDomain(1, 2, "0.7", "0.1", contribution)
    slack = "0.02" if noise == "gaussian" else 0
    promise = NoisyCounts(selection, 3, noise, contribution, slack=slack).guarantee()
    assert promise.epsilon is not None
    pairs = list(small_histogram_pairs(labels="abc", contribution=contribution))
    pairs += [({"a": 41, "b": 2, "c": 0}, {"a": 40, "b": 2, "c": 0})]  # named for certain: only the count tells
    for scale, caught in ((3.0, False), (0.5, True)):
        finding = worst_pair(lambda c, s=scale: counted_law(selection, c, noise, s), pairs, float(promise.epsilon))
        assert (finding.delta > float(promise.delta) + 1e-9) == caught


def test_only_what_is_published_is_paid_for() -> None:
    mechanism = NoisyCounts(LimitedDomain(5, 10, "0.2", "1e-6"), 10)
    assert mechanism.cost().rho == 5 * Fraction(1, 200) + Fraction(5, 200)
    stopped = mechanism.settlement_cost(Selection(("a", "b"), True))
    assert stopped.rho == 3 * Fraction(1, 200) + Fraction(2, 200)
    assert stopped.delta == mechanism.cost().delta == Fraction(1, 10**6)
    assert mechanism.settlement_cost(Selection((), True)).number_of_steps == 1
    bounded = NoisyCounts(LimitedDomain(5, 10, "0.2", "1e-6"), 10, contribution=3)
    assert bounded.cost().rho == 5 * Fraction(1, 200) + Fraction(3, 200)
    laplace = NoisyCounts(FixedThreshold(5, "0.2", "1e-6"), 10, "laplace", 3)
    assert laplace.cost().epsilon == 1 + Fraction(3, 10)
    assert laplace.settlement_cost(Selection(frozenset("ab"), True)).epsilon == 1 + Fraction(2, 10)


def test_the_promise_is_the_smaller_of_two_compositions() -> None:
    apart = NoisyCounts(TopStable(2, 3, "0.1", "1e-9"), 10, slack="1e-6")
    alone = total(apart._counts_cost(2), "1e-6").epsilon
    assert alone is not None
    assert promised_epsilon(apart) <= Fraction(1, 10) + alone
    assert NoisyCounts(LimitedDomain(2, 3, "0.1", "1e-9"), 10).guarantee().rho == Fraction(2, 800) + Fraction(2, 200)


# The gate takes every selection with every contribution, in turns with one total and with the other.
MADE_FOR = [
    pytest.param(selection, contribution, *total, marks=() if (one + two + three) % 2 else pytest.mark.full)
    for one, selection in enumerate((LimitedDomain, LimitedDomainGauss, FixedThreshold, TopStable))
    for two, contribution in enumerate((None, 1, 6))
    for three, total in enumerate((("0.1", "1e-6"), (1, "1e-8")))
]


@pytest.mark.long
@pytest.mark.parametrize(("selection", "contribution", "epsilon", "delta"), MADE_FOR)
def test_a_budget_is_used_and_not_exceeded(selection: Any, contribution: int | None, epsilon: Any, delta: str) -> None:
    mechanism = NoisyCounts.for_budget(
        k=10, k_bar=50, epsilon=epsilon, delta=delta, contribution=contribution, mechanism=selection
    )
    promise = mechanism.guarantee()
    assert promise.epsilon is not None
    assert promise.delta <= Fraction(delta)
    assert Fraction(epsilon) * Fraction(998, 1000) <= promise.epsilon <= Fraction(epsilon)
    assert mechanism.k == 10


@pytest.mark.long
def test_the_noise_is_chosen_by_contribution() -> None:
    noise = {c: NoisyCounts.for_budget(k=50, epsilon=1, delta="1e-6", contribution=c).noise for c in (1, 2, 50, None)}
    assert noise == {1: "laplace", 2: "gaussian", 50: "gaussian", None: "gaussian"}


def test_a_set_s_counts_come_in_byte_order() -> None:
    histogram = Histogram.from_counts({"b": 9_000, "a": 500, "c": 70_000, "d": 1}, 3)
    drawn = NoisyCounts(FixedThreshold(3, 1, "1e-6"), 2).release(histogram, replay("set"))
    assert drawn.items == frozenset("abc")
    assert drawn.counts is not None
    assert [round(count, -2) for count in drawn.counts] == [500, 9_000, 70_000]


def test_counts_of_a_public_list_known_by_multiplicities() -> None:
    histogram = Histogram.from_multiplicities({10_000: 2, 3: 50})
    drawn = NoisyCounts(Lipschitz(2, 1), 1).release(histogram, replay("many"))
    assert drawn.counts is not None
    assert all(abs(count - 10_000) < 10 for count in drawn.counts)


def test_an_empty_histogram_has_no_counts() -> None:
    mechanism = NoisyCounts(LimitedDomain(2, 3, 1, "1e-6"), 3)
    assert mechanism.release(Histogram.from_counts({}, 3), replay("empty")) == Selection((), True, ())


def test_how_far_off_a_count_may_be() -> None:
    assert NoisyCounts(First(), 5).spread(0.95) == pytest.approx(5 * 1.959963985)
    assert NoisyCounts(First(), 5, "laplace").spread(0.95) == pytest.approx(5 * np.log(20))
    selection = LimitedDomain(2, 3, 1, "1e-6")
    assert NoisyCounts(selection, 3).margin(0.9) == selection.margin(0.9)
    assert NoisyCounts(selection, 3).k_bar == 3
    assert NoisyCounts(First(), 3).k_bar is None


def test_bad_parameters_are_refused() -> None:
    selection = LimitedDomain(2, 3, 1, "1e-6")
    with pytest.raises(ParameterError, match="scale must be larger than zero"):
        NoisyCounts(selection, 0)
    with pytest.raises(ParameterError, match="noise must be one of"):
        NoisyCounts(selection, 1, "gumbel")
    with pytest.raises(MechanismError, match="guarantee"):
        NoisyCounts("LimitedDomain", 1)  # type: ignore[arg-type]
    with pytest.raises(MechanismError, match="k, the items it names"):
        NoisyCounts(Nameless(), 1)
    with pytest.raises(MechanismError, match="already"):
        NoisyCounts(LimitedDomainGauss(2, 3, 1, "0.1", 1, counts=True), 1)
    for noise, bound, step in (("laplace", 2, 1), ("laplace", None, 2), ("gaussian", 2, 2)):
        NoisyCounts(selection, 1, noise, bound).release(Histogram.from_counts({"a": 5}, 3, unit=step), replay(0))
    with pytest.raises(HistogramError, match="distinct users"):
        NoisyCounts(selection, 1, "laplace", 2).release(Histogram.from_counts({"a": 5}, 3, unit=2), replay(0))


class Modest(First):
    """A third party's selection with a budget and no slack of its own."""

    @classmethod
    def for_budget(cls, **question: Any) -> Modest:
        return cls()


def test_a_selection_without_slack_leaves_its_share_of_the_budget() -> None:
    made = NoisyCounts.for_budget(k=2, epsilon=2, delta="1e-6", mechanism=Modest)
    promise = made.guarantee()
    assert promise.epsilon is not None
    assert promise.epsilon <= 2
    assert promise.delta <= Fraction(1, 10**6)
    assert made.slack in (0, Fraction(1, 3 * 10**6))


@pytest.mark.long
@pytest.mark.parametrize("contribution", [1, 2, 3, 5, 8, 13])
def test_the_smaller_variance_is_taken(contribution: int) -> None:
    """Laplace noise of scale s has the variance 2s²; with it no δ goes to the counts."""
    made = NoisyCounts.for_budget(k=20, epsilon=1, delta="1e-6", contribution=contribution)
    share = Fraction(1, 3)
    laplace = contribution / share
    gaussian = least_sigma(share, share / 10**6, contribution)
    if made.noise == "laplace":
        assert made.scale <= laplace
        assert made.slack == 0
    else:
        assert made.slack == share / 10**6
        assert made.scale <= gaussian
        left = _possible_sigmas(made.mechanism, Fraction(1), made.slack, contribution)
        assert made.scale < min([gaussian, *left])  # what composition saves is spent on the counts
        assert made.scale**2 < 2 * laplace**2


def test_what_a_selection_leaves_of_the_budget_may_be_more_than_its_share() -> None:
    """Composed at once: what is left of the zCDP budget, or nothing when the selection needs all of it."""
    selection = LimitedDomain(4, 20, "0.05", "1e-7", slack="1e-7")
    spare = Fraction(1, 10**6)
    left = largest_rho(1, spare + selection.slack) - selection.cost().rho
    (found,) = _possible_sigmas(selection, Fraction(1), spare, 4)
    assert found**2 >= 4 / (2 * left) >= (found * (1 - Fraction(1, 10**12))) ** 2
    assert _possible_sigmas(LimitedDomain(400, 400, 1, "1e-7"), Fraction(1), spare, 4) == []

    class Greedy(First):
        def guarantee(self) -> ZCDP:  # type: ignore[override] # another kind of promise
            return ZCDP(largest_rho(1, spare))

    assert (
        _possible_sigmas(adopt_slot_mechanism(Greedy()), Fraction(1), spare, 4) == []
    )  # all of it, and not a bit more


class Short(First):
    """Makes one release fewer than it was asked for."""

    def release_many(self, histogram: Histogram, n: int, entropy: Entropy) -> list[Selection]:
        return super().release_many(histogram, n - 1, entropy)


def test_a_selection_that_makes_too_few_releases_is_refused() -> None:
    """Silence would give the counts of one release to another, or lose one without a word."""
    histogram = Histogram.from_counts({"a": 400, "b": 395, "c": 390, "d": 4}, 3)
    with pytest.raises(ValueError, match=r"shorter|longer"):
        NoisyCounts(Short(), 3).release_many(histogram, 5, replay("short"))
    with pytest.raises(ValueError, match=r"shorter|longer"):
        TopStable(2, 3, 1, "0.01", inner=Short()).release_many(histogram, 5, replay("short"))
    drawn = [Selection((0,), False)] * 2
    with pytest.raises(ValueError, match=r"shorter|longer"):
        orders_to_test(drawn, [{0: 0}] * 3, replay("short"))


class Costly(First):
    """All that is left to a selection as one pure step: composed with it, the counts gain nothing."""

    k = 50

    def guarantee(self) -> PureDP:
        return PureDP(Fraction(2, 3))

    @classmethod
    def for_budget(cls, **question: Any) -> Costly:
        return cls()


@pytest.mark.long
def test_a_total_is_kept_and_spent() -> None:
    """A selection that composes badly: the two promises added, or all steps at once, spend the whole total."""
    made = NoisyCounts.for_budget(k=50, epsilon=1, delta="1e-6", mechanism=Costly)
    assert made.noise == "gaussian"
    epsilon = made.guarantee().epsilon
    assert epsilon is not None
    assert Fraction("0.999") < epsilon <= 1
