"""Stability queries: distances, FirstStable and StableAnswers against independent integration and their neighbours."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from tests.mechanisms.conformance import ROUNDING, SIGNIFICANCE, VECTORS, p_value

from crestline.audit.neighbours import Counts, small_histogram_pairs
from crestline.audit.testers.exact import worst_pair
from crestline.errors import HistogramError, MechanismError, ParameterError
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.stability.first_stable import NONE_STABLE, FirstStable
from crestline.mechanisms.stability.query import QueryAnswer, StableAnswer, stable_mode, stable_top_set
from crestline.mechanisms.stability.stable_answers import StableAnswers
from crestline.randomness.entropy import replay

QUERIES = (StableAnswer("x", 3), StableAnswer("y", 9), StableAnswer("z", 14))


def laplace_cdf(x: float) -> float:
    return 0.5 * math.exp(x) if x < 0 else 1 - 0.5 * math.exp(-x)


def integrated(distances: tuple[int, ...], bits: tuple[bool, ...], bar: float, tested: float, shared: float) -> float:
    """The chance of these passes and failures with Laplace noise: adaptive quadrature, not the code's grid."""

    def inside(rho: float) -> float:
        value = shared / 2 * math.exp(-shared * abs(rho))
        for distance, good in zip(distances, bits, strict=False):
            fails = laplace_cdf(tested * (bar + rho - distance))
            value *= 1 - fails if good else fails
        return value

    kinks = sorted({-60 / shared, 0.0, 60 / shared, *(d - bar for d in distances)})
    return math.fsum(quad(inside, a, b, epsabs=1e-13, epsrel=1e-12, limit=300)[0] for a, b in pairwise(kinks))


def two_groups(counts: Counts) -> list[StableAnswer]:
    """Not top-k: the most frequent value of each of two groups."""
    return [
        stable_mode({label: counts[label] for label in "ab"}),
        stable_mode({label: counts[label] for label in "cd"}),
    ]


def two_at_the_top(counts: Counts) -> StableAnswer:
    return stable_top_set(Histogram.from_counts(counts, 2))


MADE: list[Callable[[Counts], StableAnswer]] = [stable_mode, two_at_the_top]


@pytest.mark.long
def test_distances_keep_what_the_theorem_needs() -> None:
    """P14.1 on every small neighbouring pair: (a) they move by at most one, (b) zero on both sides of a change."""
    for with_user, without in small_histogram_pairs():
        for make in MADE:
            first, second = make(with_user), make(without)
            assert abs(Fraction(first.distance) - second.distance) <= 1
            if first.value != second.value:
                assert first.distance == second.distance == 0


def test_distances_count_users() -> None:
    assert stable_mode({"a": 9, "b": 4}).value == "a"
    assert stable_mode({"a": 9, "b": 4}).distance == 4
    assert stable_mode({"a": 4, "b": 4}) == StableAnswer("a", 0)
    assert stable_mode({}) == StableAnswer(None, 0)
    assert stable_top_set(Histogram.from_counts({"a": 9, "b": 9, "c": 3}, 2, unit=3)) == StableAnswer(
        frozenset("ab"), 1
    )


def test_a_distance_must_be_exact_and_is_never_shown() -> None:
    with pytest.raises(ParameterError, match="an int or a Fraction") as refusal:
        StableAnswer("x", 0.12345)  # type: ignore[arg-type] # the mistake under test
    assert "12345" not in str(refusal.value)
    assert "77" not in repr(StableAnswer("secret", 77))
    assert "secret" not in repr(StableAnswer("secret", 77))


@pytest.mark.parametrize(
    "histogram",
    [
        Histogram.over_domain({"a": 1}),
        Histogram.from_multiplicities({1: 2}),
        Histogram.from_counts({"a": 1}, 1, pad=False),
    ],
)
def test_a_set_that_is_not_cut_from_more_is_refused(histogram: Histogram) -> None:
    with pytest.raises(HistogramError, match="cut from more items"):
        stable_top_set(histogram)


