"""JointExponential against plain enumeration, its law, its neighbours, and a broken twin."""

from __future__ import annotations

import math
import time
from collections import Counter
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from flint import ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.mechanisms.conformance import follows_its_law, is_equivariant, notices, stays_within

from crestline.audit.neighbours import small_histogram_pairs
from crestline.audit.testers.exact import worst_pair
from crestline.errors import HistogramError, ParameterError
from crestline.histogram.count_levels import count_levels
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.public_list import joint_values
from crestline.mechanisms.public_list.joint_exponential import JointExponential
from crestline.mechanisms.public_list.joint_values import sequence_values
from crestline.mechanisms.selection import Selection
from crestline.randomness.entropy import replay

COUNTS = {"a": 7, "b": 5, "c": 5, "d": 2, "e": 2, "f": 0}


def plain_law(counts: dict[str, int], k: int, epsilon: float) -> dict[tuple[str, ...], float]:
    """P14.4, sequence by sequence."""
    best = sorted(counts.values(), reverse=True)
    weights = {
        items: math.exp(-epsilon / 2 * max(best[i] - counts[item] for i, item in enumerate(items)))
        for items in permutations(counts, k)
    }
    return {items: weight / math.fsum(weights.values()) for items, weight in weights.items()}


@settings(max_examples=40)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=6), st.integers(1, 3))
def test_values_and_their_sequences_are_those_of_plain_enumeration(numbers: list[int], k: int) -> None:
    k = min(k, len(numbers))
    ranked = sorted(numbers, reverse=True)
    plain: Counter[int] = Counter()
    first: Counter[tuple[int, int]] = Counter()
    for order in permutations(range(len(ranked)), k):
        short = [ranked[i] - ranked[rank] for i, rank in enumerate(order)]
        plain[max(short)] += 1
        first[max(short), short.index(max(short))] += 1
    items = count_levels(Histogram.over_domain(dict(enumerate(ranked))))
    values = sequence_values(items, k, Fraction(1))
    assert values.values.tolist() == sorted(plain)
    assert not values.has_larger_values
    for column, value in enumerate(values.values.tolist()):
        assert sum(values.first_attaining_counts(value)) == plain[value]
        assert values.first_attaining_counts(value) == [first[value, place] for place in range(k)]
        assert values.approx[column] == pytest.approx(math.log(plain[value]) - value, abs=1e-12)
        with ctx.workprec(128):
            assert abs(float(values.ball(0, column).mid()) - values.approx[column]) <= values.error


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_law_is_that_of_plain_enumeration(k: int) -> None:
    law = {s.items: chance for s, chance in JointExponential(k, "0.8").law(Histogram.over_domain(COUNTS)).items()}
    plain = plain_law(COUNTS, k, 0.8)
    assert law.keys() == plain.keys()
    for items, chance in plain.items():
        assert law[items] == pytest.approx(chance, abs=1e-12)


@pytest.mark.statistics
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("multiplicities", [False, True])
def test_the_sampler_follows_the_law_and_the_test_has_power(k: int, multiplicities: bool) -> None:
    how_many = Counter(COUNTS.values())
    histogram = Histogram.from_multiplicities(how_many) if multiplicities else Histogram.over_domain(COUNTS)
    mechanism = JointExponential(k, "1.5")
    follows_its_law(mechanism, histogram, trials=60_000)
    notices(mechanism, JointExponential(k, "1.65"), histogram, trials=60_000)
    notices(mechanism, JointExponential(k, "1.35"), histogram, trials=60_000)


