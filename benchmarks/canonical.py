"""One k-subset by the canonical mechanism at the size of the Netflix data: 17,770 items, k = 1,000.

`first` is the first release from a histogram, with everything computed; `next` uses what was kept.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.full_domain import listed
from benchmarks.measuring import BURST, Row, human, shuffled, spread, timed
from crestline.mechanisms.canonical.canonical import Canonical
from crestline.mechanisms.public_list.noises import NOISES
from crestline.randomness.entropy import Entropy, system

TITLE = "Canonical: a 1,000-subset of 17,770 items"
ACROSS = ("gamma", "epsilon")
ITEMS, K, REPETITIONS = 17_770, 1_000, 15
BOUNDS = {"0.5": 0.3, "1": 0.003}
USUAL = "power law"


def shapes() -> dict[str, NDArray[np.int64]]:
    ranks = np.arange(1, ITEMS + 1)
    return {
        USUAL: (230_000 * ranks**-0.7).astype(np.int64),
        "all different": (ITEMS - ranks + 1) * 13,
        "flat": np.full(ITEMS, 1000) + (ranks <= K),
    }


@dataclass(frozen=True)
class Cell:
    """One setting: the mechanism, the counts it sees, and the seconds that releases took."""

    setting: dict[str, str]
    mechanism: Canonical
    counts: NDArray[np.int64]
    first: list[float] = field(default_factory=list)
    next: list[float] = field(default_factory=list)

    def measure(self, entropy: Entropy) -> None:
        """Three times in a turn, and the median counts, as for every short work (measuring.py)."""
        views = [listed(self.counts) for _ in range(BURST)]
        for taken in (self.first, self.next):
            taken.append(statistics.median(timed(partial(self.mechanism.release, view, entropy)) for view in views))


def cells(quick: bool) -> Iterator[Cell]:
    for shape, counts in list(shapes().items())[: 1 if quick else None]:
        for gamma in BOUNDS:
            for noise in NOISES[:1] if quick else NOISES:
                for epsilon in ("1",) if quick else ("0.01", "1"):
                    setting = {"gamma": gamma, "counts": shape, "epsilon": epsilon, "noise": noise}
                    yield Cell(setting, Canonical(K, epsilon, gamma, noise), counts)


def measure(quick: bool) -> Iterator[Row]:
    """All settings in turn, each round in an order of its own: what lasts a moment must not meet one of them alone."""
    entropy, found = system(), {str(place): cell for place, cell in enumerate(cells(quick))}
    for turn in range(1 + (2 if quick else REPETITIONS)):
        for _, cell in shuffled(found, turn):
            cell.measure(entropy)
    for cell in found.values():
        for release, taken in (("first release", cell.first), ("next release", cell.next)):
            yield Row(release, cell.setting, **spread(taken[1:]), exact=True, cryptographic=True)  # the first warms up


def words(rows: list[Row]) -> list[str]:
    """The slowest cell for each gamma, against its bound: on a power law, as real counts are, and over all shapes."""
    result = []
    for gamma, bound in BOUNDS.items():
        for release in ("first release", "next release"):
            found = [row for row in rows if row.setting["gamma"] == gamma and row.who == release and row.median]
            usual = [row.median or 0.0 for row in found if row.setting["counts"] == USUAL]
            if usual:
                result.append(
                    f"gamma = {gamma}, {release}: at most {human(max(usual))} on a power law, and "
                    f"{human(max(row.median or 0.0 for row in found))} over all shapes, with every noise and ε (the "
                    f"bound is {human(bound)})."
                )
    return result