@pytest.mark.parametrize(("share", "epsilon"), [(None, 1), ("1/3", "0.7")])
def test_first_stable_has_the_integrated_law(share: Any, epsilon: Any) -> None:
    mechanism = FirstStable(3, epsilon, "0.05", share, "laplace")
    tested, shared, bar = float(mechanism._distance_rate), float(mechanism._threshold_rate), float(mechanism.threshold)
    law, distances = mechanism.law(QUERIES), (3, 9, 14)
    for index, query in enumerate(QUERIES):
        wanted = integrated(distances, (False,) * index + (True,), bar, tested, shared)
        assert law[QueryAnswer(index, query.value)] == pytest.approx(wanted, abs=1e-10)
    assert law[NONE_STABLE] == pytest.approx(integrated(distances, (False,) * 3, bar, tested, shared), abs=1e-10)


def test_first_stable_with_one_sided_noise_has_the_closed_law() -> None:
    """One query: Pr[q + Exp(a) > T + Exp(b)] in elementary functions, on both sides of the threshold."""
    for distance in (2, 40):
        mechanism = FirstStable(1, 1, "0.05")
        a, b, gap = (
            float(mechanism._distance_rate),
            float(mechanism._threshold_rate),
            distance - float(mechanism.threshold),
        )
        passes = b / (a + b) * math.exp(a * gap) if gap < 0 else 1 - a / (a + b) * math.exp(-b * gap)
        law = mechanism.law([StableAnswer("x", distance)])
        assert law[QueryAnswer(0, "x")] == pytest.approx(passes, abs=1e-10)


@pytest.mark.parametrize(("queries", "failures", "one_direction"), [(3, 1, False), (3, 2, False), (3, 1, True)])
def test_stable_answers_have_the_integrated_law(queries: int, failures: int, one_direction: bool) -> None:
    mechanism = StableAnswers(queries, failures, 1, "0.05", one_direction=one_direction)
    tested, shared, bar = float(mechanism._distance_rate), float(mechanism._threshold_rate), float(mechanism.threshold)
    law = mechanism.law(QUERIES)
    assert sum(law.values()) == pytest.approx(1, abs=1e-10)
    for transcript, chance in law.items():
        bits = tuple(not answer.stopped for answer in transcript)
        assert bits.count(False) <= failures
        assert chance == pytest.approx(integrated((3, 9, 14), bits, bar, tested, shared), abs=1e-10)


@pytest.mark.statistics
@pytest.mark.parametrize("noise", ["laplace", "exponential"])
def test_first_stable_follows_its_law_and_the_test_has_power(noise: str) -> None:
    """Chi-square, significance 1e-9; a budget 10% off is rejected."""
    mechanism = FirstStable(3, 1, "0.05", noise=noise)
    drawn = mechanism.release_many(QUERIES, 100_000, replay("first"))
    assert p_value(drawn, mechanism.law(QUERIES)) > SIGNIFICANCE
    assert p_value(drawn, FirstStable(3, "1.1", "0.05", noise=noise).law(QUERIES)) < SIGNIFICANCE
    one_by_one = [mechanism.release(iter(QUERIES), replay(f"one {n}")) for n in range(1_500)]
    assert p_value(one_by_one, mechanism.law(QUERIES)) > SIGNIFICANCE


@pytest.mark.statistics
@pytest.mark.parametrize(("failures", "one_direction"), [(2, False), (1, True)])
def test_stable_answers_follow_their_law_and_the_test_has_power(failures: int, one_direction: bool) -> None:
    mechanism = StableAnswers(3, failures, 1, "0.05", one_direction=one_direction)
    law = mechanism.law(QUERIES)
    drawn = mechanism.release_many(QUERIES, 100_000, replay("online"))
    assert p_value(drawn, law) > SIGNIFICANCE
    off = StableAnswers(3, failures, "1.1", "0.05", one_direction=one_direction)
    assert p_value(drawn, off.law(QUERIES)) < SIGNIFICANCE
    transcripts = []
    for n in range(800):
        interaction = mechanism.open(replay(f"online {n}"))
        answers: list[Any] = []
        while not interaction.is_over:
            answers.append(interaction.answer(QUERIES[len(answers)]))
        transcripts.append(tuple(answers))
    assert p_value(transcripts, law) > SIGNIFICANCE


