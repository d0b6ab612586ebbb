"""The whole of `top_k` on 10^7 rows of Parquet against the same question in plain SQL, in time and in memory.

    python -m benchmarks.sources [--rows 10000000] [--repetitions 5] [--spark]

10^6 users, 10^6 items, Zipf; the data are made here, by DuckDB, in a temporary directory. Times are medians over
interleaved repetitions in one process, on the clock and in processor time (all threads); peak memory is the median of
fresh processes, of which the one with plain SQL imports DuckDB and nothing else.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

import crestline as cl
from crestline.histogram.histogram import Histogram
from crestline.question import Question
from crestline.sources import Source, open_source

K, K_BAR, CONTRIBUTION = 100, 1000, 5
PEOPLE = ITEMS = 1_000_000
KEY = bytes(range(32))

# The question as an analyst would write it, without privacy.
PLAIN = f"""
    select item, count(distinct "user") as n from read_parquet(?)
    where "user" is not null and item is not null
    group by item order by n desc, item limit {K_BAR + 1}
"""
# Not ru_maxrss: a fresh process starts with the peak of the one that started it.
PEAK = "\nprint(next(line for line in open('/proc/self/status') if line.startswith('VmHWM')).split()[1])"


def make(path: str, rows: int) -> None:
    """Rows whose user is uniform and whose item has rank r with probability proportional to 1/r."""
    uniform = "(hash(i + {}) / 18446744073709551616.0)"
    duckdb.sql(
        f"""
        copy (
            select cast(floor({uniform.format(0)} * {PEOPLE}) as bigint) as "user",
                   'item ' || cast(floor(exp({uniform.format(rows)} * ln({ITEMS} + 1))) as bigint) as item
            from range({rows}) as numbers(i)
        ) to '{path}' (format parquet)
        """
    )


def plain(path: str) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        return connection.execute(PLAIN, [path]).fetchall()


def counted(source: Source, contribution: int | None = None) -> Histogram:
    return source.top_counts(Question("user", ("item",), K, K_BAR, contribution=contribution), KEY)


def whole(path: str, **options: Any) -> Any:
    return cl.top_k(path, user="user", item="item", k=K, k_bar=K_BAR, epsilon=1, delta=1e-8, **options)


WAYS: dict[str, Callable[[str], Any]] = {
    "plain SQL in DuckDB": plain,
    "top_k": whole,
    "its counting alone": lambda path: counted(open_source(path)),
    f"counting, contribution={CONTRIBUTION}": lambda path: counted(open_source(path), CONTRIBUTION),
}
BASE = next(iter(WAYS))


def measure(path: str, repetitions: int) -> dict[str, tuple[float, float]]:
    """Median seconds on the clock and of processor time; every way once, then all again."""
    seen: dict[str, list[tuple[float, float]]] = {name: [] for name in WAYS}
    for turn in range(repetitions + 1):
        for name, way in WAYS.items():
            clock, processor = time.perf_counter(), time.process_time()
            way(path)
            if turn:  # the first turn warms caches up
                seen[name].append((time.perf_counter() - clock, time.process_time() - processor))
    return {name: tuple(map(statistics.median, zip(*values, strict=True))) for name, values in seen.items()}  # type: ignore[misc] # two medians


def peak_megabytes(path: str, way: str, repetitions: int) -> float:
    """The largest resident size of a fresh process that goes one way once."""
    if way == BASE:
        code = f"import duckdb\nduckdb.connect().execute({PLAIN!r}, [{path!r}]).fetchall()"
    else:
        code = f"from benchmarks.sources import WAYS\nWAYS[{way!r}]({path!r})"
    command = [sys.executable, "-c", code + PEAK]
    runs = [subprocess.run(command, check=True, capture_output=True, text=True).stdout for _ in range(repetitions)]
    return statistics.median(
        float(run.split()[-1]) / 1024 for run in runs
    )  # DuckDB may have drawn a progress bar before it


def report(path: str, rows: int, repetitions: int) -> None:
    print(f"{rows:,} rows, k={K}, k_bar={K_BAR}, medians of {repetitions}; × is relative to {BASE}")
    times = measure(path, repetitions)
    memory = {name: peak_megabytes(path, name, repetitions) for name in WAYS}
    for name, (clock, processor) in times.items():
        print(
            f"  {name:26} {clock:6.2f} s {clock / times[BASE][0]:5.2f}×   processor {processor:6.2f} s "
            f"{processor / times[BASE][1]:5.2f}×   memory {memory[name]:5.0f} MB {memory[name] / memory[BASE]:5.2f}×"
        )
    rows_of_sql, histogram = plain(path), counted(open_source(path))
    same = [*zip(histogram.items, histogram.counts, strict=True)] == rows_of_sql[:K_BAR]
    print(f"  same counts as plain SQL: {same and histogram.next_count == rows_of_sql[K_BAR][1]}")
    print("  targets: top_k within 1.05× in time and 1.10× in memory; contribution within 3×")


def spark(path: str) -> None:
    """The same data and question on Spark in local mode: the same answer, and how long it takes."""
    import ibis
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    table = ibis.pyspark.connect(session).read_parquet(path)
    for contribution in (None, CONTRIBUTION):
        seconds, histogram = [], Histogram.from_counts({}, 1)
        for _ in range(3):
            start = time.perf_counter()
            histogram = counted(open_source(table), contribution)
            seconds.append(time.perf_counter() - start)
        here = counted(open_source(path), contribution)
        same = (here.items, here.counts, here.next_count) == (histogram.items, histogram.counts, histogram.next_count)
        print(f"  Spark, contribution={contribution}: {statistics.median(seconds):.1f} s; same as DuckDB: {same}")
    session.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--spark", action="store_true", help="also run Spark in local mode")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "zipf.parquet")
        make(path, chosen.rows)
        report(path, chosen.rows, chosen.repetitions)
        if chosen.spark:
            spark(path)


if __name__ == "__main__":
    main()
