"""A public list of items as groups of equal counts: against the plain list, and at its edges."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crestline.errors import HistogramError
from crestline.histogram.count_levels import LARGEST_DOMAIN, PerHistogramCache, count_levels
from crestline.histogram.histogram import Histogram


def made(counts: list[int], listed: bool) -> Histogram:
    if listed:
        return Histogram.over_domain(dict(enumerate(counts)))
    return Histogram.from_multiplicities(Counter(counts))


@pytest.mark.long
@pytest.mark.parametrize("listed", [True, False])
@given(counts=st.lists(st.integers(0, 4), max_size=12))
def test_groups_are_the_different_counts_of_the_list(counts: list[int], listed: bool) -> None:
    ranked = sorted(counts, reverse=True)
    found = count_levels(made(counts, listed))
    different = sorted(set(counts), reverse=True)
    assert found.counts.tolist() == different
    assert found.sizes.tolist() == [counts.count(count) for count in different]
    assert found.starts.tolist() == [*(ranked.index(count) for count in different), len(counts)]
    assert (found.items, found.number_of_levels) == (len(counts), len(different))
    assert found.all_counts().tolist() == ranked
    for many in range(len(counts) + 1):
        assert found.leading_counts(many).tolist() == ranked[:many]
    assert found.counts_at(np.arange(len(counts))).tolist() == ranked


def test_a_public_list_is_grouped_once_as_long_as_its_histogram_lives() -> None:
    histogram, calls = Histogram.over_domain({"a": 1}), list[int]()
    assert count_levels(histogram) is count_levels(histogram)
    kept = PerHistogramCache[int]()
    for setting in (1, 2, 1, 2):
        assert kept.get(histogram, setting, lambda setting=setting: calls.append(setting) or setting) == setting
    assert calls == [1, 2]


def test_only_a_whole_list_that_can_be_ranked() -> None:
    largest = Histogram.from_multiplicities({0: 2**62 - 1})
    assert count_levels(largest).items == 2**62 - 1 == LARGEST_DOMAIN - 1
    refused: Any
    for refused in (
        Histogram.from_multiplicities({0: 2**62}),
        Histogram.over_domain({"a": 1, "b": 2}, 1),
        Histogram.from_counts({"a": 1}, 1),
    ):
        with pytest.raises(HistogramError):
            count_levels(refused)
    assert count_levels(Histogram.over_domain({"a": 1, "b": 2}, 2)).items == 2


def test_a_group_far_larger_than_memory() -> None:
    found = count_levels(Histogram.from_multiplicities({7: 2, 0: 10**15}))
    assert found.leading_counts(4).tolist() == [7, 7, 0, 0]
    assert found.counts_at(np.array([1, 2, 10**15])).tolist() == [7, 0, 0]