@pytest.mark.parametrize("bits", [1, 7])
def test_few_bits_at_first_give_the_same_answers(bits: int) -> None:
    for mechanism in (FirstStable(3, 1, "0.05"), StableAnswers(3, 2, 1, "0.05")):
        few = mechanism.release_many(QUERIES, 60, replay("bits", first_bits=bits))
        assert few == mechanism.release_many(QUERIES, 60, replay("bits"))


def excess(mechanism: Any) -> float:
    """By how much the exact divergence of the worst pair of small histograms exceeds the promise."""
    promise = mechanism.guarantee()
    finding = worst_pair(
        lambda counts: mechanism.law(two_groups(counts)), small_histogram_pairs(), float(promise.epsilon)
    )
    return finding.delta - float(promise.delta)


def told(mechanism: Any, pairs: Any) -> float:
    """What passes and failures tell beyond ε, where no value ever changes: nothing, not even with probability δ."""
    return worst_pair(
        lambda counts: mechanism.law([StableAnswer(label, distance) for label, distance in counts.items()]),
        pairs,
        float(mechanism.epsilon),
    ).delta


@pytest.mark.parametrize("noise", ["laplace", "exponential"])
@pytest.mark.parametrize("epsilon", ["0.5", "2"])
def test_neighbours_of_first_stable_stay_within_the_promise(noise: str, epsilon: str) -> None:
    assert excess(FirstStable(2, epsilon, "0.1", noise=noise)) <= ROUNDING


@pytest.mark.parametrize("failures", [1, 2])
@pytest.mark.parametrize("epsilon", ["0.5", "2"])
def test_neighbours_of_stable_answers_stay_within_the_promise(failures: int, epsilon: str) -> None:
    assert excess(StableAnswers(2, failures, epsilon, "0.1")) <= ROUNDING


def moving(up: tuple[int, ...], down: tuple[int, ...]) -> tuple[Counts, Counts]:
    return dict(zip("abcdef", up, strict=False)), dict(zip("abcdef", down, strict=False))


DIRECTIONS = [
    moving(tuple(n + i for n, i in zip(base, step, strict=True)), base)
    for base in product((2, 8), repeat=4)
    for step in product((-1, 0, 1), repeat=4)
]


@pytest.mark.long
@pytest.mark.parametrize(
    "mechanism",
    [FirstStable(4, 2, "0.1", noise="laplace"), FirstStable(4, 2, "0.1"), StableAnswers(4, 2, 2, "0.1")],
    ids=["first laplace", "first exponential", "online"],
)
def test_distances_that_move_either_way_stay_within_the_promise(mechanism: Any) -> None:
    assert told(mechanism, DIRECTIONS) <= ROUNDING


@pytest.mark.long
def test_distances_that_move_one_way_need_half_the_noise() -> None:
    one_way = [pair for pair in DIRECTIONS if all(pair[0][i] >= pair[1][i] for i in "abcd")]
    mechanism = StableAnswers(4, 1, 2, "0.1", one_direction=True)
    assert mechanism.threshold < StableAnswers(4, 1, 2, "0.1").threshold
    assert told(mechanism, one_way) <= ROUNDING
    assert told(mechanism, DIRECTIONS) > 1e-4  # and it is wrong where they move both ways


class HalfTheNoise(FirstStable):
    """P2.5's mistake: noise of scale 1/ε2 on queries that move either way."""

    @property
    def _distance_rate(self) -> Fraction:
        return (1 - self.share) * self.epsilon


class NoCutoff(StableAnswers):
    """The noise of one failure, spent on several."""

    @property
    def _distance_rate(self) -> Fraction:
        return (self.epsilon - self._threshold_rate) / 2


