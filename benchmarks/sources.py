"""The whole of `top_k` against the same question in plain SQL, on DuckDB, PostgreSQL and Spark, in time and memory.

10^7 rows; on DuckDB also from 10^5 to 10^8. Data are made in a temporary directory. Processor time is that of all
threads of this process; peak memory is that of fresh processes, of which the one with plain SQL imports DuckDB alone.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.engines import postgres, spark
from benchmarks.measuring import Row, human, interleaved, shuffled, spread
from benchmarks.zipf import CONTRIBUTION, counted, make, plain, plain_sql, private
from crestline.sources import open_source

TITLE = "End to end: `top_k` against plain SQL"
ACROSS = ()
ROWS = 10**7
SIZES = (10**5, 10**6, 10**8)
PLAIN, TOP_K, BOUNDED = "plain SQL", "`top_k`", f"`top_k`, contribution={CONTRIBUTION}"
COUNTING = "counting alone"
Ways = Mapping[str, Callable[[str], Any]]
WAYS: Ways = {
    PLAIN: plain,
    TOP_K: private,
    COUNTING: lambda path: counted(open_source(path)),
    BOUNDED: lambda path: private(path, contribution=CONTRIBUTION),
}
PAIRS = {TOP_K: 30, COUNTING: 6, BOUNDED: 8}
PEAKS = 7
# Not ru_maxrss: a fresh process starts with the peak of the one that started it.
PEAK = "\nprint(next(line for line in open('/proc/self/status') if line.startswith('VmHWM')).split()[1])"


@dataclass(frozen=True)
class Pair:
    """Plain SQL and another way, one right after the other: seconds on the clock and of all processors."""

    plain: tuple[float, float]
    other: tuple[float, float]

    @property
    def ratio(self) -> float:
        return self.other[0] / self.plain[0]

    @property
    def busy(self) -> float:
        return self.other[1] / self.plain[1]


def paired(path: Path, way: str, many: int, ways: Ways = WAYS) -> list[Pair]:
    """Pairs of plain SQL and another way, which of them comes first changing every time; the first warms up.

    A machine drifts by more than the few percent looked for. What lies within seconds of each other drifts together.
    """
    found = []
    for turn in range(many + 1):
        order = (PLAIN, way) if turn % 2 else (way, PLAIN)
        times = {name: _once(path, ways[name]) for name in order}
        found.append(Pair(times[PLAIN], times[way]))
    return found[1:]


def _once(path: Path, way: Callable[[str], Any]) -> tuple[float, float]:
    start, processor = time.perf_counter(), time.process_time()
    way(str(path))
    return time.perf_counter() - start, time.process_time() - processor


def on_duckdb(path: Path, rows: int, quick: bool) -> Iterator[Row]:
    """Every way in pairs with plain SQL, and the peak of each."""
    yield from compared(path, rows, __name__, PAIRS, 1 if quick else PEAKS)


def compared(path: Path, rows: int, module: str, pairs_of: Mapping[str, int], peaks_of: int) -> Iterator[Row]:
    """The ways of a module (`WAYS`), so many times each in pairs with plain SQL, and the peak of each."""
    ways: Ways = sys.modules[module].WAYS
    pairs = {way: paired(path, way, 1 if peaks_of == 1 else many, ways) for way, many in pairs_of.items()}
    peaks = peak_megabytes(path, peaks_of, module)
    alone = [pair.plain[0] for found in pairs.values() for pair in found]
    yield _row(PLAIN, "DuckDB", rows, alone, {"megabytes": statistics.median(peaks[PLAIN])})
    for way, found in pairs.items():
        ratio = spread([pair.ratio for pair in found])
        extra = {
            "ratio": ratio["median"],
            "ratio_low": ratio["low"],
            "ratio_high": ratio["high"],
            "processor": statistics.median(pair.busy for pair in found),
            "megabytes": statistics.median(peaks[way]),
        }
        yield _row(way, "DuckDB", rows, [pair.other[0] for pair in found], extra)


def peak_megabytes(path: Path, runs: int, module: str = __name__) -> dict[str, list[float]]:
    """The largest resident size of fresh processes that each go one way once; the ways take turns."""
    ways: Ways = sys.modules[module].WAYS
    found: dict[str, list[float]] = {way: [] for way in ways}
    for turn in range(runs):
        for way, _ in shuffled(ways, turn):
            command = [sys.executable, "-c", _program(path, way, module) + PEAK]
            text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            found[way].append(float(text.split()[-1]) / 1024)  # DuckDB may have drawn a progress bar before it
    return found


def _program(path: Path, way: str, module: str) -> str:
    if way == PLAIN:
        return f"import duckdb\nduckdb.connect().execute({plain_sql('read_parquet(?)')!r}, [{str(path)!r}]).fetchall()"
    return f"from {module} import WAYS\nWAYS[{way!r}]({str(path)!r})"


def measure(quick: bool) -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="crestline-bench-") as folder:
        yield from _measured(Path(folder), quick)


def _measured(folder: Path, quick: bool) -> Iterator[Row]:
    rows = 10**4 if quick else ROWS
    path = folder / f"{rows}.parquet"
    make(path, rows)
    yield from on_duckdb(path, rows, quick)
    if quick:
        return
    for engine in (postgres, spark):
        with engine(path, folder) as works:
            for name, times in interleaved(works, 3, seconds=45).items():
                yield _row(name, engine.__name__, rows, times)
    path.unlink()
    for size in SIZES:
        path = folder / f"{size}.parquet"
        make(path, size)
        works = {name: partial(WAYS[name], str(path)) for name in (PLAIN, TOP_K)}
        for name, times in interleaved(works, 9, seconds=15).items():
            yield _row(name, "DuckDB", size, times)
        path.unlink()


def _row(name: str, engine: str, rows: int, times: list[float], extra: dict[str, Any] | None = None) -> Row:
    ideal = None if name in (PLAIN, COUNTING) else True
    setting = {"engine": NAMES.get(engine, engine), "rows": rows}
    return Row(name, setting, **spread(times), exact=ideal, cryptographic=ideal, extra=extra or {})


NAMES = {"postgres": "PostgreSQL", "spark": "Spark"}


def words(rows: list[Row]) -> list[str]:
    """How the bounds that matter were met."""
    result: list[str] = []
    for engine in ("DuckDB", "PostgreSQL", "Spark"):
        at = {row.who: row for row in rows if row.setting == {"engine": engine, "rows": ROWS} and row.median}
        if {PLAIN, TOP_K, BOUNDED} <= set(at):
            result += _said(engine, at)
    return result


def _said(engine: str, at: dict[str, Row]) -> Iterator[str]:
    base, ours, bounded = (at[name].median or 0.0 for name in (PLAIN, TOP_K, BOUNDED))
    ratios = {way: at[way].extra.get("ratio", (at[way].median or 0.0) / base) for way in (TOP_K, BOUNDED)}
    yield (
        f"{engine}, 10^7 rows: plain SQL {human(base)}, `top_k` {human(ours)}, {ratios[TOP_K]:.3f} times (the bound is "
        f"1.05); with bounded contributions {human(bounded)}, {ratios[BOUNDED]:.2f} times (the bound is 3)."
    )
    extra = at[TOP_K].extra
    if "ratio" in extra:
        peak = extra["megabytes"] / at[PLAIN].extra["megabytes"]
        yield (
            f"{engine}: these are medians over {at[TOP_K].runs} and {at[BOUNDED].runs} pairs that ran one right after "
            f"the other; half of the pairs of `top_k` lie between {extra['ratio_low']:.3f} and "
            f"{extra['ratio_high']:.3f}. {extra['processor']:.3f} times the processor time. Peak memory "
            f"{extra['megabytes']:.0f} MB against {at[PLAIN].extra['megabytes']:.0f} MB, {peak:.2f} times (the bound "
            "is 1.10)."
        )
