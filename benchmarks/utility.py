"""How many items come back on real data, at equal (ε, δ): ours beside the published mechanism and accountant.

    python -m benchmarks.utility [COUNTS.parquet USERS]

The file has the columns `element` and `count`; δ is 1/(2 USERS), k_bar is 10 k, and each figure is a mean over 300
releases. Published: RestrictedGumbel with the Laplace test, the printed threshold, ε_R four times the per-item ε of a
plain peeling at the same total, and composition by Dong, Durfee and Rogers (B3).
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np

from crestline.guarantees.accountants import per_step_epsilon
from crestline.guarantees.composition import dong_durfee_rogers
from crestline.guarantees.root_finding import largest_within
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.framework.gap_tests.sparse import LaplaceTest
from crestline.mechanisms.framework.gumbel import RestrictedGumbel
from crestline.mechanisms.limited_domain.gumbel import LimitedDomain
from crestline.randomness.entropy import replay

TRIALS = 300
CASES = ((100, "1"), (50, "0.4"), (100, "0.4"))
NAME = "FOURSQUARE_NYC_TKY_RECON.counts.parquet"
ROOT = Path(__file__).resolve().parent.parent
PLACES = tuple(folder / "shared" / "data" / NAME for folder in (ROOT.parent, ROOT.parent.parent))
USERS = 2293


class PrintedTest(LaplaceTest):
    """The Laplace test with the threshold as printed: `e^-t (3 + t)/4 = δ`, a little larger than it must be."""

    @property
    def threshold_height(self) -> Fraction:
        low, high = 0.0, 100.0
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (low, middle) if math.exp(-middle) * (3 + middle) / 4 < self.delta else (middle, high)
        return Fraction(math.ceil(high * 10**9), 10**9)


def printed_step(k: int, epsilon: Fraction, slack: Fraction) -> Fraction:
    """Ind with B3."""
    return largest_within(lambda size: dong_durfee_rogers(k, size, slack), epsilon, start=epsilon / k)


def published(k: int, epsilon: Fraction, delta: Fraction) -> RestrictedGumbel:
    half = delta / 2
    test = 4 * printed_step(k, epsilon, half)
    return RestrictedGumbel(k, 10 * k, printed_step(k, epsilon - test, half), PrintedTest(test, half), slack=half)


def peeling(k: int, epsilon: Fraction, delta: Fraction) -> LimitedDomain:
    half = delta / 2
    return LimitedDomain(k, 10 * k, per_step_epsilon(k, epsilon, half), half, slack=half)


def mean_length(mechanism: RestrictedGumbel | LimitedDomain, histogram: Histogram) -> float:
    drawn = mechanism.release_many(histogram, TRIALS, replay("utility"))
    return float(np.mean([len(selection) for selection in drawn]))


def read_counts(path: Path) -> dict[str, int]:
    import pyarrow.parquet as parquet

    table = parquet.read_table(path)
    return dict(zip(table["element"].to_pylist(), table["count"].to_pylist(), strict=True))


def main(arguments: list[str]) -> int:
    path = Path(arguments[0]) if arguments else next((place for place in PLACES if place.exists()), None)
    if path is None:
        print(f"{NAME} is not in a folder shared/data beside the repository: name a file and its number of users")
        return 2
    users = int(arguments[1]) if len(arguments) > 1 else USERS
    counts, delta = read_counts(path), Fraction(1, 2 * users)
    print(f"{path.name}, {users} users, delta = 1/{2 * users}, k_bar = 10 k, {TRIALS} releases: mean number of items\n")
    print(f"{'k':>4} {'epsilon':>8} {'published':>10} {'LimitedDomain':>14} {'RestrictedGumbel.for_budget':>28}")
    for k, text in CASES:
        epsilon, histogram = Fraction(text), Histogram.from_counts(counts, 10 * k)
        ours = RestrictedGumbel.for_budget(k=k, k_bar=10 * k, epsilon=epsilon, delta=delta)
        figures = [mean_length(m, histogram) for m in (published(k, epsilon, delta), peeling(k, epsilon, delta), ours)]
        print(f"{k:>4} {text:>8} {figures[0]:>10.1f} {figures[1]:>14.1f} {figures[2]:>28.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
