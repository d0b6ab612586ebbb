"""No false alarm: every mechanism of the catalogue, attacked again and again with fresh entropy.

Each audit calls an honest mechanism broken with probability at most 1e-6. Replay keys make the twenty runs the same
every time: they passed, and they pass.
"""

from __future__ import annotations

from typing import Any

import pytest

import crestline as cl
from crestline.audit.attack import SIGNIFICANCE, pairs_for
from crestline.audit.effort import Effort
from crestline.audit.statistical import StatisticalTester
from crestline.audit.subject import subject
from crestline.mechanisms.catalogue import CATALOGUE, Entry
from crestline.mechanisms.sparse_tests import ExponentialTest, LaplaceTest
from crestline.randomness.entropy import replay

RUNS = 20
RELEASES = 6_000
TEST = ExponentialTest("0.35", "0.15", "0.01")


def made(line: Entry) -> list[Any]:
    """Instances with a large δ, where an error of ours would show soonest."""
    kind: Any = line.load()
    own: dict[str, list[Any]] = {
        "LimitedDomain": [(2, 3, 1, "0.02"), (2, 3, 1, "0.02", 1), (1, 2, 1, "0.02", None, True)],
        "LimitedDomainLaplace": [(2, 3, "0.5", "0.02", 2)],
        "LimitedDomainGauss": [(2, 3, 2, "0.02", 2), (2, 3, 2, "0.02")],
        "Restricted": [(cl.mechanisms.Lipschitz(2, "0.5"), 3, TEST)],
        "RestrictedGumbel": [(2, 3, "0.5", TEST), (2, 2, "0.5", LaplaceTest("0.5", "0.02"))],
        "RestrictedNormal": [(2, 3, 2, TEST, 2)],
        "RestrictedPermuteAndFlip": [(2, 3, "0.5", TEST)],
        "RestrictedLaplace": [(2, 3, "0.5", TEST)],
        "Lipschitz": [(2, 1), (2, 1, "exponential")],
        "Canonical": [(2, 1)],
        "CanonicalBottom": [(2, 3, 1, "0.02")],
    }
    if line.name in own:
        return [kind(*arguments) for arguments in own[line.name]]
    return [kind.for_budget(k=2, k_bar=3, epsilon=1, delta="0.02")]


@pytest.mark.slow
@pytest.mark.parametrize("line", [line for line in CATALOGUE if line.domain != "queries"], ids=lambda line: line.name)
def test_nothing_is_found_in_twenty_runs(line: Entry) -> None:
    instances = made(line)
    for run in range(RUNS):
        mechanism = instances[run % len(instances)]
        tested = subject(mechanism, replay(f"run {run}"))
        tester = StatisticalTester(SIGNIFICANCE, Effort(RELEASES, 3_600.0))
        found = tester.test(tested, pairs_for(tested, seed=run))
        assert found is None or not found.broken, found
