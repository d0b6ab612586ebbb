"""Forecasts: exact where a law is quick, right where it is simulated, and every line within the same total."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from crestline.errors import ParameterError
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.catalogue import CATALOGUE
from crestline.plan.candidates import (
    Candidate,
    SkippedMechanism,
    build_candidate,
    candidate_settings,
    cut_histogram,
    k_bar_choices,
)
from crestline.plan.count_models import PowerLaw, ranked_histogram
from crestline.plan.forecast import Forecast, PublicData, Simulation, forecast
from crestline.question import Question
from crestline.randomness.entropy import replay

ONE = ("LimitedDomain",)
QUESTION = Question(k=5, epsilon=Fraction(1), delta=Fraction(1, 10**6))
SMALL = Question(k=2, epsilon=Fraction(1), delta=Fraction(1, 100), k_bar=4)
EVERYONE = Question(k=2, epsilon=Fraction(1), delta=Fraction(1, 10**6), k_bar=4)


def rows(histogram: Histogram, question: Question, trials: int = 300) -> dict[str, Forecast]:
    found, _ = forecast(
        PublicData(histogram), question, mechanisms=ONE, simulation=Simulation(replay("forecast"), trials)
    )
    return {row.mechanism: row for row in found}


@pytest.fixture(scope="module")
def histogram() -> Histogram:
    return ranked_histogram(PowerLaw(0.7, users=600, items=5_000).counts(), 50)


@pytest.mark.long
def test_every_candidate_keeps_within_the_total() -> None:
    assert EVERYONE.epsilon is not None
    assert EVERYONE.delta is not None
    made = [build_candidate(line, k_bar, EVERYONE, public_list=True) for line, k_bar in candidate_settings(EVERYONE)]
    assert any(isinstance(line, Candidate) for line in made)
    for line in made:
        if isinstance(line, Candidate):
            promise = line.mechanism.guarantee()
            assert promise.epsilon is not None
            assert promise.epsilon <= EVERYONE.epsilon
            assert promise.delta <= EVERYONE.delta


def test_the_catalogue_decides_who_takes_part(histogram: Histogram) -> None:
    found, skipped = forecast(PublicData(histogram), EVERYONE, simulation=Simulation(replay("all"), 20))
    with_budget = {line.name for line in CATALOGUE if hasattr(line.load(), "for_budget")}
    assert {row.mechanism for row in found} | {line.mechanism for line in skipped} == with_budget
    assert all(line.reason for line in skipped)


def test_mechanisms_for_public_lists_wait_for_one() -> None:
    for line, k_bar in candidate_settings(EVERYONE):
        if line.domain == "known":
            assert build_candidate(line, k_bar, EVERYONE, public_list=False) == SkippedMechanism(
                line.name, "needs a public list of all items"
            )


@pytest.mark.long
def test_small_questions_are_computed_and_agree_with_a_simulation() -> None:
    histogram = Histogram.from_counts({"a": 14, "b": 9, "c": 2, "d": 1}, k_bar=4)
    exact = rows(histogram, SMALL)["LimitedDomain"]
    assert not exact.returned.simulated
    assert not exact.ratio.simulated
    ((line, k_bar),) = candidate_settings(SMALL, ONE)
    made = build_candidate(line, k_bar, SMALL, public_list=False)
    assert isinstance(made, Candidate)
    mechanism = made.mechanism
    worth = {"a": 14, "b": 9, "c": 2, "d": 1}
    drawn = mechanism.release_seen(histogram, 200_000, replay("check"))
    scores = np.array([sum(worth[item] for item in selection.items) / 23 for selection in drawn])
    sizes = np.array([len(selection) for selection in drawn])
    # Six standard errors: a right forecast fails with probability below 1e-8; an error of 10% is far outside.
    for values, found in ((scores, exact.ratio.value), (sizes, exact.returned.value)):
        limit = 6 * values.std() / math.sqrt(len(values))
        assert abs(values.mean() - found) < limit
        assert abs(values.mean() - 1.1 * found) > limit


def test_the_length_is_exact_where_the_score_is_simulated(histogram: Histogram) -> None:
    row = rows(histogram, QUESTION)["LimitedDomain"]
    assert not row.returned.simulated
    assert row.ratio.simulated
    assert 0 < row.ratio.error < 0.1
    assert 0 < row.ratio.value <= 1


def test_large_questions_are_simulated() -> None:
    question = Question(k=200, epsilon=Fraction(1), delta=Fraction(1, 10**6), k_bar=400)
    row = rows(ranked_histogram(PowerLaw(1.0, 20_000, 5_000).counts(), 400), question, trials=20)["LimitedDomain"]
    assert row.returned.simulated
    assert row.returned.error > 0


def test_the_best_k_bar_of_each_mechanism_is_kept(histogram: Histogram) -> None:
    best = rows(histogram, QUESTION)["LimitedDomain"]
    for k_bar in k_bar_choices(QUESTION):
        one = replace(QUESTION, k_bar=k_bar)
        other = rows(histogram, one)["LimitedDomain"]
        assert other.ratio.value - other.ratio.error <= best.ratio.value + best.ratio.error


def test_rows_are_ranked_by_score(histogram: Histogram) -> None:
    found, _ = forecast(PublicData(histogram), EVERYONE, simulation=Simulation(replay("rank"), 50))
    assert len(found) > 1
    assert list(found) == sorted(found, key=lambda row: -row.ratio.value)


def test_the_margin_is_the_mechanisms_own(histogram: Histogram) -> None:
    row = rows(histogram, replace(QUESTION, k_bar=25))["LimitedDomain"]
    from crestline.mechanisms.limited_domain.gumbel import LimitedDomain

    margin = LimitedDomain.for_budget(k=5, k_bar=25, epsilon=1, delta="1e-6").margin(0.95)
    assert row.margin == margin
    assert row.needed == histogram.counts[25] + margin  # of a public histogram, the left-out count may be shown


def test_where_k_bars_do_as_well_the_larger_is_kept() -> None:
    easy = Histogram.from_counts({f"{i:03}": 10**6 - 2000 * i for i in range(51)}, k_bar=50)
    assert rows(easy, QUESTION)["LimitedDomain"].k_bar == 50


def test_an_empty_histogram_is_planned_too() -> None:
    row = rows(Histogram.from_counts({}, k_bar=50), QUESTION)["LimitedDomain"]
    assert row.returned.value == pytest.approx(0, abs=1e-3)
    assert row.ratio.value == pytest.approx(1.0)  # there was nothing to get


def test_too_short_a_histogram_is_refused() -> None:
    with pytest.raises(ParameterError, match="must hold k_bar=50 items"):
        forecast(
            PublicData(Histogram.from_counts({"a": 3}, k_bar=10)), QUESTION, simulation=Simulation(replay("short"))
        )


def test_what_a_mechanism_sees_is_cut_as_from_the_counts() -> None:
    counts = {"a": 9, "b": 7, "c": 7, "d": 2, "e": 1}
    whole = Histogram.from_counts(counts, k_bar=4)
    for k_bar in range(1, 5):
        cut, fresh = cut_histogram(whole, k_bar), Histogram.from_counts(counts, k_bar=k_bar)
        assert (cut.items, cut.counts, cut.next_count) == (fresh.items, fresh.counts, fresh.next_count)
    empty = cut_histogram(Histogram.from_counts({"a": 1}, k_bar=4), 2)
    assert (empty.counts, empty.next_count) == ((1, 0), 0)


@pytest.mark.long
def test_the_work_is_watched(histogram: Histogram) -> None:
    told: list[tuple[int, int]] = []
    forecast(
        PublicData(histogram),
        QUESTION,
        simulation=Simulation(replay("w"), 2, watch=lambda done, of: told.append((done, of))),
    )
    assert [done for done, _ in told] == list(range(told[-1][1] + 1))
