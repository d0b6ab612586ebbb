"""Coverage: two numbers of users with the noise it states, at the price it states."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from tests.mechanisms.conformance import SIGNIFICANCE, p_value

from crestline.errors import ParameterError
from crestline.guarantees.guarantee import ApproxDP, PureDP
from crestline.histogram.coverage_counts import CoverageCounts
from crestline.mechanisms.coverage.coverage import SHARE, Coverage
from crestline.randomness.entropy import replay

REACH = range(-60, 61)


@pytest.mark.parametrize("scale", ["0.7", "3"])
def test_the_chances_are_those_of_rounded_laplace_noise(scale: str) -> None:
    coverage = Coverage(scale)

    def below(noise: float) -> float:
        tail = math.exp(-abs(noise) / float(scale)) / 2
        return tail if noise < 0 else 1 - tail

    for number in range(-5, 6):
        assert coverage.published_chance(7, 7 + number) == pytest.approx(
            below(number + 0.5) - below(number - 0.5), abs=1e-15
        )
    assert sum(coverage.published_chance(0, number) for number in REACH) == pytest.approx(1, abs=1e-8)


@pytest.mark.statistics
def test_both_numbers_follow_their_law() -> None:
    coverage, trials = Coverage(2), 20_000
    drawn = coverage.release_many((10, 4), trials, replay("coverage"))
    for place, true in enumerate((10, 4)):
        expected = {true + away: coverage.published_chance(true, true + away) for away in REACH}
        assert p_value((pair[place] for pair in drawn), expected) > SIGNIFICANCE
    same = sum(named - 10 == others - 4 for named, others in drawn) / trials
    assert same == pytest.approx(
        sum(coverage.published_chance(0, number) ** 2 for number in REACH), abs=0.02
    )  # independent


def test_a_tenth_of_the_total_is_spent_and_the_selection_keeps_the_rest() -> None:
    one, several = (Coverage.for_epsilon(Fraction(1), several_periods=several) for several in (False, True))
    assert (one.scale, several.scale) == (10, 20)  # over several periods both numbers may move
    for coverage in (one, several):
        assert coverage.epsilon == SHARE
        assert coverage.cost().epsilon == SHARE
        assert coverage.cost().rho == SHARE**2 / 2
        promise = coverage.guarantee_after(ApproxDP("0.9", "1e-8", theorem="P18.2"))
        assert promise == ApproxDP(1, "1e-8", theorem="P18.2; P3.7")
        assert coverage.guarantee_after(PureDP("0.9")) == ApproxDP(1, 0, theorem="P3.7")


def test_what_is_published_says_how_sure_it_is() -> None:
    coverage = Coverage(10)
    assert coverage.spread() == pytest.approx(10 * math.log(20))
    covered = coverage.release((600, 400), replay("said"))
    assert covered.all_users == covered.users + covered.users_without
    assert covered.spread == coverage.spread()
    assert covered.share == pytest.approx(0.6, abs=0.15)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_the_share_is_as_sure_as_it_says(share: float) -> None:
    """In at least 95 of 100 cases the published share is off by no more than it says (docs/proofs/coverage.md)."""
    coverage, users, trials = Coverage(20), 1000, 20_000
    true = round(share * users)
    inside = 0
    for named, others in coverage.release_many((true, users - true), trials, replay(f"share {share}")):
        covered = CoverageCounts(named, others, coverage.spread())
        assert covered.share is not None
        assert covered.share_spread is not None
        inside += abs(covered.share - share) <= covered.share_spread
    assert inside / trials > 0.95 - 5 * math.sqrt(0.95 * 0.05 / trials)


def test_without_users_there_is_no_share() -> None:
    nobody = CoverageCounts(-3, 1, 12.0)
    assert (nobody.share, nobody.share_spread) == (None, None)
    assert CoverageCounts(-3, 10, 12.0).share == 0
    assert CoverageCounts(10, -3, 12.0).share == 1


@pytest.mark.parametrize("wrong", [{"scale": 0}, {"scale": -1}, {"scale": 1, "moved": 0}])
def test_wrong_parameters_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ParameterError):
        Coverage(**wrong)
