"""Restricted permute-and-flip and restricted one-shot Laplace, against integrals of their own."""

from __future__ import annotations

from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import expon, laplace
from tests.mechanisms.conformance import follows_its_law, items_law, notices, stays_within

from crestline.errors import ParameterError
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.framework.gap_tests.sparse import ExponentialTest
from crestline.mechanisms.framework.one_shot import RestrictedLaplace, RestrictedPermuteAndFlip
from crestline.mechanisms.selection import Selection
from crestline.randomness.entropy import replay

TEST = ExponentialTest("0.7", "0.3", "0.05")
HISTOGRAM = Histogram.from_counts({"a": 14, "b": 9, "c": 2, "d": 1}, 3)
GAPS = np.array([12.0, 7.0, 0.0])
KINDS = [(RestrictedPermuteAndFlip, expon), (RestrictedLaplace, laplace)]
IDS = ["permute-and-flip", "laplace"]


@pytest.mark.long
@pytest.mark.parametrize(("kind", "noise"), KINDS, ids=IDS)
def test_the_law_by_another_integral(kind: Any, noise: Any) -> None:
    """Given the second key: the first lies above it and the third below; then the test on those gaps."""
    law = items_law(kind(2, 3, "0.8", TEST).law(HISTOGRAM))
    scores = 0.4 * np.array([14.0, 9.0, 2.0])  # rate ε/k
    wanted: dict[tuple[str, ...], float] = {}
    for order in permutations(range(3)):
        first, second, third = (noise(loc=scores[slot]) for slot in order)

        def density(y: float, a: Any = first, b: Any = second, c: Any = third) -> float:
            return float(a.sf(y) * b.pdf(y) * c.cdf(y))

        edges = [-50.0, *sorted(scores), 60.0]
        chance = sum(quad(density, *ends, epsabs=1e-13)[0] for ends in pairwise(edges))
        lengths = TEST.pass_count_law(GAPS, np.array([order[:2]]))[0]
        for length in range(3):
            items = tuple("abc"[slot] for slot in order[:length])
            wanted[items] = wanted.get(items, 0.0) + chance * lengths[length]
    for items, chance in law.items():
        assert chance == pytest.approx(wanted[items], abs=1e-9)
    assert sum(law.values()) == pytest.approx(1, abs=1e-12)


@pytest.mark.statistics
@pytest.mark.parametrize("kind", [kind for kind, _ in KINDS], ids=IDS)
def test_the_sampler_follows_the_law_and_the_test_has_power(kind: Any) -> None:
    mechanism = kind(2, 3, "0.8", TEST)
    follows_its_law(mechanism, HISTOGRAM)
    notices(mechanism, kind(2, 3, "0.88", TEST), HISTOGRAM)
    notices(mechanism, kind(2, 3, "0.72", TEST), HISTOGRAM)


def test_one_item_with_exponential_noise_is_permute_and_flip() -> None:
    """Walk the slots in random order, accept one with chance exp(-ε (best - count)): McKenna and Sheldon's program."""
    counts, epsilon = np.array([3.0, 2.0, 2.0]), 0.9
    wanted = np.zeros(3)
    for order in permutations(range(3)):
        left = 1 / 6
        for slot in order:
            accept = np.exp(-epsilon * (counts.max() - counts[slot]))
            wanted[slot] += left * accept
            left *= 1 - accept
    domain = Histogram.over_domain({"a": 3, "b": 2, "c": 2})  # nothing left out: nothing is tested
    law = items_law(RestrictedPermuteAndFlip(1, 3, "0.9", TEST).law(domain))
    for slot, label in enumerate("abc"):
        assert law[(label,)] == pytest.approx(wanted[slot], abs=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("kind", [kind for kind, _ in KINDS], ids=IDS)
@pytest.mark.parametrize("k", [1, 2])
def test_neighbours_stay_within_the_promise(kind: Any, k: int) -> None:
    mechanism = kind(k, 3, "0.8", ExponentialTest("0.4", "0.3", "0.2"))
    stays_within(mechanism, lambda counts: Histogram.from_counts(counts, 3))


@pytest.mark.parametrize("kind", [kind for kind, _ in KINDS], ids=IDS)
def test_one_bit_at_first_gives_the_same_selections(kind: Any) -> None:
    mechanism = kind(2, 3, "0.8", TEST)
    reference = mechanism.release_many(HISTOGRAM, 60, replay("bits"))
    for bits in (1, 7):
        assert mechanism.release_many(HISTOGRAM, 60, replay("bits", first_bits=bits)) == reference


@pytest.mark.parametrize("kind", [kind for kind, _ in KINDS], ids=IDS)
def test_the_choice_is_one_pure_step(kind: Any) -> None:
    mechanism = kind(5, 50, "0.8", TEST)
    assert mechanism.cost().epsilon == TEST.cost().epsilon + mechanism.epsilon
    assert mechanism.cost().number_of_steps == 2
    assert mechanism.release(Histogram.from_counts({}, 50), replay(0)) == Selection((), True)


@pytest.mark.parametrize("kind", [kind for kind, _ in KINDS], ids=IDS)
def test_bad_parameters_are_refused(kind: Any) -> None:
    with pytest.raises(ParameterError, match="k_bar must be at least k"):
        kind(3, 2, 1, TEST)
    with pytest.raises(ParameterError, match="epsilon must be larger than zero"):
        kind(1, 2, 0, TEST)
