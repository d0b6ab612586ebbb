"""One subset as ranks: the work that a draw takes, and none where none is wanted."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from crestline.histogram.count_levels import count_levels
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.canonical import draw_subset as canonical_ranks
from crestline.mechanisms.canonical.draw_subset import SubsetSampler
from crestline.randomness.entropy import replay
from crestline.randomness.laws import LAWS

TIED = Histogram.from_multiplicities({9: 2, 7: 3, 5: 1, 1: 4})
APART = Histogram.over_domain({n: 100 - n for n in range(9)})
GAMMAS = [Fraction(0), Fraction(1, 2), Fraction(1)]


def counted(monkeypatch: pytest.MonkeyPatch, name: str) -> list[Any]:
    """The calls of one function of the module, from here on."""
    calls: list[Any] = []
    found = getattr(canonical_ranks, name)

    def noted(*given: Any) -> Any:
        calls.append(given)
        return found(*given)

    monkeypatch.setattr(canonical_ranks, name, noted)
    return calls


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("table", [0, 1 << 12])
@pytest.mark.parametrize("k", [1, 4])
def test_no_draw_gives_no_subset(gamma: Fraction, table: int, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canonical_ranks, "TABLE", table)
    subsets = SubsetSampler(count_levels(TIED), k, gamma, Fraction(1))
    assert subsets.draw(LAWS["gumbel"], 0, replay("none")).shape == (0, k)
    some = subsets.draw(LAWS["gumbel"], 7, replay("some"))
    assert some.shape == (7, k)
    assert all(len(set(row)) == k for row in some.tolist())


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("k", [1, 2, 4])
def test_one_uniform_for_each_class_for_the_lowest_rank_and_for_each_of_the_others(
    gamma: Fraction, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    entropy, asked = replay("work"), list[tuple[int, int]]()
    draw = entropy.uniforms
    monkeypatch.setattr(entropy, "uniforms", lambda rows, columns: asked.append((rows, columns)) or draw(rows, columns))
    SubsetSampler(count_levels(TIED), k, gamma, Fraction(1)).draw(LAWS["gumbel"], 30, entropy)
    counts = [9, 9, 7, 7, 7, 5, 1, 1, 1, 1]
    lower = len(set(counts[k - 1 :] if gamma == 1 else counts[k:])) if gamma else 1
    classes = lower if gamma == 1 else 1 + k * lower
    assert asked == [(30, classes), (30, 1), (30, k - 1)]


def test_only_a_choice_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A class of one lowest rank has no rank to find; one place cannot be taken twice."""
    found, dealt = counted(monkeypatch, "draw_lowest_rank"), counted(monkeypatch, "draw_distinct_ints")
    apart = SubsetSampler(count_levels(APART), 4, Fraction(1, 2), Fraction(1, 100)).draw(
        LAWS["gumbel"], 300, replay("apart")
    )
    assert found == []
    lowest, missing = apart[:, -1], (apart != np.arange(4)).sum(axis=1)  # of the best four so many were replaced
    several = int(((missing > 2) & (lowest > 3)).sum())
    assert several <= len(dealt) < 300
    assert all(len(choices) > 1 for (choices,) in dealt)
    SubsetSampler(count_levels(TIED), 4, Fraction(1, 2), Fraction(1, 100)).draw(LAWS["gumbel"], 100, replay("tied"))
    assert found
    assert all(first < last for first, last, *_ in found)


@pytest.mark.parametrize("gamma", [Fraction(1, 2), Fraction(1)])
def test_every_rank_below_the_lowest_may_be_taken(gamma: Fraction) -> None:
    """At a rate near nought subsets are alike: ten pairs of five, each a tenth of 4,000 draws (six deviations)."""
    histogram = Histogram.over_domain({n: 10 - n for n in range(5)})
    drawn = SubsetSampler(count_levels(histogram), 2, gamma, Fraction(1, 10**9)).draw(
        LAWS["gumbel"], 4_000, replay("alike")
    )
    found = Counter(map(tuple, drawn.tolist()))
    assert len(found) == 10
    assert all(abs(number - 400) < 6 * 19 for number in found.values())
