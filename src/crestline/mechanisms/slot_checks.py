"""Checks of slots before a histogram is used, and the number of slots that one user can swap (P0.8)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from crestline.errors import HistogramError, ParameterError
from crestline.exact_numbers import LARGEST_CONTRIBUTION, LARGEST_K, LARGEST_K_BAR, whole_number
from crestline.histogram.histogram import CountHistogram, Histogram
from crestline.histogram.histogram_table import HistogramTable
from crestline.histogram.observed_items import ObservedItems
from crestline.randomness.batch_sizes import batch_sizes

Slots = NDArray[np.int64]

NO_SLOT = -1  # entry of a table of slots where none was chosen
_MOST_ORDERS = 200_000  # more would take too long to list


def check_k(k: int, name: str = "k") -> int:
    """The number of items wanted, as a whole number that is not too large to account for."""
    return whole_number(k, name, at_most=LARGEST_K)


def check_k_bar(k_bar: int, name: str = "k_bar") -> int:
    """The number of slots, as a whole number that is not too large to hold."""
    return whole_number(k_bar, name, at_most=LARGEST_K_BAR)


def check_k_bar_or_none(k_bar: int | None, name: str = "k_bar") -> int | None:
    """The number of slots, or None if it was not given."""
    return None if k_bar is None else check_k_bar(k_bar, name)


def check_k_bar_not_below_k(k: int, k_bar: int) -> int:
    """`k_bar`, which must not be below `k`."""
    if k > k_bar:
        raise ParameterError(f"k_bar must be at least k: k is {k}, k_bar is {k_bar}")
    return k_bar


def check_contribution(contribution: int | None, name: str = "contribution") -> int | None:
    """A public bound on the items of one user, or None if there is none."""
    return None if contribution is None else whole_number(contribution, name, at_most=LARGEST_CONTRIBUTION)


def check_slots(histogram: Histogram, k_bar: int, *, raw_rows: bool = False) -> None:
    """Refuse a histogram that was not cut and padded for this mechanism; depends on its kind, never on its counts."""
    if isinstance(histogram, CountHistogram | ObservedItems):
        raise HistogramError("this mechanism names items by rank: list them, with Histogram.from_counts or over_domain")
    if not histogram.padded and not raw_rows:
        raise HistogramError("only Gumbel noise is private on raw rows (P1.8): make the histogram with padding")
    wanted = k_bar if histogram.domain_size is None else min(k_bar, histogram.domain_size)
    if histogram.padded and histogram.k_bar != wanted:
        raise HistogramError(
            f"the histogram has k_bar={histogram.k_bar}, the mechanism k_bar={k_bar}: make both with the same k_bar"
        )


def check_table(table: HistogramTable, k_bar: int) -> None:
    """Refuse a table of histograms that were not cut for this mechanism; they are padded, and of unknown domains."""
    if table.k_bar != k_bar:
        raise HistogramError(
            f"the histograms have k_bar={table.k_bar}, the mechanism k_bar={k_bar}: make both with the same k_bar"
        )


def split_table(table: HistogramTable) -> Iterator[HistogramTable]:
    """Parts of a table, with few enough groups for their keys to fit the cache."""
    first = 0
    for rows in batch_sizes(len(table), table.k_bar + 1):
        yield table.rows(first, first + rows)
        first += rows


def unstable_slots(histogram: Histogram, k_bar: int, contribution: int | None) -> int:
    """Number of slots that one user can swap for others: `m` of P0.8. Zero means that nothing was left out."""
    bound = k_bar if contribution is None else min(contribution, k_bar)
    if histogram.domain_size is None:
        return bound
    return min(bound, histogram.domain_size - histogram.k_bar)


class CountsWithUnit(Protocol):
    """A histogram, or a table of them: counts, and the most by which one user moves one of them."""

    @property
    def array(self) -> Slots: ...

    @property
    def unit(self) -> int: ...


def unit_rate(epsilon: Fraction, histogram: CountsWithUnit) -> Fraction:
    """ε for each unit of a count: scores have sensitivity one after division by the histogram's unit (P0.1)."""
    return epsilon / histogram.unit


def ordered_choices(columns: Sequence[int], k: int, most: int = _MOST_ORDERS) -> Iterator[tuple[int, ...]]:
    """All ordered choices of `k` columns, for exact laws of small histograms."""
    from itertools import permutations

    if math.perm(len(columns), k) > most:
        raise ParameterError(f"the law has more than {most} outcomes: it is for small histograms only")
    return permutations(columns, k)
