"""The exact attack: divergences by hand, and bounds that come close to the claim."""

from __future__ import annotations

import math

import pytest

import crestline as cl
from crestline.audit.attack import audit
from crestline.audit.neighbours import HistogramShape, all_small_pairs
from crestline.audit.target import prepare_subject
from crestline.audit.testers.attack_limits import AttackLimits
from crestline.audit.testers.exact import ExactTester, hockey_stick_divergence, tightest_epsilon, worst_pair
from crestline.mechanisms.framework.gap_tests.sparse import ExponentialTest
from crestline.randomness.entropy import replay

FIRST = {"a": 0.5, "b": 0.5}
SECOND = {"a": 0.25, "b": 0.75}


def test_hockey_stick_by_hand() -> None:
    assert hockey_stick_divergence(FIRST, SECOND, 0.0) == pytest.approx(0.25)
    assert hockey_stick_divergence(FIRST, SECOND, math.log(2)) == 0.0
    assert hockey_stick_divergence({"a": 1.0}, {"b": 1.0}, 50.0) == 1.0


def test_tightest_epsilon_by_hand() -> None:
    assert tightest_epsilon(FIRST, SECOND, 0.0) == pytest.approx(math.log(2), abs=1e-6)
    assert tightest_epsilon(FIRST, FIRST, 0.0) == 0.0
    assert tightest_epsilon({"a": 1.0}, {"b": 1.0}, 0.5) == math.inf
    assert tightest_epsilon({"a": 1.0}, {"b": 1.0}, 1.0) == 0.0


def test_the_worst_pair_is_the_worst() -> None:
    laws = {1: {"x": 0.9, "y": 0.1}, 2: {"x": 0.5, "y": 0.5}, 3: {"x": 0.4, "y": 0.6}}
    pairs = [({"a": 1}, {"a": 2}), ({"a": 2}, {"a": 3})]
    finding = worst_pair(lambda counts: laws[counts["a"]], pairs, 0.0)
    assert (finding.first, finding.second) == ({"a": 1}, {"a": 2})
    assert finding.delta == pytest.approx(0.4)


def test_it_climbs_from_small_counts_to_the_threshold() -> None:
    """Counts up to 3 say little about a mechanism that names nothing below 15; the climb goes there."""
    mechanism = cl.mechanisms.LimitedDomain(1, 3, 1, "1e-6")
    tested = prepare_subject(mechanism, replay("climb"))
    pairs = list(all_small_pairs(HistogramShape(3), None))
    still = ExactTester(AttackLimits(10**9, 60.0)).test(tested, pairs)
    assert still is not None
    assert still.strength > 0.9
    assert max(still.pair.with_user.values()) > 3


CLOSE = {
    "LimitedDomain": cl.mechanisms.LimitedDomain(1, 3, 1, "1e-6"),
    "LimitedDomain, many slots": cl.mechanisms.LimitedDomain(1, 20, "0.1", "1e-8"),
    "CanonicalBottom": cl.mechanisms.CanonicalBottom(1, 3, 1, "1e-6"),
    # With k = 1 a single test costs max(ε₁, ε₂), less than the ε₁ + ε₂ of the theorem: 0.7 + 0.21 of 1 can be reached.
    "RestrictedGumbel": cl.mechanisms.RestrictedGumbel(1, 3, "0.7", ExponentialTest("0.21", "0.09", "1e-6")),
}


@pytest.mark.parametrize("name", CLOSE)
def test_the_bound_is_close(name: str) -> None:
    """For k = 1 the auditor finds neighbours with at least 90% of the claimed ε, and never more than the claim."""
    report = audit(CLOSE[name], entropy=replay("close"), releases=20_000, seconds=600.0)
    assert not report.is_broken
    assert report.worst is not None
    assert report.worst.method == "exact"
    assert 0.9 * report.claimed <= report.worst.strength <= report.claimed + 1e-6
