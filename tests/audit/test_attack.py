"""Known-bad mechanisms are caught; their honest twins are not."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from crestline.audit.attack import SIGNIFICANCE, attack, audit
from crestline.audit.report import Report
from crestline.audit.target import prepare_subject
from crestline.mechanisms.limited_domain.gumbel import LimitedDomain
from crestline.mechanisms.selection import Selection
from crestline.randomness.entropy import replay

# Releases after which each is caught, with room: the effort is counted in releases, so that nothing here depends on
# the speed of the machine.
QUICK = {
    "limited_domain:ChargedOnce": 400_000,
    "limited_domain:PrintedThreshold": 400_000,
    "limited_domain:StrictWithContribution": 600_000,
    "fixed_threshold:PrintedCondition": 400_000,
    "framework:AlphabeticalTest": 400_000,
    "framework:TrueOrderTest": 400_000,
    "framework:NoPadding": 400_000,
    "framework:LabelDependent": 400_000,
    "top_stable:OnePositionOff": 400_000,
    "top_stable:NoNextCount": 400_000,
    "known_domain:NoisyMinimum": 400_000,
    "known_domain:TiesByPosition": 400_000,
    "known_domain:FixedSeed": 400_000,
    "known_domain:PrintedSensitivity": 400_000,
    "known_domain:UnscaledTop": 400_000,
    "known_domain:DecreasingInverse": 400_000,
    "optimal_threshold:AddedGumbel": 600_000,
    "observed:OneNewItem": 200_000,
    "observed:SkippedWhenEmpty": 200_000,
    "observed:RoundedUpThreshold": 200_000,
    "observed:EveryItemLoads": 200_000,
}
PATIENT = {
    "limited_domain:NoPlusOne": 500_000,
    "limited_domain:HalvedNoise": 400_000,
    "limited_domain:UnstableOrder": 500_000,
    "top_stable:HalfReach": 500_000,
    "known_domain:ClassSizes": 600_000,
    "known_domain:EveryItem": 100_000,
    "known_domain:FloatGrid": 100_000,
    "known_domain:FloatTail": 200_000,
    "known_domain:NumPyLaplace": 200_000,
    "known_domain:TwiceAlike": 100_000,
}
HONEST = (
    "limited_domain:Correct",
    "framework:CorrectFramework",
    "top_stable:CorrectStable",
    "known_domain:PermuteAndFlip",
    "known_domain:CorrectCanonical",
    "known_domain:OnPublicGrid",
    "optimal_threshold:SubtractedGumbel",
    "observed:CorrectThreshold",
    "observed:CorrectRound",
)


def made(name: str) -> Any:
    module, _, kind = name.partition(":")
    return getattr(import_module(f"tests.audit.broken.{module}"), kind)()


def attacked(name: str, releases: int, key: str = "attack") -> Report:
    return audit(made(name), name=name, releases=releases, seconds=3_600.0, entropy=replay(key))


def caught(report: Report) -> bool:
    worst = report.worst
    return report.is_broken and worst is not None and worst.strength > report.claimed and bool(worst.event)


@pytest.mark.parametrize("name", QUICK)
def test_a_broken_mechanism_is_caught(name: str) -> None:
    assert caught(attacked(name, QUICK[name]))


@pytest.mark.slow
@pytest.mark.parametrize("name", PATIENT)
def test_a_broken_mechanism_is_caught_with_patience(name: str) -> None:
    assert caught(attacked(name, PATIENT[name]))


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_twin_is_left_alone(name: str) -> None:
    report = attacked(name, 100_000)
    assert not report.is_broken
    assert report.significance == SIGNIFICANCE


class Lying(LimitedDomain):
    """Claims half of what it costs."""

    def guarantee(self) -> Any:
        from crestline.guarantees.guarantee import ApproxDP

        return ApproxDP(self.epsilon * self.k / 2, self.delta)


def test_a_stated_law_convicts_without_a_single_release() -> None:
    report = audit(Lying(2, 3, 1, "0.01"), entropy=replay("lying"), seconds=60.0)
    assert caught(report)
    assert report.worst is not None
    assert report.worst.method == "exact"


class Beautified(Lying):
    """States a law that would keep the promise."""

    def law(self, histogram: Any) -> Any:
        return {Selection((), True): 1.0}


def test_a_wrong_law_is_not_believed() -> None:
    report = audit(Beautified(2, 3, 1, "0.01"), entropy=replay("beautified"), seconds=3_600.0, releases=800_000)
    assert caught(report)
    assert "does not describe" in report.notes[0]


class Lawless(Lying):
    def law(self, histogram: Any) -> Any:
        raise NotImplementedError("one day")


def test_a_law_that_fails_is_left_out() -> None:
    report = audit(Lawless(1, 3, 2, "0.01"), entropy=replay("lawless"), seconds=3_600.0, releases=50_000)
    assert "could not be written down" in report.notes[0]


class Crashing(LimitedDomain):
    """Fails on an empty table: the error gives the only user away."""

    def release_many(self, histogram: Any, n: int, entropy: Any) -> list[Selection]:
        if histogram.counts[0] == 0:
            raise ValueError("empty")
        return super().release_many(histogram, n, entropy)


def test_an_error_that_depends_on_the_data_is_a_breach() -> None:
    report = audit(Crashing(1, 3, 1, "0.01"), entropy=replay("crash"), seconds=3_600.0, releases=200_000)
    assert caught(report)
    assert report.worst is not None
    assert not any(report.worst.pair.without.values())


def test_time_is_kept() -> None:
    ticks = iter(range(10**9))
    tested = prepare_subject(made("limited_domain:Correct"), replay("time"))
    report = attack(tested, seconds=400.0, clock=lambda: float(next(ticks)))
    assert not report.is_broken
    assert report.releases < 1_000_000


def test_progress_is_reported() -> None:
    heard: list[tuple[str, float]] = []
    tested = prepare_subject(LimitedDomain(1, 3, 1, "0.01"), replay("told"))
    attack(tested, releases=30_000, seconds=600.0, tell=lambda *what: heard.append(what))
    assert {what for what, _ in heard} == {"probing", "comparing laws", "sampling"}
    assert all(0.0 <= share <= 1.0 for _, share in heard)
