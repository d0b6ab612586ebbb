"""Verdicts and outcomes: what counts as met, better, worse."""

from __future__ import annotations

import pytest

from reproduction.checks import Verdict, verdicts_of
from reproduction.experiment import Check, Contest, Estimate, Results, cell
from reproduction.summary import decide

ONE = cell("MADE", "plain", k=3, epsilon=1, delta="0.01", trials=400)


def check(published: float, known: str = "", spread: str = "") -> Check:
    return Check("made", ONE, "returned", published, 100, spread=spread, known=known)


def test_both_sides_have_their_error() -> None:
    """Ours 0.01 over 400 trials, theirs 0.02 over 100: 0.0224 together, and four of it is the limit."""
    verdict = Verdict(check(1.08), Estimate(1.0, 0.01))
    assert verdict.error == pytest.approx(0.0005**0.5)
    assert verdict.met
    assert not Verdict(check(1.1), Estimate(1.0, 0.01)).met
    assert Verdict(check(1.1), Estimate(1.0, 0.01)).failed
    assert not Verdict(check(1.1, known="why"), Estimate(1.0, 0.01)).failed
    assert Verdict(check(1.1), Estimate(1.0, 0.01), spread=0.1).met


def test_the_spread_is_found_by_the_same_cell() -> None:
    results = Results(
        {("made", ONE.key): {"returned": Estimate(1.0, 0.01)}, ("moved", ONE.key): {"returned": Estimate(9.0, 0.1)}}
    )
    (with_spread,) = verdicts_of([check(1.1, spread="moved")], results)
    (without,) = verdicts_of([check(1.1)], results)
    assert with_spread.met
    assert not without.met
    assert verdicts_of([check(1.1)], Results()) == []


@pytest.mark.parametrize(
    ("ours", "worse", "better"), [(0.5, True, False), (0.88, False, False), (0.9, False, False), (0.99, False, True)]
)
def test_ours_against_the_best_of_the_others(ours: float, worse: bool, better: bool) -> None:
    outcome = decide(
        Contest("here", "score_ratio", Estimate(ours, 0.01), "auto", {"a": Estimate(0.2, 0.0), "b": Estimate(0.9, 0.0)})
    )
    assert outcome.rival == "b"
    assert (outcome.worse, outcome.better) == (worse, better)
