"""How the time of a question grows with its rows: on DuckDB from 10^5 to 10^8, and on a Spark cluster of one and of two
workers at 10^6 and 10^7.

A line (a start, and so much for each row) is fitted to each, and drawn out to 10^11 rows under the assumptions that
docs/how-to/scale.md states. On DuckDB plain SQL and `top_k` run in pairs, one right after the other, and the median of
the ratios counts. Workers have one core each; data are made in a temporary folder, one file at a time.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.measuring import Row, human, interleaved, spread
from benchmarks.sources import PLAIN, TOP_K, paired
from benchmarks.zipf import make, plain_sql, private

TITLE = "Growth with rows, and with workers"
ACROSS = ()
SIZES = {10**5: 15, 10**6: 15, 10**7: 9, 10**8: 3}  # rows, and pairs of plain SQL and `top_k`
SPARK_SIZES = (10**6, 10**7)
WORKERS = (1, 2)
FAR = 10**11
DUCKDB = "DuckDB"


def measure(quick: bool) -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="crestline-bench-") as folder:
        yield from on_duckdb(Path(folder), {10**4: 1} if quick else SIZES)
        if not quick:
            yield from on_spark(Path(folder))


def on_duckdb(folder: Path, sizes: dict[int, int]) -> Iterator[Row]:
    for rows, pairs in sizes.items():
        path = folder / f"{rows}.parquet"
        make(path, rows)
        found = paired(path, TOP_K, pairs)
        path.unlink()
        ratio = spread([pair.ratio for pair in found])
        yield _row(PLAIN, DUCKDB, rows, [pair.plain[0] for pair in found])
        extra = {"ratio": ratio["median"], "processor": statistics.median(pair.busy for pair in found)}
        yield _row(TOP_K, DUCKDB, rows, [pair.other[0] for pair in found], extra)


def on_spark(folder: Path) -> Iterator[Row]:
    """One cluster after the other, each with a Java that compiles well: what is measured are minutes, not starts."""
    from tests.spark_cluster import cluster_settings, running_cluster, session_on

    for rows in SPARK_SIZES:
        make(folder / f"{rows}.parquet", rows)
    for workers in WORKERS:
        with running_cluster(workers, memory="3g") as url:
            settings = cluster_settings("-XX:+UseParallelGC", memory="2g")
            session = session_on(url, settings, workers=workers)
            try:
                for rows in SPARK_SIZES:
                    works = _works(session, folder / f"{rows}.parquet")
                    for name, times in interleaved(works, 3, seconds=150).items():
                        yield _row(name, _cluster(workers), rows, times)
            finally:
                session.stop()


def _works(session: Any, path: Path) -> dict[str, Any]:
    import ibis

    session.read.parquet(str(path)).createOrReplaceTempView("checkins")
    table = ibis.pyspark.connect(session).table("checkins")
    return {PLAIN: lambda: session.sql(plain_sql("checkins", "`")).collect(), TOP_K: partial(private, table)}


def _cluster(workers: int) -> str:
    return f"Spark, {workers} worker{'s' if workers > 1 else ''}"


def _row(name: str, engine: str, rows: int, times: list[float], extra: dict[str, Any] | None = None) -> Row:
    return Row(name, {"engine": engine, "rows": rows}, **spread(times), extra=extra or {})


def fitted(sizes: Sequence[int], times: Sequence[float]) -> tuple[float, float]:
    """Seconds to start, and seconds for each row: the line whose relative errors are smallest in square."""
    weights = [1 / time**2 for time in times]
    total = sum(weights)
    x = sum(w * size for w, size in zip(weights, sizes, strict=True)) / total
    y = sum(w * time for w, time in zip(weights, times, strict=True)) / total
    over = sum(w * (size - x) * (time - y) for w, size, time in zip(weights, sizes, times, strict=True))
    under = sum(w * (size - x) ** 2 for w, size in zip(weights, sizes, strict=True))
    return y - x * over / under, over / under


def words(rows: list[Row]) -> list[str]:
    """The ratios, the speed-up and the lines."""
    at = {(row.who, row.setting["engine"], row.setting["rows"]): row for row in rows}
    said = [
        f"DuckDB, {rows_of:,} rows: `top_k` takes {at[TOP_K, DUCKDB, rows_of].extra['ratio']:.3f} times plain SQL."
        for rows_of in SIZES
        if (TOP_K, DUCKDB, rows_of) in at
    ]
    one, two = (at.get((TOP_K, _cluster(workers), max(SPARK_SIZES))) for workers in WORKERS)
    if one and two and one.median and two.median:
        said.append(
            f"Spark, {max(SPARK_SIZES):,} rows: `top_k` takes {human(one.median)} with one worker and "
            f"{human(two.median)} with two, {one.median / two.median:.2f} times as fast."
        )
    return said + [_line(engine, rows) for engine in dict.fromkeys(row.setting["engine"] for row in rows)]


def _line(engine: str, rows: list[Row]) -> str:
    ours = [row for row in rows if row.who == TOP_K and row.setting["engine"] == engine and row.median]
    if len(ours) < 2:
        return f"{engine}: one size was measured, which makes no line."
    start, each = fitted([row.setting["rows"] for row in ours], [row.median or 0.0 for row in ours])
    return (
        f"{engine}: {human(max(start, 0.0))} and {each * 1e9:.0f} ns for each row; drawn out to 10^11 rows, "
        f"{(start + each * FAR) / 3600:.1f} hours on this machine, if memory did not end before."
    )


BEGIN, END = "<!-- scale: begin -->", "<!-- scale: end -->"


def fill(page: Path, kept: dict[str, Any]) -> None:
    """Write what was measured between the marks of a page."""
    rows = [Row(**row) for row in kept["rows"]]
    lines = ["", "| rows | " + " | ".join(head for head, _, _ in _columns(rows)) + " |"]
    lines.append("| ---: |" + " ---: |" * len(_columns(rows)))
    for size in sorted({row.setting["rows"] for row in rows}):
        cells = [_cell(rows, who, engine, size) for _, who, engine in _columns(rows)]
        lines.append(f"| {size:,} | " + " | ".join(cells) + " |")
    said = [f"- {sentence}" for sentence in words(rows)]
    text = page.read_text()
    before, after = text[: text.index(BEGIN) + len(BEGIN)], text[text.index(END) :]
    page.write_text("\n".join([before, *lines, "", *said, "", kept["machine"], "", after]))


def _columns(rows: list[Row]) -> list[tuple[str, str, str]]:
    pairs = dict.fromkeys((row.who, row.setting["engine"]) for row in rows)
    return [(f"{engine}: {who}", who, engine) for who, engine in pairs]


def _cell(rows: list[Row], who: str, engine: str, size: int) -> str:
    found = [row for row in rows if row.who == who and row.setting == {"engine": engine, "rows": size} and row.median]
    return human(found[0].median or 0.0) if found else ""
