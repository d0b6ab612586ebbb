"""Selections from drawn slots: cut at a stop or at an empty slot, shared where they are equal."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from crestline.histogram.count_bounds import CountBounds
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.selection import (
    Selection,
    as_unordered,
    rank_by_counts,
    select_list,
    select_ranked_rows,
    select_ranks,
    select_rows,
    select_set,
)

HISTOGRAM = Histogram.from_counts({"a": 9, "b": 5, "c": 1}, 5)  # slots 3 and 4 are empty
LABELS = [HISTOGRAM.name(slot) for slot in range(5)]


def test_a_list_ends_at_the_first_empty_slot_and_a_set_leaves_them_out() -> None:
    drawn = [LABELS[1], LABELS[0], LABELS[3], LABELS[2]]
    assert select_list(drawn, 2) == Selection(("b", "a"), False)
    assert select_list(drawn, 3) == Selection(("b", "a"), True)
    assert select_set(drawn, 3) == Selection(frozenset("abc"), False)
    assert select_set(drawn, 4) == Selection(frozenset("abc"), True)
    assert select_list([], 1) == Selection((), True)
    assert len(select_list(drawn, 2)) == 2


def test_counts_and_their_bounds_go_with_their_items() -> None:
    """A list is ranked by its counts, the largest first, equal ones as they were; a set is in label order."""
    counts = tuple(map(Fraction, (3, 7, 3)))
    bounds = tuple(CountBounds(count - 1, count + 1, Fraction(1)) for count in counts)
    drawn = Selection(("c", "b", "a"), False, counts, bounds=bounds)
    ranked = rank_by_counts(drawn)
    assert (ranked.items, ranked.counts) == (("b", "c", "a"), (7, 3, 3))
    assert ranked.bounds == (bounds[1], bounds[0], bounds[2])
    unordered = as_unordered(drawn)
    assert (unordered.counts, unordered.bounds) == ((3, 7, 3), (bounds[2], bounds[1], bounds[0]))
    assert rank_by_counts(unordered) == unordered
    assert rank_by_counts(Selection(("c", "b"), False)) == Selection(("c", "b"), False)


def test_drawn_columns_end_at_a_stop_or_at_an_empty_slot() -> None:
    """Column 5 is ⊥; what was drawn after it is not said."""
    rows = np.array([[0, 1, 2], [2, 5, 0], [5, 0, 1], [1, 4, 0], [0, 2, 3]])
    assert select_ranked_rows(HISTOGRAM, rows, 5, 3) == [
        Selection(("a", "b", "c"), False),
        Selection(("c",), True),
        Selection((), True),
        Selection(("b",), True),
        Selection(("a", "c"), True),
    ]
    assert select_ranked_rows(HISTOGRAM, rows[:1], 5, 3) == [Selection(("a", "b", "c"), False)]
    few = np.array([[0, 1], [1, 2]])  # only two slots: column 2 is ⊥
    assert select_ranked_rows(HISTOGRAM, few, 2, 2) == [Selection(("a", "b"), False), Selection(("b",), True)]


@pytest.mark.parametrize("width", [1, 3, 31, 32, 33, 60])
def test_every_row_is_said_in_its_place(width: int) -> None:
    """Short rows that are equal share one selection; long rows are made one by one: the same answers."""
    rows = np.arange(width) + np.array([[0], [1], [0], [2], [1]])
    made = select_rows(rows, lambda row: Selection(tuple(row), False))
    assert [selection.items for selection in made] == [tuple(row) for row in rows.tolist()]
    backwards = rows[:, ::-1]  # not contiguous in memory
    assert [one.items for one in select_rows(backwards, lambda row: Selection(tuple(row), False))] == [
        tuple(row) for row in backwards.tolist()
    ]


@pytest.mark.parametrize("rows", [1, 4])
@pytest.mark.parametrize("width", [32, 33, 40])
def test_long_rows_are_cut_like_short_ones(rows: int, width: int) -> None:
    """Fifty items in sixty slots; ⊥ is column 60: at the front, in the middle, at the end, and nowhere."""
    histogram = Histogram.from_counts({f"i{n:02}": 100 - n for n in range(50)}, 60)
    drawn = np.tile(np.arange(width)[::-1], (4, 1))
    drawn[0, 0], drawn[1, 7], drawn[2, -1] = 60, 55, 60
    lengths = [0, 7, width - 1, width][-rows:]
    found = select_ranked_rows(histogram, drawn[-rows:], 60, width)
    for selection, row, length in zip(found, drawn[-rows:].tolist(), lengths, strict=True):
        assert selection == Selection(tuple(f"i{slot:02}" for slot in row[:length]), length < width)
    for k in (width, width + 1):
        whole = select_ranked_rows(histogram, np.tile(np.arange(width), (rows, 1)), 60, k)
        assert whole == [Selection(tuple(f"i{n:02}" for n in range(width)), width < k)] * rows


def test_fewer_than_k_items_of_a_public_list_are_a_stop() -> None:
    histogram = Histogram.over_domain({"a": 9, "b": 5, "c": 1})
    assert select_ranks(histogram, [1, 0], 2, ordered=True) == Selection(("b", "a"), False)
    assert select_ranks(histogram, [1, 0], 3, ordered=True) == Selection(("b", "a"), True)
    assert select_ranks(histogram, [1, 0], 1, ordered=False) == Selection(frozenset("ab"), False)
