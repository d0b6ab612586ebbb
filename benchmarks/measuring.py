"""How everything is measured: works side by side, medians and quartiles, and a limit to the time it may take."""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

Work = Callable[[], object]
Anything = TypeVar("Anything")

BURST, _SHORT = 3, 0.1  # seconds


@dataclass(frozen=True)
class Row:
    """One line of a table: who, at which setting, seconds (median and quartiles), and how good the randomness is.

    `note` replaces the figures where nothing was measured, and says why; `extra` holds what only some tables show.
    """

    who: str
    setting: dict[str, Any]
    median: float | None = None
    low: float | None = None
    high: float | None = None
    runs: int = 0
    exact: bool | None = None
    cryptographic: bool | None = None
    note: str = ""
    extra: dict[str, Any] = field(default_factory=dict)

    def json(self) -> dict[str, Any]:
        return asdict(self)


def timed(work: Work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def interleaved(works: Mapping[str, Work], repetitions: int, seconds: float = math.inf) -> dict[str, list[float]]:
    """Every work once, then all again, each round in an order of its own: what the machine does meanwhile, and what one
    work leaves behind for the next, hits all alike.

    The first round warms up and does not count, unless it alone takes longer than `seconds`; then it is all there is.
    A short work is done three times in its turn, and the median counts: else the caches that a neighbour filled with a
    million numbers would be measured, and not the work.
    """
    start = time.perf_counter()
    first = {name: [timed(work)] for name, work in works.items()}
    if time.perf_counter() - start > seconds:
        return first
    times: dict[str, list[float]] = {name: [] for name in works}
    for done in range(repetitions):
        if done and time.perf_counter() - start > seconds:
            break
        for name, work in shuffled(works, done):
            burst = BURST if first[name][0] < _SHORT else 1
            times[name].append(statistics.median(timed(work) for _ in range(burst)))
    return times


def shuffled(works: Mapping[str, Anything], turn: int) -> list[tuple[str, Anything]]:
    """The works in the order of this round; the same in every run."""
    order = list(works.items())
    random.Random(turn).shuffle(order)
    return order


def spread(times: Sequence[float]) -> dict[str, Any]:
    """Median, quartiles and number of runs, as a row wants them."""
    if len(times) < 2:
        return {"median": times[0], "low": times[0], "high": times[0], "runs": len(times)}
    low, _, high = statistics.quantiles(times, n=4, method="inclusive")
    return {"median": statistics.median(times), "low": low, "high": high, "runs": len(times)}


def slope(sizes: Sequence[float], times: Sequence[float]) -> float:
    """The exponent of the power law that fits best: least squares on logarithms."""
    x, y = [math.log(size) for size in sizes], [math.log(time) for time in times]
    return statistics.linear_regression(x, y).slope


def in_words(exponent: float) -> str:
    """What an exponent means: the time of ten times as much."""
    if exponent < 0.1:
        return f"hardly grows: ten times as much takes {10**exponent:.2f} times as long (slope {exponent:.2f})"
    kind = (
        "less than proportionally"
        if exponent < 0.9
        else "proportionally"
        if exponent < 1.1
        else "more than proportionally"
    )
    return f"grows {kind}: ten times as much takes {10**exponent:.1f} times as long (slope {exponent:.2f})"


def human(seconds: float) -> str:
    """Seconds as people read them, to three digits."""
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}" if seconds < 1000 * unit else f"{seconds / unit:.0f} {name}"
    return f"{seconds * 1e6:.2g} µs"
