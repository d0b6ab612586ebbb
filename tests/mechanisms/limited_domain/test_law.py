"""Exact laws of lists that end at ⊥: against enumeration, closed forms and their own limits."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest

from crestline.errors import ParameterError
from crestline.mechanisms.limited_domain import law as limited_domain_law
from crestline.mechanisms.limited_domain.law import exact_law, length_law
from crestline.mechanisms.selection import Selection

SCORES = np.array([1.5, 1.0, 0.25, 2.0])  # three items and ⊥


def by_hand(scores: list[float], stop: float, k: int) -> dict[tuple[int, ...], float]:
    """Draw after draw: an item in proportion to e^score, or ⊥, which ends the list."""
    law: dict[tuple[int, ...], float] = {}
    for length in range(min(k, len(scores)) + 1):
        for order in permutations(range(len(scores)), length):
            chance, mass = 1.0, sum(map(math.exp, scores)) + math.exp(stop)
            for slot in order:
                chance, mass = chance * math.exp(scores[slot]) / mass, mass - math.exp(scores[slot])
            law[order] = chance if length == k else chance * math.exp(stop) / mass
    return law


@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize("shift", [0.0, 5000.0, -5000.0])
def test_the_law_of_lists_that_end_at_a_stop(k: int, shift: float) -> None:
    """Only differences of scores matter, however large they are."""
    law = exact_law(SCORES + shift, "abc", k)
    wanted = by_hand(SCORES[:3].tolist(), 2.0, k)
    assert law.keys() == {Selection(tuple("abc"[slot] for slot in order), len(order) < k) for order in wanted}
    for order, chance in wanted.items():
        assert law[Selection(tuple("abc"[slot] for slot in order), len(order) < k)] == pytest.approx(chance, abs=1e-12)


def test_no_columns_are_a_stop() -> None:
    assert exact_law(np.zeros(0), "", 2) == {Selection((), True): 1.0}


def test_a_law_is_written_down_only_where_it_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two items and ⊥, two wanted: nothing, one of two, and two in either order are five outcomes."""
    monkeypatch.setattr(limited_domain_law, "_MOST_OUTCOMES", 5)
    assert len(exact_law(SCORES[1:], "ab", 2)) == 5
    monkeypatch.setattr(limited_domain_law, "_MOST_OUTCOMES", 4)
    with pytest.raises(ParameterError, match="too many outcomes"):
        exact_law(SCORES[1:], "ab", 2)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_lengths_are_those_of_the_law(k: int) -> None:
    """More wanted than there are: the last chances are nought."""
    lengths = [0.0] * (k + 1)
    for order, chance in by_hand(SCORES[:3].tolist(), 2.0, k).items():
        lengths[len(order)] += chance
    assert length_law(SCORES[:3], 2.0, k) == pytest.approx(lengths, abs=1e-13)
    assert length_law(SCORES[:3], None, k) == [float(length == min(3, k)) for length in range(k + 1)]


@pytest.mark.long
def test_lengths_of_hundreds_of_items_keep_their_digits() -> None:
    """All keys alike: ⊥ comes at every place with the same chance."""
    lengths = length_law(np.zeros(600), 0.0, 500)
    assert np.abs(np.array(lengths[:-1]) - 1 / 601).max() < 1e-13
    assert lengths[-1] == pytest.approx(101 / 601, abs=1e-13)
