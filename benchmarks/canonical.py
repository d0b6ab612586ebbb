"""One k-subset by the canonical mechanism at the size of the Netflix data: 17,770 items, k = 1,000.

`first` is the first release from a histogram, with everything computed; `next` uses what was kept.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks.full_domain import listed
from benchmarks.measuring import Row, human, spread, timed
from crestline.mechanisms.canonical import Canonical
from crestline.mechanisms.lipschitz_noise import NOISES
from crestline.randomness.entropy import Entropy, system

TITLE = "Canonical: a 1,000-subset of 17,770 items"
ACROSS = ("gamma", "epsilon")
ITEMS, K, REPETITIONS = 17_770, 1_000, 9
BOUNDS = {"0.5": 0.3, "1": 0.003}


def shapes() -> dict[str, NDArray[np.int64]]:
    ranks = np.arange(1, ITEMS + 1)
    return {
        "power law": (230_000 * ranks**-0.7).astype(np.int64),
        "all different": (ITEMS - ranks + 1) * 13,
        "flat": np.full(ITEMS, 1000) + (ranks <= K),
    }


def measured(mechanism: Canonical, counts: NDArray[np.int64], runs: int, entropy: Entropy) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {"first": [], "next": []}
    for _ in range(runs + 1):
        histogram = listed(counts)
        for taken in times.values():
            taken.append(timed(lambda view=histogram: mechanism.release(view, entropy)))
    return {name: taken[1:] for name, taken in times.items()}  # the very first warms up


def measure(quick: bool) -> Iterator[Row]:
    entropy = system()
    for shape, counts in list(shapes().items())[: 1 if quick else None]:
        for gamma in BOUNDS:
            for noise in NOISES[:1] if quick else NOISES:
                for epsilon in ("1",) if quick else ("0.01", "1"):
                    times = measured(Canonical(K, epsilon, gamma, noise), counts, 2 if quick else REPETITIONS, entropy)
                    setting = {"gamma": gamma, "counts": shape, "epsilon": epsilon, "noise": noise}
                    for release, taken in times.items():
                        yield Row(f"{release} release", setting, **spread(taken), exact=True, cryptographic=True)


def words(rows: list[Row]) -> list[str]:
    """The slowest cell for each gamma, against its bound."""
    result = []
    for gamma, bound in BOUNDS.items():
        for release in ("first release", "next release"):
            cells = [row for row in rows if row.setting["gamma"] == gamma and row.who == release and row.median]
            if cells:
                worst = max(cells, key=lambda row: row.median or 0.0)
                result.append(
                    f"gamma = {gamma}, {release}: {human(min(row.median or 0.0 for row in cells))} to "
                    f"{human(worst.median or 0.0)} over all shapes, noises and ε (the bound is {human(bound)})."
                )
    return result
