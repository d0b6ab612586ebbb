"""Ranking, cutting and padding (P0.5, P0.6)."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crestline.errors import ParameterError
from crestline.histogram.histogram import LARGEST_COUNT, Histogram
from crestline.histogram.label_order import Padding, label_order

counts = st.dictionaries(st.text(max_size=3), st.integers(0, 5), max_size=8)


@pytest.mark.long
@given(counts, st.integers(1, 6))
def test_rank_cut_and_pad(table: dict[str, int], k_bar: int) -> None:
    ranked = sorted((pair for pair in table.items() if pair[1]), key=lambda pair: (-pair[1], pair[0].encode()))
    padded = [*ranked, *((None, 0) for _ in range(k_bar + 1))]
    histogram = Histogram.from_counts(table, k_bar)
    assert histogram.counts == tuple(count for _, count in padded[:k_bar])
    assert histogram.next_count == padded[k_bar][1]
    assert histogram.items[: histogram.filled] == tuple(label for label, _ in ranked[:k_bar])
    assert all(isinstance(item, Padding) for item in histogram.items[histogram.filled :])
    assert histogram.k_bar == k_bar


def test_pairs_are_as_good_as_a_mapping() -> None:
    pairs = [("b", 1), ("a", 1)]
    assert Histogram.from_counts(pairs, 2).items == Histogram.from_counts(dict(pairs), 2).items == ("a", "b")


def test_without_padding_only_rows_remain() -> None:
    raw = Histogram.from_counts({"a": 2}, 3, pad=False)
    assert (raw.items, raw.counts, raw.next_count, raw.padded) == (("a",), (2,), 0, False)


@given(st.dictionaries(st.text(max_size=2), st.integers(0, 3), min_size=1, max_size=7), st.integers(1, 9))
def test_a_public_list_lists_every_item(table: dict[str, int], k_bar: int) -> None:
    ranked = sorted(table.items(), key=lambda pair: (-pair[1], pair[0].encode()))
    full = Histogram.over_domain(table)
    assert list(full.items) == [label for label, _ in ranked]
    assert full.next_count is None
    cut = Histogram.over_domain(table, k_bar)
    assert cut.items == full.items[:k_bar]
    assert cut.domain_size == len(table)
    assert cut.next_count == (ranked[k_bar][1] if k_bar < len(ranked) else None)


def test_multiplicities_name_items_by_count_and_index() -> None:
    grouped = Histogram.from_multiplicities({0: 10**10, 7: 2, 3: 0, 5: 1})
    assert grouped.k_bar == grouped.domain_size == 10**10 + 3
    assert grouped.names([0, 1, 2, 3, 10**10 + 2]) == ((7, 0), (7, 1), (5, 0), (0, 0), (0, 10**10 - 1))
    values, sizes = grouped.distinct_counts
    assert (values.tolist(), sizes) == ([7, 5, 0], (2, 1, 10**10))


def test_distinct_counts_of_a_list() -> None:
    values, sizes = Histogram.over_domain({"a": 3, "b": 1, "c": 3}).distinct_counts
    assert (values.tolist(), sizes) == ([3, 1], (2, 1))


@pytest.mark.parametrize(
    ("table", "words"),
    [({"a": -1}, "must not be negative"), ({"a": 1.5}, "whole numbers"), ({"a": True}, "whole numbers"),
     ([("a", 1), ("a", 2)], "listed twice")],
)  # fmt: skip
def test_counts_are_checked(table: object, words: str) -> None:
    wrong: Any = table
    with pytest.raises(ParameterError, match=words):
        Histogram.from_counts(wrong, 2)
    with pytest.raises(ParameterError, match=words):
        Histogram.over_domain(wrong)


def test_an_enormous_count_is_capped_not_refused() -> None:
    counts: Any = {"a": 10**30, "b": np.int64(4)}
    assert Histogram.from_counts(counts, 2).counts == (LARGEST_COUNT, 4)


def test_a_histogram_does_not_print_its_counts() -> None:
    assert repr(Histogram.from_counts({"secret": 12345}, 2)) == "Histogram(k_bar=2)"


def test_labels_have_one_order() -> None:
    labels = [Padding(1), Padding(0), "b", "B", "ä", "z", 2, 10, 1.5, Decimal("1.7"), True, ("a", 2), ("a", 1),
              date(2026, 1, 2), date(2026, 1, 1), b"x", float("nan")]  # fmt: skip
    ordered, turned = sorted(labels, key=label_order), labels[::-1]
    turned.sort(key=label_order)
    assert ordered[:3] == [Padding(0), Padding(1), True]
    assert ordered[3:7] == [1.5, Decimal("1.7"), 2, 10]
    assert [label for label in ordered if isinstance(label, str)] == ["B", "b", "z", "ä"]
    assert [label for label in ordered if isinstance(label, tuple)] == [("a", 1), ("a", 2)]
    assert turned[:7] == ordered[:7]


@pytest.mark.parametrize("rows", [{"a": 5, "b": 3, "c": 3, "d": 1}, {"a": 2}, {}])
@pytest.mark.parametrize("k_bar", [1, 2, 3])
def test_a_cut_is_what_would_have_been_seen(rows: dict[str, int], k_bar: int) -> None:
    found, wanted = Histogram.from_counts(rows, 3).cut_to(k_bar), Histogram.from_counts(rows, k_bar)
    for name in ("items", "counts", "next_count", "filled", "padded", "step", "domain_size", "k_bar"):
        assert getattr(found, name) == getattr(wanted, name)


def test_a_cut_of_a_public_list_still_knows_its_size() -> None:
    found = Histogram.over_domain({"a": 5, "b": 3, "c": 1}).cut_to(2)
    assert (found.items, found.next_count, found.domain_size) == (("a", "b"), 1, 3)


def test_rows_of_names_are_names_row_by_row() -> None:
    histogram = Histogram.from_counts({"a": 5, ("b", 1): 4, 3: 3}, k_bar=4)
    positions = np.array([[0, 3, 1], [2, 2, 0]])
    assert list(histogram.labels_of_rows(positions)) == [histogram.names(row) for row in positions.tolist()]


def test_what_is_kept_is_kept_for_one_owner_at_a_time() -> None:
    histogram, made = Histogram.from_counts({"a": 5}, k_bar=1), []

    def make() -> int:
        made.append(1)
        return len(made)

    first, second = object(), object()
    assert [histogram.keep(owner, make) for owner in (first, first, second, second, first)] == [1, 1, 2, 2, 3]