class NoThreshold(FirstStable):
    """An unstable query passes as easily as not."""

    @property
    def threshold(self) -> Fraction:
        return Fraction(0)


@pytest.mark.parametrize(
    "twin",
    [HalfTheNoise(4, 2, "0.1", "0.5", "laplace"), NoCutoff(4, 4, 4, "0.1")],
    ids=["half the noise", "no cutoff"],
)
def test_too_little_noise_is_caught(twin: Any) -> None:
    pairs = [
        moving(tuple(n + i for n, i in zip(base, step, strict=True)), base)
        for base in [(1, 1, 1, 9), (4, 4, 4, 12), (3, 3, 3, 3), (6, 6, 6, 6)]
        for step in product((-1, 1), repeat=4)
    ]
    assert told(twin, pairs) > 1e-3


def test_a_threshold_of_zero_is_caught() -> None:
    assert excess(NoThreshold(2, "0.5", "0.1")) > 0.1


def test_an_interaction_ends_after_its_failures_or_its_queries() -> None:
    interaction = StableAnswers(5, 2, 1, "1e-6").open(replay(1))
    assert interaction.answer(StableAnswer("x", 0)).stopped
    assert interaction.answer(StableAnswer("y", 10_000)) == QueryAnswer(1, "y")
    assert interaction.answer(StableAnswer("x", 0)) == QueryAnswer(2, stopped=True)
    assert interaction.is_over
    with pytest.raises(MechanismError, match="open another one"):
        interaction.answer(StableAnswer("y", 10_000))
    short = StableAnswers(1, 2, 1, "1e-6").open(replay(1))
    assert short.answer(StableAnswer("y", 10_000)).value == "y"
    assert short.is_over


def test_first_stable_asks_no_more_than_it_must() -> None:
    asked: list[int] = []

    def queries() -> Any:
        for index, distance in enumerate((0, 10_000, 10_000)):
            asked.append(index)
            yield StableAnswer(index, distance)

    assert FirstStable(3, 1, "1e-6").release(queries(), replay(2)) == QueryAnswer(1, 1)
    assert asked == [0, 1]
    assert (
        FirstStable(1, 1, "1e-6").release([StableAnswer("x", 0), StableAnswer("y", 10_000)], replay(2)) == NONE_STABLE
    )
    assert FirstStable(1, 1, "1e-6").release_many([], 2, replay(2)) == [NONE_STABLE] * 2
    assert StableAnswers(1, 1, 1, "1e-6").release_many([], 2, replay(2)) == [(), ()]
    assert FirstStable(2, 1, "1e-6").law([]) == {NONE_STABLE: pytest.approx(1)}


def test_the_margin_is_the_chance_to_be_answered() -> None:
    for mechanism in (FirstStable(1, 1, "0.01"), FirstStable(1, 1, "0.01", noise="laplace")):
        at = Fraction(mechanism.margin(0.9)).limit_denominator(10**6)
        assert mechanism.law([StableAnswer("x", at)])[QueryAnswer(0, "x")] == pytest.approx(0.9, abs=1e-4)
    online = StableAnswers(1, 1, 1, "0.01")
    at = Fraction(online.margin(0.9)).limit_denominator(10**6)
    assert online.law([StableAnswer("x", at)])[(QueryAnswer(0, "x"),)] == pytest.approx(0.9, abs=1e-4)


def test_the_promise_is_what_was_asked_for() -> None:
    for mechanism in (FirstStable(9, "0.3", "1e-7"), StableAnswers(9, 3, "0.3", "1e-7")):
        assert mechanism.guarantee().epsilon == Fraction(3, 10)
        assert mechanism.cost().delta == Fraction(1, 10**7)
        assert mechanism.cost().rho == Fraction(9, 200)
    one = StableAnswers(9, 1, 1, "1e-7", "0.4", one_direction=True).cost()
    assert one.epsilon == 1
    assert one.rho == Fraction(16, 10) ** 2 / 8  # (ε1 + 2 ε2)²/8 of P2.4


