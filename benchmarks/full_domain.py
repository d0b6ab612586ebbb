"""The top 10 of a public universe: crestline, listed and by multiplicities, against NumPy over all items.

    python -m benchmarks.full_domain

Ratios in one run, medians over interleaved repetitions. crestline decides exactly and draws from a cryptographic
stream; the NumPy peer (`argpartition` of `rate · count + gumbel`) does neither.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks.release import interleaved
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.lipschitz import Lipschitz
from crestline.mechanisms.lipschitz_noise import NOISES
from crestline.randomness.entropy import system

K, EPSILON, LISTED = 10, 1, 10**6
SIZES = (10**4, 10**5, 10**6, 10**8, 10**10)


def power_law(items: int) -> NDArray[np.int64]:
    return (10**6 / np.arange(1, items + 1)).astype(np.int64)


def multiplicities(items: int) -> Histogram:
    """The same shape at any size: the head of the power law, and the rest at zero."""
    head = power_law(min(items, LISTED))
    counts, sizes = np.unique(head, return_counts=True)
    how_many = dict(zip(counts.tolist(), sizes.tolist(), strict=True))
    how_many[0] = how_many.get(0, 0) + items - len(head)
    return Histogram.from_multiplicities(how_many)


def over_all_items(counts: NDArray[np.int64]) -> Callable[[], object]:
    generator, rate = np.random.default_rng(), EPSILON / K

    def run() -> object:
        noisy = counts * rate + generator.gumbel(size=len(counts))
        best = np.argpartition(noisy, len(noisy) - K)[-K:]
        return best[np.argsort(-noisy[best])]

    return run


def listed(counts: NDArray[np.int64]) -> Histogram:
    return Histogram(range(len(counts)), counts.copy(), None, domain_size=len(counts))


def show(title: str, times: dict[str, list[float]], unit: float) -> None:
    print(f"\n{title}")
    for name, values in times.items():
        middle, low, high = statistics.median(values), min(values), sorted(values)[int(0.9 * len(values))]
        ratio = middle / unit
        print(f"  {name:44} {1e3 * middle:9.3f} ms  ({1e3 * low:.3f} to {1e3 * high:.3f})  {ratio:8.4f} × NumPy")


def main() -> None:
    entropy = system()
    mechanisms = {noise: Lipschitz(K, EPSILON, noise) for noise in NOISES}
    gumbel = mechanisms["gumbel"]
    ties, distinct = power_law(LISTED), np.arange(LISTED, 0, -1, dtype=np.int64) * 3
    lists = {"listed, a power law with ties": listed(ties), "listed, all counts different": listed(distinct)}
    works: dict[str, Callable[[], object]] = {"NumPy over all items": over_all_items(ties)}
    works |= {name: lambda h=h: gumbel.release(h, entropy) for name, h in lists.items()}
    grouped = {f"multiplicities, {items:.0e} items": multiplicities(items) for items in SIZES}
    works |= {name: lambda h=h: gumbel.release(h, entropy) for name, h in grouped.items()}
    times = interleaved(works, 40)
    unit = statistics.median(times["NumPy over all items"])
    show(f"top {K} of 10^6 items (multiplicities: of as many as stated), Gumbel noise", times, unit)
    largest = multiplicities(10**10)
    others: dict[str, Callable[[], object]] = {
        f"10^10 items, {noise}": lambda m=m: m.release(largest, entropy) for noise, m in mechanisms.items()
    }
    show("top 10 of 10^10 items by multiplicities, all noises", interleaved(others, 40), unit)


if __name__ == "__main__":
    main()
