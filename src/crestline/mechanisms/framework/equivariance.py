"""Test of the contract of P1.5: a black box must treat slots equally, under any names (K2).

The black box is run on the same counts under many names and in many orders of insertion among equal counts. If it
treats slots equally, its choice does not depend on them. For each event (this slot is chosen, comes first, comes last;
a given number is chosen) and each naming, Fisher's exact test compares the naming with all others. The level is
divided by the number of comparisons, so a black box that keeps the contract is refused with probability at most
`SIGNIFICANCE`, with no approximation. A deterministic dependence (alphabetical order, order of true counts, one label)
is found with near certainty.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from crestline.errors import MechanismError
from crestline.histogram.histogram import Histogram
from crestline.histogram.label_order import Label
from crestline.mechanisms.framework.testing_order import chosen_slots
from crestline.mechanisms.mechanism import BuiltIn
from crestline.mechanisms.selection import Selection
from crestline.mechanisms.third_party import release_many_or_none
from crestline.randomness.entropy import Entropy, replay
from crestline.randomness.sampling import draw_subsets

SIGNIFICANCE = Fraction(1, 10**6)
_RELEASES = 200  # for each naming; more releases, more power
_LEAST_SLOTS = 6  # the fewest that show a dependence
_APART = 10  # any wide gap

_REFUSED = (
    "the mechanism does not keep the contract of the framework (P1.5): what it chooses depends on how slots are named "
    "or in which order they are listed. Read nothing but counts; break ties and order the result at random (its own "
    "noisy order, or return a frozenset and the framework will shuffle it)"
)


@dataclass(frozen=True)
class SlotNaming:
    """Labels for the slots, and the order in which slots of equal count are listed."""

    labels: tuple[Label, ...]
    order: tuple[int, ...]


def check_equivariance(mechanism: BuiltIn, k_bar: int) -> None:
    """Refuse a black box whose choice depends on labels or on the order of insertion."""
    entropy = replay("equivariance of a black box")
    size = _size(mechanism, k_bar)
    tables = [_count_events(mechanism, counts, entropy) for counts in _count_vectors(size)]
    comparisons = sum(table.size for table in tables)
    smallest = min(float(_fisher_p_values(table).min()) for table in tables)
    if smallest * comparisons < float(SIGNIFICANCE):
        raise MechanismError(_REFUSED)


def release_n(mechanism: BuiltIn, view: Histogram, n: int, entropy: Entropy) -> Sequence[Selection]:
    """`n` releases of a black box, in one call where it has `release_many`."""
    many = release_many_or_none(mechanism)
    return many(view, n, entropy) if many else [mechanism.release(view, entropy) for _ in range(n)]


def _size(mechanism: BuiltIn, k_bar: int) -> int:
    """Number of slots to test with: few, or all if the black box does not state the number it chooses."""
    k = mechanism.k
    return k_bar if not isinstance(k, int) else min(k_bar, max(_LEAST_SLOTS, 2 * k))


def _count_vectors(size: int) -> Iterator[NDArray[np.int64]]:
    """Two tables of counts: all equal, so that only names and order differ; and pairs of equal counts far apart."""
    yield np.full(size, 20, dtype=np.int64)  # any count, the same for all
    yield _APART * (np.arange(size, dtype=np.int64)[::-1] // 2)


def _naming_variants(size: int, entropy: Entropy) -> Iterator[SlotNaming]:
    """Numbers, letters and words, assigned in rank order, backwards and at random; ties listed in several orders."""
    forwards, backwards = tuple(range(size)), tuple(reversed(range(size)))
    letters = tuple(_letter_names(size))
    words = tuple(f"item-{word:016x}" for word in entropy.words(size).tolist())
    yield SlotNaming(forwards, forwards)
    yield SlotNaming(backwards, forwards)
    yield SlotNaming(forwards, backwards)
    yield SlotNaming(letters, forwards)
    yield SlotNaming(letters[::-1], backwards)
    order, labels, another, more_labels, last = (tuple(row) for row in draw_subsets(size, size, 5, entropy))
    yield SlotNaming(words, order)
    yield SlotNaming(labels, another)
    yield SlotNaming(more_labels, last)


def _letter_names(size: int) -> Iterator[str]:
    """z, y, …, a, then zz, yz, …: short names, of which the first are late in the alphabet."""
    for number in range(size):
        rounds, letter = divmod(number, 26)  # any different names
        yield chr(ord("z") - letter) + "z" * rounds


def _named_view(counts: NDArray[np.int64], naming: SlotNaming) -> tuple[Histogram, dict[Label, int]]:
    """Counts under these names; slots of equal count are listed in the naming's order."""
    ranked = sorted(naming.order, key=lambda slot: -int(counts[slot]))  # stable: ties keep the naming's order
    labels = tuple(naming.labels[slot] for slot in ranked)
    view = Histogram(labels, counts[ranked], None, domain_size=len(counts))
    return view, dict(zip(labels, ranked, strict=True))


def _count_events(mechanism: BuiltIn, counts: NDArray[np.int64], entropy: Entropy) -> NDArray[np.int64]:
    """Number of times that each event (column) happened under each naming (row)."""
    size = len(counts)
    rows = []
    for naming in _naming_variants(size, entropy):
        view, slots = _named_view(counts, naming)
        row = np.zeros(4 * size + 2, dtype=np.int64)
        for selection in release_n(mechanism, view, _RELEASES, entropy):
            chosen = chosen_slots(selection, slots)
            row[3 * size + len(chosen)] += 1
            row[4 * size + 1] += selection.stopped
            row[chosen] += 1
            if chosen and isinstance(selection.items, tuple):
                row[[size + chosen[0], 2 * size + chosen[-1]]] += 1
        rows.append(row)
    return np.array(rows)


def _fisher_p_values(table: NDArray[np.int64]) -> NDArray[np.float64]:
    """Two-sided p-values: each naming against all others together, event by event, given the event's total."""
    from scipy.stats import hypergeom

    namings = len(table)
    happened = np.broadcast_to(table.sum(axis=0), table.shape)
    law = hypergeom(namings * _RELEASES, happened, _RELEASES)
    tail = np.minimum(law.cdf(table), law.sf(table - 1))
    result: NDArray[np.float64] = np.minimum(1.0, 2.0 * tail)
    return result