def test_values_that_differ_are_told_with_small_probability_only() -> None:
    """An unstable query passes with probability δ/queries at most."""
    drawn = Counter(FirstStable(4, 1, "0.2").release_many([StableAnswer("x", 0)], 100_000, replay("unstable")))
    assert drawn[QueryAnswer(0, "x")] <= 100_000 * 0.05 + 6 * np.sqrt(5_000)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: FirstStable(0, 1, "0.1"), "queries must be at least 1"),
        (lambda: FirstStable(1, 1, "0.1", noise="gumbel"), "noise must be one of"),
        (lambda: FirstStable(1, 0, "0.1"), "epsilon must be larger than zero"),
        (lambda: FirstStable(1, 1, "0.1", 1), "share must be smaller than one"),
        (lambda: StableAnswers(1, 0, 1, "0.1"), "failures must be at least 1"),
        (lambda: StableAnswers(1, 1, 1, 0), "delta must be larger than zero"),
        (lambda: StableAnswers(3, 2, 1, "0.1", one_direction=True), "needs failures=1"),
    ],
)
def test_bad_parameters_are_refused(make: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        make()


def test_thresholds_and_rates_are_those_of_the_note() -> None:
    """P14.2 with a = ε2/2, b = ε1 and tail δ/m: the printed T of TS is that of fifty queries. P14.3: a = ε2/(2c)."""
    scalars = VECTORS["TV-S"]["values"]
    two_sided = FirstStable(50, 1, "1e-6", "0.37", "laplace")
    one_sided = FirstStable(50, 1, "1e-6", "0.37")
    assert float(two_sided.threshold) == pytest.approx(scalars["TS T(p1=.37,eps=1,delta=1e-6,kbar=50) exact"], abs=1e-9)
    assert float(one_sided.threshold) == pytest.approx(scalars["TS T(p1=.37,eps=1,delta=1e-6,kbar=50) exp"], abs=1e-9)
    assert (two_sided._distance_rate, two_sided._threshold_rate) == (Fraction(63, 200), Fraction(37, 100))
    online = StableAnswers(50, 3, 1, "1e-6")
    assert (online._distance_rate, online._threshold_rate) == (Fraction(63, 600), Fraction(37, 100))
    assert StableAnswers(50, 1, 1, "1e-6").threshold == two_sided.threshold
    one_way = StableAnswers(50, 1, 1, "1e-6", one_direction=True)
    assert (one_way._distance_rate, one_way._threshold_rate) == (Fraction(63, 100), Fraction(37, 100))


def test_a_transcript_ends_with_the_last_failure() -> None:
    mechanism = StableAnswers(5, 2, 1, "1e-6")
    queries = [StableAnswer(name, 9) for name in "abcde"]
    found = mechanism._build_transcript(queries, [True, False, True, False, True])
    assert found == (
        QueryAnswer(0, "a"),
        QueryAnswer(1, stopped=True),
        QueryAnswer(2, "c"),
        QueryAnswer(3, stopped=True),
    )
    assert len(mechanism._build_transcript(queries, [True, False, True, True, True])) == 5


@pytest.mark.parametrize(
    "mechanism", [FirstStable(3, 1, "0.01"), FirstStable(3, 1, "0.01", noise="laplace"), StableAnswers(3, 2, 1, "0.01")]
)
def test_a_margin_is_for_nineteen_of_twenty_unless_asked_otherwise(mechanism: Any) -> None:
    assert mechanism.margin() == mechanism.margin(0.95) > mechanism.margin(0.9)


def test_where_no_query_is_stable_the_answer_is_a_stop_without_a_value() -> None:
    unstable = [StableAnswer("x", -10_000), StableAnswer("y", -10_000)]
    answer = FirstStable(2, 1, "0.05").release(unstable, replay("none is stable"))
    assert (answer.index, answer.value, answer.stopped) == (None, None, True)
