"""A public universe as groups of equal counts: against the plain list, and at its edges."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crestline.errors import HistogramError
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.selection import Selection
from crestline.mechanisms.universe import LARGEST_UNIVERSE, Remembered, chosen, universe


def made(counts: list[int], listed: bool) -> Histogram:
    if listed:
        return Histogram.over_domain(dict(enumerate(counts)))
    return Histogram.from_multiplicities(Counter(counts))


@pytest.mark.parametrize("listed", [True, False])
@given(counts=st.lists(st.integers(0, 4), max_size=12))
def test_groups_are_the_different_counts_of_the_list(counts: list[int], listed: bool) -> None:
    ranked = sorted(counts, reverse=True)
    found = universe(made(counts, listed))
    different = sorted(set(counts), reverse=True)
    assert found.counts.tolist() == different
    assert found.sizes.tolist() == [counts.count(count) for count in different]
    assert found.starts.tolist() == [*(ranked.index(count) for count in different), len(counts)]
    assert (found.items, found.groups) == (len(counts), len(different))
    assert found.listed().tolist() == ranked
    for many in range(len(counts) + 1):
        assert found.leading(many).tolist() == ranked[:many]
    assert found.counts_at(np.arange(len(counts))).tolist() == ranked
    assert (found.copies is None) == (len(counts) == len(different))
    if found.copies is not None:
        assert found.copies.approx == pytest.approx(np.log(found.sizes))


def test_a_universe_is_grouped_once_as_long_as_its_histogram_lives() -> None:
    histogram, calls = Histogram.over_domain({"a": 1}), []
    assert universe(histogram) is universe(histogram)
    kept = Remembered()
    for setting in (1, 2, 1, 2):
        assert kept.get(histogram, setting, lambda setting=setting: calls.append(setting) or setting) == setting
    assert calls == [1, 2]


def test_only_a_whole_universe_that_can_be_ranked() -> None:
    largest = Histogram.from_multiplicities({0: 2**62 - 1})
    assert universe(largest).items == 2**62 - 1 == LARGEST_UNIVERSE - 1
    refused: Any
    for refused in (
        Histogram.from_multiplicities({0: 2**62}),
        Histogram.over_domain({"a": 1, "b": 2}, 1),
        Histogram.from_counts({"a": 1}, 1),
    ):
        with pytest.raises(HistogramError):
            universe(refused)
    assert universe(Histogram.over_domain({"a": 1, "b": 2}, 2)).items == 2


def test_fewer_than_k_is_a_stop() -> None:
    histogram = Histogram.over_domain({"a": 9, "b": 5, "c": 1})
    assert chosen(histogram, [1, 0], 2, ordered=True) == Selection(("b", "a"), False)
    assert chosen(histogram, [1, 0], 3, ordered=True) == Selection(("b", "a"), True)
    assert chosen(histogram, [1, 0], 1, ordered=False) == Selection(frozenset("ab"), False)


def test_a_group_far_larger_than_memory() -> None:
    found = universe(Histogram.from_multiplicities({7: 2, 0: 10**15}))
    assert found.leading(4).tolist() == [7, 7, 0, 0]
    assert found.counts_at(np.array([1, 2, 10**15])).tolist() == [7, 0, 0]
    assert found.copies is not None
    assert found.copies.approx[1] == pytest.approx(15 * math.log(10))
