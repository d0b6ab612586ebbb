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
from collections.abc import Callable, Iterator
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
WAYS: dict[str, Callable[[str], Any]] = {
    PLAIN: plain,
    TOP_K: private,
    COUNTING: lambda path: counted(open_source(path)),
    BOUNDED: lambda path: private(path, contribution=CONTRIBUTION),
}
REPETITIONS, PEAKS, SECONDS = 9, 3, 120.0
# Not ru_maxrss: a fresh process starts with the peak of the one that started it.
PEAK = "\nprint(next(line for line in open('/proc/self/status') if line.startswith('VmHWM')).split()[1])"


def on_duckdb(path: Path, rows: int, repetitions: int) -> Iterator[Row]:
    """Every way in turn, on the clock and in processor time."""
    clock: dict[str, list[float]] = {name: [] for name in WAYS}
    busy: dict[str, list[float]] = {name: [] for name in WAYS}
    end = time.perf_counter() + SECONDS
    for turn in range(repetitions + 1):
        if turn > 1 and time.perf_counter() > end:
            break
        for name, way in shuffled(WAYS, turn):
            start, processor = time.perf_counter(), time.process_time()
            way(str(path))
            if turn:  # the first turn warms caches up
                clock[name].append(time.perf_counter() - start)
                busy[name].append(time.process_time() - processor)
    for name in WAYS:
        extra = {
            "processor": statistics.median(busy[name]),
            "megabytes": peak_megabytes(path, name, min(PEAKS, repetitions)),
        }
        yield _row(name, "DuckDB", rows, clock[name], extra)


def peak_megabytes(path: Path, way: str, runs: int) -> float:
    """The largest resident size of a fresh process that goes one way once."""
    if way == PLAIN:
        code = f"import duckdb\nduckdb.connect().execute({plain_sql('read_parquet(?)')!r}, [{str(path)!r}]).fetchall()"
    else:
        code = f"from benchmarks.sources import WAYS\nWAYS[{way!r}]({str(path)!r})"
    command = [sys.executable, "-c", code + PEAK]
    found = [subprocess.run(command, check=True, capture_output=True, text=True).stdout for _ in range(runs)]
    kilobytes = (float(text.split()[-1]) for text in found)  # DuckDB may have drawn a progress bar before it
    return statistics.median(kilobytes) / 1024


def measure(quick: bool) -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="crestline-bench-") as folder:
        yield from _measured(Path(folder), quick)


def _measured(folder: Path, quick: bool) -> Iterator[Row]:
    rows = 10**4 if quick else ROWS
    path = folder / f"{rows}.parquet"
    make(path, rows)
    yield from on_duckdb(path, rows, 1 if quick else REPETITIONS)
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
        works = {name: lambda way=WAYS[name], at=str(path): way(at) for name in (PLAIN, TOP_K)}
        for name, times in interleaved(works, REPETITIONS, seconds=15).items():
            yield _row(name, "DuckDB", size, times)
        path.unlink()


def _row(name: str, engine: str, rows: int, times: list[float], extra: dict[str, Any] | None = None) -> Row:
    ideal = None if name in (PLAIN, COUNTING) else True
    setting = {"engine": NAMES.get(engine, engine), "rows": rows}
    return Row(name, setting, **spread(times), exact=ideal, cryptographic=ideal, extra=extra or {})


NAMES = {"postgres": "PostgreSQL", "spark": "Spark"}


def words(rows: list[Row]) -> list[str]:
    """How the bounds that matter were met."""
    result = []
    for engine in ("DuckDB", "PostgreSQL", "Spark"):
        at = {row.who: row for row in rows if row.setting == {"engine": engine, "rows": ROWS} and row.median}
        if {PLAIN, TOP_K, BOUNDED} <= set(at):
            base, ours, bounded = (at[name].median or 0.0 for name in (PLAIN, TOP_K, BOUNDED))
            result.append(
                f"{engine}, 10^7 rows: plain SQL {human(base)}, `top_k` {human(ours)}, {ours / base:.3f} times "
                f"(the bound is 1.05); bounding contributions {bounded / base:.2f} times."
            )
            if "megabytes" in at[PLAIN].extra:
                ratio = at[TOP_K].extra["megabytes"] / at[PLAIN].extra["megabytes"]
                processor = at[TOP_K].extra["processor"] / at[PLAIN].extra["processor"]
                result.append(f"{engine}: {processor:.3f} times the processor time, {ratio:.2f} times the peak memory.")
    return result
