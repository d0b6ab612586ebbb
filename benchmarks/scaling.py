"""How one release grows: with the slots at k = 10, and with k at 10^5 slots."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from benchmarks.measuring import Row, interleaved, spread
from benchmarks.restricted import MANY, OURS, PLAIN, UNKNOWN, plain, slots
from crestline.randomness.entropy import system

TITLE = "Growth of one release with k_bar and with k"
ACROSS = ("k", "k_bar")
SLOTS = (10**2, 10**3, 10**4, 10**5, 10**6)
WANTED = (1, 10, 10**2, 10**3, 10**4)
FIXED_K, FIXED_SLOTS = 10, 10**5
REPETITIONS, SECONDS = 40, 2.0


def measure(quick: bool) -> Iterator[Row]:
    entropy = system()
    pairs = [(FIXED_K, k_bar) for k_bar in SLOTS] + [(k, FIXED_SLOTS) for k in WANTED]
    for k, k_bar in [(FIXED_K, 100)] if quick else dict.fromkeys(pairs):
        mechanism, histogram = UNKNOWN[OURS](k, k_bar), slots(k_bar)
        size = 4 if quick else max(10, min(400, 10**7 // k_bar))
        works: dict[str, Callable[[], object]] = {
            PLAIN: plain(histogram, k),
            OURS: partial(mechanism.release, histogram, entropy),
            MANY: partial(mechanism.release_many, histogram, size, entropy),
        }
        times = interleaved(works, 2 if quick else REPETITIONS, SECONDS)
        times[MANY] = [seconds / size for seconds in times[MANY]]
        for name, taken in times.items():
            ideal = name != PLAIN
            yield Row(name, {"k": k, "k_bar": k_bar}, **spread(taken), exact=ideal, cryptographic=ideal)


def words(rows: list[Row]) -> list[str]:
    return []
