"""Mechanisms that answer queries are attacked on histograms, by their laws and by running them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.audit.broken import queries as broken

import crestline as cl
from crestline.audit.attack import audit
from crestline.audit.neighbours import small_histogram_pairs
from crestline.audit.query_mechanisms import QueryAdapter, as_auditable, opposed_queries
from crestline.audit.testers.features import kind_text
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.stability.first_stable import FirstStable
from crestline.mechanisms.stability.query import QueryAnswer, StableAnswer
from crestline.mechanisms.stability.stable_answers import StableAnswers
from crestline.randomness.entropy import replay


def test_distances_keep_what_the_theorem_needs() -> None:
    """P14.1 on every small pair: a distance moves by at most one, and is zero on both sides where values differ."""
    for with_user, without in small_histogram_pairs("abc"):
        sides = [opposed_queries(Histogram.from_counts(counts, 2)) for counts in (with_user, without)]
        for first, second in zip(*sides, strict=True):
            assert abs(first.distance - second.distance) <= 1
            if first.value != second.value:
                assert first.distance == second.distance == 0


def test_queries_by_hand() -> None:
    found = opposed_queries(Histogram.from_counts({"a": 9, "b": 4, "c": 1}, 3))
    assert found == [StableAnswer(2, 1), StableAnswer(1, 4), StableAnswer("a", 4)]
    assert opposed_queries(Histogram.from_counts({}, 1)) == [StableAnswer(None, 0)]


# What is claimed, and the share of it that is found: the online bound pays for every failure as if it were the worst.
OURS = {
    "first": (FirstStable(3, 1, "1e-6"), 0.95),
    "first, Laplace": (FirstStable(3, 1, "1e-6", noise="laplace"), 0.8),
    "online": (StableAnswers(3, 2, 1, "1e-6"), 0.4),
    "online, one direction": (StableAnswers(3, 1, 1, "1e-6", one_direction=True), 0.6),
}


@pytest.mark.parametrize("name", OURS)
def test_ours_keep_their_promise(name: str) -> None:
    """Laws are compared: the attack comes near the claim, and not beyond it."""
    mechanism, share = OURS[name]
    report = audit(mechanism, entropy=replay("queries"), releases=4_000, seconds=600.0)
    assert report.mechanism in ("FirstStable", "StableAnswers")
    assert not report.is_broken
    assert report.worst is not None
    assert report.worst.method == "exact"
    assert share * report.claimed < report.worst.strength <= report.claimed + 1e-6


CAUGHT = {"FirstHalfTheNoise": 200_000, "NoThreshold": 60_000, "NoCutoff": 200_000}


@pytest.mark.parametrize("name", CAUGHT)
def test_broken_ones_are_caught_by_running_them(name: str) -> None:
    mechanism: Any = getattr(broken, name)()
    report = audit(mechanism, entropy=replay("queries"), releases=CAUGHT[name], seconds=3_600.0)
    assert report.is_broken
    assert report.worst is not None
    assert report.worst.method == "sampled"


@pytest.mark.parametrize("name", ["CorrectFirst", "CorrectOnline"])
def test_honest_twins_are_left_alone(name: str) -> None:
    mechanism: Any = getattr(broken, name)()
    assert not audit(mechanism, entropy=replay("queries"), releases=60_000, seconds=3_600.0).is_broken


def test_only_what_answers_queries_is_asked_queries() -> None:
    plain = cl.mechanisms.LimitedDomain(1, 3, 1, "0.01")
    assert as_auditable(plain) is plain
    asked = as_auditable(FirstStable(9, 1, "0.01"))
    assert isinstance(asked, QueryAdapter)
    assert asked.k_bar == 4


def test_answers_are_shown_plainly() -> None:
    transcript = (QueryAnswer(0, frozenset("ab")), QueryAnswer(1, stopped=True))
    assert kind_text(transcript) == "({a, b}, no answer)"