@pytest.mark.statistics
def test_what_lies_beyond_the_horizon_follows_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a near horizon many draws fall into the column beyond it; those up to the horizon are drawn again."""
    monkeypatch.setattr(joint_values, "BEYOND", -1.0)
    mechanism, histogram = JointExponential(2, 1), Histogram.over_domain({"a": 9, "b": 8, "c": 5, "d": 4, "e": 0})
    values = sequence_values(count_levels(histogram), 2, Fraction(1, 2))
    assert values.has_larger_values
    assert values.values[-1] == values.horizon
    assert np.exp(values.approx).sum() > 1.2 * np.exp(values.approx[:-1]).sum()
    follows_its_law(mechanism, histogram, trials=4_000)
    notices(mechanism, JointExponential(2, "1.4"), histogram, trials=4_000)


def test_the_column_beyond_lies_within_its_ball() -> None:
    histogram = Histogram.from_multiplicities({10**6: 3, 50: 7, 0: 10**10})
    values = sequence_values(count_levels(histogram), 4, Fraction(1, 2))
    assert values.has_larger_values
    with ctx.workprec(128):
        for column in range(len(values.approx)):
            assert abs(float(values.ball(0, column).mid()) - values.approx[column]) <= values.error
    assert values.approx[-1] < values.approx[0] - 50


@pytest.mark.parametrize("bits", [1, 7])
def test_few_bits_at_first_give_the_same_selections(bits: int) -> None:
    mechanism, histogram = JointExponential(3, 1), Histogram.over_domain(COUNTS)
    few = mechanism.release_many(histogram, 60, replay("bits", first_bits=bits))
    assert few == mechanism.release_many(histogram, 60, replay("bits"))


@pytest.mark.parametrize("k", [1, 2, 3])
def test_neighbours_stay_within_the_promise(k: int) -> None:
    stays_within(JointExponential(k, "0.8"), Histogram.over_domain)


class TwiceTheRate(JointExponential):
    """The rate of monotone scores: but a difference of two counts moves either way."""

    def _rate(self, histogram: Histogram) -> Fraction:
        return self.epsilon / histogram.unit


def test_the_rate_of_monotone_scores_is_caught() -> None:
    twin = TwiceTheRate(2, "0.8")
    finding = worst_pair(lambda counts: twin.law(Histogram.over_domain(counts)), small_histogram_pairs(), 0.8)
    assert finding.delta > 0.01


def test_the_promise_is_bounded_range() -> None:
    mechanism = JointExponential(2, 1)
    for with_user, without in small_histogram_pairs("abc"):
        first = mechanism.law(Histogram.over_domain(with_user))
        second = mechanism.law(Histogram.over_domain(without))
        losses = [math.log(first[selection] / second[selection]) for selection in first]
        assert max(losses) - min(losses) <= 1 + 1e-9
    assert mechanism.cost().rho == Fraction(1, 8)
    assert mechanism.guarantee().epsilon == 1


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 0), (1, "1e-6"), ("0.1", "1e-9")])
def test_a_budget_is_kept_and_used(epsilon: Any, delta: Any) -> None:
    promise = JointExponential.for_budget(k=20, epsilon=epsilon, delta=delta).guarantee()
    assert promise.epsilon is not None
    assert Fraction(99, 100) * Fraction(str(epsilon)) <= promise.epsilon <= Fraction(str(epsilon))
    assert promise.delta <= Fraction(str(delta))


def test_long_lists_are_quick() -> None:
    """A million different counts, and ten billion items in two hundred groups."""
    counts = np.arange(10**6, 0, -1, dtype=np.int64) * 7
    for histogram in (
        Histogram(range(10**6), counts, None, domain_size=10**6),
        Histogram.from_multiplicities({**{n * n: 2 for n in range(1, 200)}, 0: 10**10}),
    ):
        start = time.process_time()
        selection = JointExponential(50, 1).release(histogram, replay("large"))
        assert time.process_time() - start < 2
        assert len(set(selection.items)) == 50


def test_a_clear_lead_is_found_in_order() -> None:
    counts = {n: 10_000 * (10 - n) if n < 10 else n % 7 for n in range(500)}
    assert JointExponential(10, 1).release(Histogram.over_domain(counts), replay("lead")).items == tuple(range(10))


def test_the_shortfall_bounds_what_happens() -> None:
    mechanism = JointExponential(2, 1)
    counts = {n: 200 - 6 * n for n in range(30)}
    drawn = mechanism.release_many(Histogram.over_domain(counts), 2_000, replay("utility"))
    worst = [max(counts[i] - counts[item] for i, item in enumerate(s.items)) for s in drawn]
    assert sum(short > mechanism.shortfall(30) for short in worst) <= 100


def test_permuting_labels_permutes_the_law() -> None:
    renaming = {"a": "d", "b": "a", "c": "b", "d": "c"}
    is_equivariant(JointExponential(2, 1), Histogram.over_domain, {"a": 7, "b": 5, "c": 3, "d": 1}, renaming)


def test_a_public_list_no_larger_than_k_comes_back_whole() -> None:
    mechanism = JointExponential(3, 1)
    assert mechanism.release(Histogram.over_domain({}), replay(0)) == Selection((), True)
    assert mechanism.law(Histogram.over_domain({})) == {Selection((), True): 1.0}
    follows_its_law(mechanism, Histogram.over_domain({"a": 3, "b": 1}), trials=20_000)
    assert mechanism.release(Histogram.over_domain({"a": 3, "b": 1}), replay(0)).stopped


def test_bad_parameters_and_histograms_are_refused() -> None:
    with pytest.raises(ParameterError, match="k must be at least 1"):
        JointExponential(0, 1)
    with pytest.raises(ParameterError, match="epsilon must be larger than zero"):
        JointExponential(1, 0)
    with pytest.raises(HistogramError, match="whole public list"):
        JointExponential(1, 1).release(Histogram.from_counts({"a": 1}, 1), replay(0))


def test_many_values_add_up_within_the_stated_error() -> None:
    """Sums of thousands of logarithms, against exact whole numbers."""
    counts = {f"i{n}": int(count) for n, count in enumerate(np.random.default_rng(3).integers(0, 10**6, 300))}
    values = sequence_values(count_levels(Histogram.over_domain(counts)), 60, Fraction(1, 10**5))
    columns = np.linspace(0, len(values.approx) - 1, 12).astype(int).tolist()
    with ctx.workprec(200):
        worst = max(abs(float(values.ball(0, column) - values.approx[column])) for column in columns)
    assert worst <= values.error <= 1e-6
