"""Thresholds over all observed items, from rows to names, against plain SQL; and a release without the database.

The sieve with a large and a small ε (the small one sieves twice), and `Observed` with a contribution bound: 10^7 rows
of Parquet on DuckDB. Processor time is that of all threads of this process; peak memory is that of fresh processes. The
release alone: four rounds over 16,384 loads and fewer and one threshold over 2,000 classes of equal scores, k = 100.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import crestline as cl
from benchmarks.measuring import Row, human, spread
from benchmarks.sources import PLAIN, compared
from benchmarks.zipf import CONTRIBUTION, K, make, plain
from crestline.histogram.observed_items import ObservedItems
from crestline.mechanisms.observed.bucket_rounds import ROUNDS, strongest_buckets
from crestline.mechanisms.observed.noisy_query import FINE, noisy_query
from crestline.mechanisms.observed.release import ThresholdRule, draw_releases
from crestline.mechanisms.observed.sieve import BUCKETS, Sieve
from crestline.mechanisms.observed.weights import UNIT
from crestline.randomness.entropy import system
from crestline.randomness.laws import GAUSSIAN

TITLE = "Thresholds over all observed items"
ACROSS = ()
ROWS, QUICK_ROWS = 10**7, 10**4
CLASSES = 2000
DELTA = Fraction(1, 10**8)
SIEVE, TWICE, OBSERVED = "`Sieve`, ε = 1", "`Sieve`, ε = 0.01", f"`Observed`, contribution={CONTRIBUTION}"
RELEASE = "release alone"


def asked(mechanism: str, epsilon: str, **options: Any) -> Callable[[str], Any]:
    def ask(path: str) -> Any:
        return cl.top_k(
            path, user="user", item="item", k=K, epsilon=epsilon, delta=DELTA, mechanism=mechanism, **options
        )

    return ask


WAYS: dict[str, Callable[[str], Any]] = {
    PLAIN: plain,
    SIEVE: asked("Sieve", "1"),
    TWICE: asked("Sieve", "0.01"),
    OBSERVED: asked("Observed", "1", contribution=CONTRIBUTION),
}
PAIRS = {SIEVE: 8, TWICE: 8, OBSERVED: 8}
PEAKS = 5


def measure(quick: bool) -> Iterator[Row]:
    rows = QUICK_ROWS if quick else ROWS
    with tempfile.TemporaryDirectory(prefix="crestline-bench-") as folder:
        path = Path(folder) / f"{rows}.parquet"
        make(path, rows)
        yield from compared(path, rows, __name__, PAIRS, 1 if quick else PEAKS)
    yield release_alone(3 if quick else 50)


def release_alone(times: int) -> Row:
    """Everything of a release but the statements, in processor time."""
    made, entropy, chance = Sieve(K, 1, DELTA), system(), np.random.default_rng(1)
    loads = (chance.pareto(1, BUCKETS) * 20 * UNIT).astype(np.int64)
    scores = {int(score): 1 + place % 3 for place, score in enumerate(chance.integers(UNIT, 1000 * UNIT, CLASSES))}
    share, sigma = made.mu_squared / 8, Fraction(5)
    rule = ThresholdRule(K, GAUSSIAN, sigma, 7 * sigma, sigma / FINE)

    def once() -> float:
        start = time.process_time()
        left = loads
        for _ in range(ROUNDS):
            left = left[strongest_buckets(noisy_query(left, UNIT, share, entropy).values, K)]
        list(draw_releases(ObservedItems(scores, unit=UNIT), rule, 1, entropy))
        return time.process_time() - start

    once()
    found = [once() for _ in range(times)]
    setting = {"loads": f"{BUCKETS:,}, and what is left of them {ROUNDS - 1} times", "classes": CLASSES}
    return Row(RELEASE, setting, **spread(found), exact=True, cryptographic=True)


def words(rows: list[Row]) -> list[str]:
    """How the bounds that matter were met."""
    at = {row.who: row for row in rows}
    said = []
    if at.get(PLAIN) and at[PLAIN].setting.get("rows") == ROWS:
        base = at[PLAIN].extra["megabytes"]
        for way in PAIRS:
            extra = at[way].extra
            said.append(
                f"{way}: {extra['ratio']:.2f} times plain SQL (the bound is 4; half of the pairs lie between "
                f"{extra['ratio_low']:.2f} and {extra['ratio_high']:.2f}), {extra['processor']:.2f} times its "
                f"processor time, {extra['megabytes'] / base:.2f} times its peak memory (the bound is 1.5)."
            )
    alone = at.get(RELEASE)
    if alone is not None and alone.median is not None:
        said.append(f"A release alone takes {human(alone.median)} (the bound is 60 ms).")
    return said
