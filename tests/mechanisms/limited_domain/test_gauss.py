"""LimitedDomainGauss against its vector, its law, its neighbours, and its broken twins."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from scipy.integrate import quad
from scipy.stats import norm
from tests.mechanisms.conformance import (
    SIGNIFICANCE,
    VECTORS,
    assert_law,
    follows_its_law,
    is_equivariant,
    notices,
    p_value,
    promised_epsilon,
    stays_within,
)
from tests.mechanisms.counted import Outcome, counted_law

from crestline.audit.neighbours import small_histogram_pairs
from crestline.audit.testers.exact import worst_pair
from crestline.errors import HistogramError, ParameterError
from crestline.guarantees.gaussian import epsilon_of
from crestline.guarantees.gaussian import sigma_for as gaussian_sigma
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.limited_domain.gauss import LimitedDomainGauss, least_sigma, mu_squared
from crestline.mechanisms.selection import Selection
from crestline.randomness.entropy import replay

GIVEN = VECTORS["TV-4.3"]["params"]


def from_vector(stretch: Fraction = Fraction(1)) -> tuple[LimitedDomainGauss, Histogram]:
    sigma = Fraction(str(GIVEN["sigma"])) * stretch
    mechanism = LimitedDomainGauss(2, 3, sigma, GIVEN["delta_R"], GIVEN["Delta"], threshold="closed")
    return mechanism, Histogram.from_counts(GIVEN["h"], 3)


def test_the_law_is_the_vector() -> None:
    mechanism, histogram = from_vector()
    assert float(mechanism.bottom_height(2)) == pytest.approx(GIVEN["T"], abs=1e-10)
    assert_law(mechanism.law(histogram), VECTORS["TV-4.3"]["probabilities"])


def test_the_vector_s_sigma_is_the_analytic_gaussian() -> None:
    assert float(gaussian_sigma(1, "0.05", 2)) == pytest.approx(GIVEN["sigma"], abs=1e-9)


@pytest.mark.statistics
def test_the_sampler_follows_the_law_and_the_test_has_power() -> None:
    mechanism, histogram = from_vector()
    follows_its_law(mechanism, histogram)
    notices(mechanism, from_vector(Fraction(11, 10))[0], histogram)
    notices(mechanism, from_vector(Fraction(9, 10))[0], histogram)


@pytest.mark.long
def test_fewer_bits_at_first_give_the_same_selections() -> None:
    mechanism = LimitedDomainGauss(2, 3, 2, "0.3", 2, counts=True, grid=2)
    histogram = Histogram.from_counts(GIVEN["h"], 3)
    reference = mechanism.release_many(histogram, 100, replay("bits"))
    assert any(selection.counts for selection in reference)
    for bits in (1, 7):
        assert mechanism.release_many(histogram, 100, replay("bits", first_bits=bits)) == reference


def test_permuting_labels_permutes_the_law() -> None:
    mechanism = LimitedDomainGauss(2, 3, 2, "0.1")
    counts = {"a": 7, "b": 5, "c": 3, "d": 1}
    renaming = {"a": "d", "b": "a", "c": "b", "d": "c"}
    is_equivariant(mechanism, lambda c: Histogram.from_counts(c, 3), counts, renaming)


@pytest.mark.long
@pytest.mark.parametrize(("k", "contribution", "slack"), [(1, 1, "0.05"), (2, 2, "0.05"), (2, None, "0.01")])
def test_neighbours_stay_within_the_promise(k: int, contribution: int | None, slack: str) -> None:
    mechanism = LimitedDomainGauss(k, 2, "1.5", "0.1", contribution, slack=slack)
    stays_within(mechanism, lambda counts: Histogram.from_counts(counts, 2), contribution=contribution)


@pytest.mark.long
@pytest.mark.parametrize(("contribution", "threshold"), [(1, "union"), (2, "closed"), (None, "union")])
def test_neighbours_of_more_slots_stay_within_the_promise(contribution: int | None, threshold: str) -> None:
    mechanism = LimitedDomainGauss(2, 3, "1.5", "0.1", contribution, threshold=threshold, slack="0.02")
    stays_within(mechanism, lambda counts: Histogram.from_counts(counts, 3), contribution=contribution)


class AsIfOneItem(LimitedDomainGauss):
    """The noise of a single centred number (sensitivity 1/2), however many numbers one user moves."""

    @property
    def scale(self) -> Fraction:
        return gaussian_sigma(1, "0.01", Fraction(1, 4))

    def bottom_height(self, unstable: int) -> Fraction:
        return super().bottom_height(unstable) * self.scale / self.sigma


@pytest.mark.long
def test_noise_for_one_item_is_caught() -> None:
    sigma = gaussian_sigma(1, "0.01", Fraction(2, 3))  # c (1 - c/n) with n = 3
    honest = LimitedDomainGauss(2, 2, sigma, "0.02", slack="0.01")
    assert promised_epsilon(honest) == pytest.approx(1, abs=1e-6)
    twin = AsIfOneItem(2, 2, sigma, "0.02", slack="0.01")
    pairs = [
        ({"a": n + 3, "b": n + 3, "c": n, "d": m}, {"a": n + 2, "b": n + 3, "c": n, "d": m})
        for n in range(4)
        for m in (0, n)
    ]
    pairs += list(small_histogram_pairs(labels="abc"))
    for mechanism, caught in ((honest, False), (twin, True)):
        finding = worst_pair(lambda c, m=mechanism: m.law(Histogram.from_counts(c, 2)), pairs, 1.0)
        assert (finding.delta > 0.03 + 1e-9) == caught


@pytest.mark.statistics
@pytest.mark.parametrize("bottom", ["2", "0.7"])
def test_published_counts_follow_their_law(bottom: str) -> None:
    """Chi-square at 1e-9 against direct integration; the same test rejects noise that is 10% off."""
    counts, law = {"a": 9, "b": 2}, dict[Outcome, float]()
    for stretch, fits in (("2", True), ("2.2", False), ("1.8", False)):
        mechanism = LimitedDomainGauss(1, 1, stretch, "0.3", 1, counts=True, grid=2, bottom=bottom)
        law = law or counted_law(mechanism, counts, reach=30)
        drawn = mechanism.release_many(Histogram.from_counts(counts, 1), 40_000, replay("counts"))
        outcomes = [(s.items, int(s.counts[0]) if s.counts else None) for s in drawn]
        assert (p_value(outcomes, law) > SIGNIFICANCE) == fits


def test_neighbours_with_counts_stay_within_the_promise() -> None:
    mechanism = LimitedDomainGauss(1, 1, "1.5", "0.1", 1, counts=True, slack="0.05")
    pairs = list(small_histogram_pairs(labels="abc", most=2, contribution=1))
    finding = worst_pair(lambda c: counted_law(mechanism, c, reach=20), pairs, promised_epsilon(mechanism))
    assert finding.delta <= 0.15 + 1e-8


@pytest.mark.parametrize("bottom", ["0.5", "4"])
def test_the_law_of_a_stop_with_noise_of_its_own(bottom: str) -> None:
    """Against direct integration over the noise of the slot that comes first."""
    mechanism = LimitedDomainGauss(1, 2, 2, "0.3", 2, bottom=bottom)
    law = mechanism.law(Histogram.from_counts({"a": 7, "b": 5, "c": 3}, 2))
    stop = 3 + 1 + float(mechanism.bottom_height(2))

    def first(mine: int, other: int) -> float:
        def inside(value: float) -> float:
            return float(norm.pdf(value, mine, 2) * norm.cdf(value, other, 2) * norm.cdf(value, stop, float(bottom)))

        return float(quad(inside, -20, 40, points=[mine, other, stop], epsabs=1e-13, limit=200)[0])

    assert law[Selection(("a",), False)] == pytest.approx(first(7, 5), abs=1e-10)
    assert law[Selection(("b",), False)] == pytest.approx(first(5, 7), abs=1e-10)


class LouderStop(LimitedDomainGauss):
    """The noise of ⊥ is 10% off."""

    @property
    def bottom_scale(self) -> Fraction:
        return self.bottom * Fraction(11, 10)


@pytest.mark.statistics
@pytest.mark.parametrize("bottom", [1, 6])
def test_the_sampler_gives_a_stop_its_own_noise_and_the_test_has_power(bottom: int) -> None:
    given = (2, 3, 3, "0.3", 2)
    histogram = Histogram.from_counts({"a": 14, "b": 12, "c": 11, "d": 2}, 3)
    mechanism = LimitedDomainGauss(*given, bottom=bottom)
    follows_its_law(mechanism, histogram)
    notices(mechanism, LimitedDomainGauss(2, 3, "3.3", "0.3", 2, bottom=bottom), histogram)
    if bottom > 3:  # of a small part of the difference 10% is less than this many draws show
        notices(mechanism, LouderStop(*given, bottom=bottom), histogram)


@pytest.mark.long
@pytest.mark.parametrize("bottom", ["0.8", "3"])
@pytest.mark.parametrize(("k", "contribution"), [(1, 1), (1, 2), (2, 2), (2, None)])
def test_neighbours_stay_within_the_promise_whatever_the_noise_of_the_stop(
    k: int, contribution: int | None, bottom: str
) -> None:
    mechanism = LimitedDomainGauss(k, 2, "1.5", "0.1", contribution, slack="0.02", bottom=bottom)
    stays_within(mechanism, lambda counts: Histogram.from_counts(counts, 2), contribution=contribution)


def test_a_quiet_stop_that_is_not_paid_for_is_caught() -> None:
    """At the ε of equal noise the law of a quiet stop has a larger δ; at its own ε it has not."""
    pairs = [({"a": n, "b": m + 1}, {"a": n, "b": m}) for n in range(2, 13) for m in range(3)]
    quiet = LimitedDomainGauss(1, 1, 2, "0.002", 1, slack="0.01", bottom="0.5")
    unpaid = LimitedDomainGauss(1, 1, 2, "0.002", 1, slack="0.01")
    for claiming, caught in ((quiet, False), (unpaid, True)):
        finding = worst_pair(lambda c: quiet.law(Histogram.from_counts(c, 1)), pairs, promised_epsilon(claiming))
        assert (finding.delta > 0.012 + 1e-9) == caught


def test_fewer_bits_at_first_give_the_same_selections_with_a_quiet_stop() -> None:
    mechanism = LimitedDomainGauss(2, 3, 2, "0.3", 2, counts=True, grid=2, bottom="0.7")
    histogram = Histogram.from_counts({"a": 6, "b": 5, "c": 3, "d": 1}, 3)
    reference = mechanism.release_many(histogram, 100, replay("quiet bits"))
    assert {len(selection) for selection in reference} == {0, 1, 2}
    assert mechanism.release_many(histogram, 100, replay("quiet bits", first_bits=3)) == reference


@pytest.mark.long
@pytest.mark.parametrize(("contribution", "gain"), [(1, 1.0), (2, 1.0), (8, 0.91), (50, 0.81), (None, 0.85)])
def test_a_budget_is_divided_between_slots_and_stop_for_the_smallest_lead(
    contribution: int | None, gain: float
) -> None:
    question = {"k": 10, "k_bar": 1000 if contribution else 20, "epsilon": 1, "delta": "1e-6"}
    best = LimitedDomainGauss.for_budget(**question, contribution=contribution)  # type: ignore[arg-type] # a table

    def margin(quiet: Fraction) -> float:
        squared = mu_squared(best.k_bar, contribution, False, Fraction(1), quiet)
        sigma = gaussian_sigma(1, best.slack, squared)
        return LimitedDomainGauss(10, best.k_bar, sigma, best.delta, contribution, bottom=sigma * quiet).margin()

    assert best.margin() == pytest.approx(gain * margin(Fraction(1)), rel=0.02)
    assert all(best.margin() <= 1.005 * margin(Fraction(tenths, 10)) for tenths in range(2, 13, 2))


@pytest.mark.parametrize(("contribution", "k_bar", "moved"), [(1, 90, 0), (2, 90, 1), (17, 90, 16), (None, 16, 16)])
def test_a_stop_is_quieter_by_the_fourth_root_of_what_moves_with_it(
    contribution: int | None, k_bar: int, moved: int
) -> None:
    """The variance of a slot against ⊥ at equal cost is least where ⊥ weighs √n slots; 16 of them: half the noise."""
    made = LimitedDomainGauss.for_budget(k=3, k_bar=k_bar, epsilon=1, delta="1e-6", contribution=contribution)
    assert made.bottom * (2 if moved == 16 else 1) == made.sigma
    few = LimitedDomainGauss.for_budget(k=3, k_bar=16, epsilon=1, delta="1e-6", contribution=90)
    assert few.bottom * 2 == few.sigma  # no more slots move than there are


@pytest.mark.parametrize("epsilon", ["0.1", "1/3", "1", "10/9", "1.000000000005", "1.0000000000099", "7"])
def test_a_total_is_kept_and_used_to_the_last_digits(epsilon: str) -> None:
    """The accountant rounds up in the twelfth digit: never beyond the total, and hardly anything is unused."""
    sigma = least_sigma(Fraction(epsilon), "1e-6", 3)
    charged = epsilon_of("1e-6", 3 / sigma**2)
    assert Fraction(epsilon) * (1 - Fraction(25, 10**12)) < charged <= Fraction(epsilon)


@pytest.mark.parametrize("contribution", [None, 1, 8])
@pytest.mark.parametrize("k_bar", [None, 30])
@pytest.mark.parametrize(("epsilon", "delta"), [("0.1", "1e-6"), (1, "1e-8"), (4, "0.01")])
def test_a_budget_is_used_up_and_not_exceeded(
    contribution: int | None, k_bar: int | None, epsilon: Any, delta: str
) -> None:
    for counts in {False, contribution is not None}:
        mechanism = LimitedDomainGauss.for_budget(
            k=10, k_bar=k_bar, epsilon=epsilon, delta=delta, contribution=contribution, counts=counts
        )
        promise = mechanism.guarantee()
        assert promise.delta == Fraction(delta)
        assert promise.epsilon is not None
        assert Fraction(epsilon) * Fraction(999, 1000) <= promise.epsilon <= Fraction(epsilon)


def test_what_it_costs() -> None:
    assert LimitedDomainGauss(2, 9, 10, "1e-6", 3, counts=True).cost().rho == Fraction(3, 200)
    assert LimitedDomainGauss(2, 9, 10, "1e-6", 3).cost().rho == Fraction(3 * 7, 2000)
    assert LimitedDomainGauss(9, 9, 10, "1e-6").cost().rho == Fraction(10, 800)
    assert LimitedDomainGauss(9, 9, 10, "1e-6").cost().delta == Fraction(1, 10**6)
    assert LimitedDomainGauss(2, 9, 10, "1e-6", 3, counts=True, bottom=5).cost().rho == Fraction(2 + 4, 200)
    assert LimitedDomainGauss(2, 9, 10, "1e-6", 1, counts=True, bottom=20).cost().rho == Fraction(1, 200)
    assert mu_squared(5, None, counts=True, sigma=Fraction(1), bottom=Fraction(1)) == 6


def test_an_empty_histogram_is_a_stop() -> None:
    mechanism = LimitedDomainGauss(2, 3, 1, "1e-6")
    drawn = set(mechanism.release_many(Histogram.from_counts({}, 3), 50, replay("empty")))
    assert drawn == {Selection((), True)}


@pytest.mark.parametrize("rows", [{"a": 5, "b": 3, "c": 3, "d": 1}, {"a": 3}])
def test_length_law_agrees_with_the_law(rows: dict[str, int]) -> None:
    mechanism, histogram = LimitedDomainGauss(2, 3, 2, "0.1", 2), Histogram.from_counts(rows, 3)
    lengths = [0.0] * 3
    for selection, chance in mechanism.law(histogram).items():
        lengths[len(selection)] += chance
    assert mechanism.length_law(histogram) == pytest.approx(lengths, abs=1e-10)


def test_the_margin_is_the_chance_to_beat_the_stop() -> None:
    mechanism = LimitedDomainGauss(1, 1, 5, "0.01", 1)
    for chance in (0.2, 0.5, 0.95):
        below = mechanism.length_law(Histogram.from_counts({"a": math.floor(mechanism.margin(chance))}, 1))[1]
        above = mechanism.length_law(Histogram.from_counts({"a": math.ceil(mechanism.margin(chance))}, 1))[1]
        assert below <= chance <= above
    assert mechanism.spread(0.95) == pytest.approx(5 * 1.959963985)


def test_a_larger_step_is_a_larger_unit() -> None:
    """Scores that one user moves by up to 5, five times as large, give the same law."""
    mechanism = LimitedDomainGauss(2, 3, 2, "0.1", 2)
    small = mechanism.law(Histogram.from_counts(GIVEN["h"], 3))
    large = mechanism.law(Histogram.from_counts({label: 5 * n for label, n in GIVEN["h"].items()}, 3, unit=5))
    assert small.keys() == large.keys()
    assert all(large[outcome] == pytest.approx(chance, abs=1e-12) for outcome, chance in small.items())


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        ((3, 2, 1, "0.1"), {}, "k_bar must be at least k"),
        ((1, 2, 0, "0.1"), {}, "sigma must be larger than zero"),
        ((1, 2, 1, 0), {}, "delta must be larger than zero"),
        ((1, 2, 1, "0.1"), {"bottom": 0}, "bottom must be larger than zero"),
        ((1, 2, 1, "0.1"), {"counts": True}, "needs a contribution bound"),
        ((1, 2, 1, "0.1", 1), {"threshold": 3}, "threshold must be"),
        ((1, 2, 1, "0.1", 1), {"grid": "0.5"}, "grid must be a whole number"),
    ],
)
def test_bad_parameters_are_refused(arguments: Any, options: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        LimitedDomainGauss(*arguments, **options)


def test_raw_rows_are_refused() -> None:
    with pytest.raises(HistogramError, match="raw rows"):
        LimitedDomainGauss(1, 2, 1, "0.1").release(Histogram.from_counts({"a": 1}, 2, pad=False), replay(0))


def test_published_counts_pay_for_every_number_that_one_user_moves() -> None:
    """P4.2: of k_bar slots and ⊥, as many as the bound says and no more than there are."""
    for bound, moved in ((1, 1), (3, 3), (4, 4), (5, 4), (50, 4)):
        cost = LimitedDomainGauss(2, 3, 10, "1e-6", bound, counts=True).cost()
        assert cost.rho == Fraction(moved, 200)
