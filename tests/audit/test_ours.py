"""No false alarm: every mechanism of the catalogue, attacked again and again with fresh entropy.

An audit here calls an honest mechanism broken with probability at most 1e-9. All of them together, at most six for each
mechanism, raise a false alarm less than once in a million runs of this file. The gate attacks each instance once:
entropy is fresh in every run of the tests, and `python -m benchmarks.auditor` makes the same attack with more releases.
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.audit.ours import NAMES, made

from crestline.audit.attack import pairs_to_attack
from crestline.audit.target import prepare_subject
from crestline.audit.testers.attack_limits import AttackLimits
from crestline.audit.testers.statistical import StatisticalTester
from crestline.randomness.entropy import system

RUNS = 6
# A release of the sieve is a dozen small steps, a hundred times as slow as others: fewer runs, each as powerful as any.
FEWER = {"Sieve": 3, "Routed": 3}
RELEASES = 4_000
SIGNIFICANCE = 1e-9


def test_together_they_fail_by_chance_less_than_once_in_a_million() -> None:
    assert RUNS * len(NAMES) * SIGNIFICANCE < 1e-6


def attack(instance: Any, run: int) -> None:
    tested = prepare_subject(instance, system())
    found = StatisticalTester(SIGNIFICANCE, AttackLimits(RELEASES, 3_600.0)).test(
        tested, pairs_to_attack(tested, seed=run)
    )
    assert found is None or not found.broken, found


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_found(name: str) -> None:
    for run, instance in enumerate(made(name)):
        attack(instance, run)


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_found_however_often_it_is_run(name: str) -> None:
    """The runs after the first one of each instance."""
    instances = made(name)
    for run in range(len(instances), FEWER.get(name, RUNS)):
        attack(instances[run % len(instances)], run)
