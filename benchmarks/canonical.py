"""One k-subset by the canonical mechanism at the size of the Netflix data: 17,770 items, k = 1,000.

    python -m benchmarks.canonical

`first` is the first release from a histogram, with everything computed; `next` uses what was kept. Medians.
"""

from __future__ import annotations

import statistics

import numpy as np
from numpy.typing import NDArray

from benchmarks.release import timed
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.canonical import Canonical
from crestline.mechanisms.lipschitz_noise import NOISES
from crestline.randomness.entropy import system

ITEMS, K, REPETITIONS = 17_770, 1_000, 9


def shapes() -> dict[str, NDArray[np.int64]]:
    ranks = np.arange(1, ITEMS + 1)
    return {
        "power law": (230_000 * ranks**-0.7).astype(np.int64),
        "all different": (ITEMS - ranks + 1) * 13,
        "flat": np.full(ITEMS, 1000) + (ranks <= K),
    }


def listed(counts: NDArray[np.int64]) -> Histogram:
    return Histogram(range(len(counts)), counts.copy(), None, domain_size=len(counts))


def measured(mechanism: Canonical, counts: NDArray[np.int64]) -> tuple[float, float]:
    entropy = system()
    first, later = [], []
    for _ in range(REPETITIONS):
        histogram = listed(counts)
        first.append(timed(lambda h=histogram: mechanism.release(h, entropy)))
        later.append(timed(lambda h=histogram: mechanism.release(h, entropy)))
    return statistics.median(first), statistics.median(later)


def main() -> None:
    print(f"{ITEMS:,} items, k = {K:,}; milliseconds")
    print(f"{'counts':14} {'epsilon':>8} {'gamma':>6} {'noise':14} {'first':>8} {'next':>8}")
    for name, counts in shapes().items():
        for epsilon in ("0.01", "1"):
            for gamma in ("0.5", "1"):
                for noise in NOISES:
                    first, later = measured(Canonical(K, epsilon, gamma, noise), counts)
                    print(f"{name:14} {epsilon:>8} {gamma:>6} {noise:14} {1e3 * first:8.1f} {1e3 * later:8.1f}")
    counts = {n * n: 2 for n in range(1, 1000)} | {0: 10**10}
    for gamma in ("0.5", "1"):
        histogram = Histogram.from_multiplicities(counts)
        first = timed(lambda h=histogram, g=gamma: Canonical(K, 1, g).release(h, system()))
        print(f"{'10^10 items':14} {'1':>8} {gamma:>6} {'gumbel':14} {1e3 * first:8.1f}")


if __name__ == "__main__":
    main()
