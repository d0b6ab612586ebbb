"""One release of a restricted domain against a plain NumPy Gumbel top-k, and the time `import crestline` takes.

    python -m benchmarks.release

Ratios in one run, medians over interleaved repetitions. The peer is neither exact nor cryptographically random.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

from crestline.histogram.histogram import Histogram
from crestline.mechanisms.limited_domain import LimitedDomain
from crestline.randomness.entropy import system

K, K_BAR, REPETITIONS = 100, 5000, 400


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def interleaved(works: dict[str, Callable[[], object]], repetitions: int) -> dict[str, list[float]]:
    """Every work once, then all again: what the machine does meanwhile hits all alike."""
    for work in works.values():
        work()
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repetitions):
        for name, work in works.items():
            times[name].append(timed(work))
    return times


def import_seconds() -> float:
    """A fresh interpreter that imports crestline, less one that imports nothing."""

    def run(code: str) -> float:
        command = [sys.executable, "-c", code]
        return statistics.median(timed(lambda: subprocess.run(command, check=True)) for _ in range(9))

    return run("import crestline") - run("pass")


def main() -> None:
    counts = (100_000 / np.arange(1, K_BAR + 2)).astype(np.int64)
    histogram = Histogram.from_counts({f"item {i:05}": int(c) for i, c in enumerate(counts)}, K_BAR)
    mechanism = LimitedDomain(K, K_BAR, "0.1", "1e-8")
    entropy, generator = system(), np.random.default_rng()
    scores = histogram.array * 0.1

    def plain() -> list[object]:
        noisy = scores + generator.gumbel(size=K_BAR)
        best = np.argpartition(noisy, K_BAR - K)[K_BAR - K :]
        return [histogram.items[i] for i in best[np.argsort(-noisy[best])]]

    def ours() -> object:
        return mechanism.release(histogram, entropy)

    times = interleaved({"plain NumPy Gumbel": plain, "LimitedDomain.release": ours}, REPETITIONS)
    medians = {name: statistics.median(values) for name, values in times.items()}
    print(f"one release, k={K}, k_bar={K_BAR}, median of {REPETITIONS}")
    for name, values in times.items():
        low, high = np.percentile(values, [25, 75]) * 1e6
        print(f"  {name:24} {medians[name] * 1e6:8.0f} µs   quartiles {low:.0f} to {high:.0f}")
    ratio = medians["LimitedDomain.release"] / medians["plain NumPy Gumbel"]
    print(f"  ratio {ratio:.2f} (target: at most 2)")
    many = timed(lambda: mechanism.release_many(histogram, 200, entropy)) / 200
    print(f"  release_many: {many * 1e6:.0f} µs per trial")
    print(f"import crestline: {import_seconds():.3f} s (target: under 0.3)")


if __name__ == "__main__":
    main()
