"""Questions that read all pairs of users and items, against the same question in plain SQL, with bounds.

Rows whose users and items are text ids by Zipf laws (a twentieth and a fiftieth as many as rows, 20 groups), as a file
of Parquet and as a table of DuckDB. Each way runs in pairs with plain SQL, which of them comes first changing every
time, and the median of the ratios of processor time (of all threads) counts. Peak memory is that of fresh processes,
which read Parquet.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb

import crestline as cl
from benchmarks.measuring import Row, spread
from benchmarks.sources import PLAIN, paired, peak_megabytes

TITLE = "All pairs of users and items"
ACROSS = ()
SIZES, QUICK_SIZES = (10**6, 5 * 10**6), (10**4,)
TIMES, PEAKS = 3, 2
SLOTS, AUTO, SIEVE = "slots, k = 100", "`auto`, k = 20", "`Sieve`, k = 100"
COUNTED, GROUPS = "`Sieve`, k = 100, counts", "`Sieve`, k = 10, 20 groups"
BOUNDS = {SLOTS: 1.3, AUTO: 1.3, SIEVE: 1.6, COUNTED: 1.6, GROUPS: 1.7}

Way = Callable[[str], Any]


def make(path: Path, rows: int) -> None:
    """Write the rows as Parquet, and as the table `events` of a file of DuckDB beside it."""
    drawn = "(hash(i + {} * {}) / 18446744073709551616.0)".format
    users, items = rows // 20, rows // 50
    with duckdb.connect(str(path.with_suffix(".duckdb"))) as connection:
        connection.execute(f"""
            create table events as
            select format('user-{{:08x}}', hash(u) % 4294967296) as "user",
                   'item ' || hash(item) % {10 * items} as item,
                   'g' || (u * 7 + if({drawn(2, rows)} < .2, floor({drawn(3, rows)} * 20)::bigint, 0)) % 20 as grp
            from (select i, floor(pow({drawn(0, rows)}, 2) * {users})::bigint as u,
                         floor(exp({drawn(1, rows)} * ln({items} + 1)))::bigint as item from range({rows}) as rows(i))
        """)
        connection.execute(f"copy events to '{path}' (format parquet)")


def plain_sql(query: str) -> Way:
    """A query of the rows as an analyst would write it, without privacy."""

    def ask(path: str) -> Any:
        table = f"read_parquet('{path}')" if path.endswith(".parquet") else "events"
        with duckdb.connect(":memory:" if path.endswith(".parquet") else path) as connection:
            return connection.execute(query.format(table=table)).fetchall()

    return ask


def asked(**options: Any) -> Way:
    def ask(path: str) -> Any:
        table = None if path.endswith(".parquet") else "events"
        return cl.top_k(path, table=table, epsilon=1, delta=Fraction(1, 10**8), **options)

    return ask


ALONE = plain_sql(
    'select item, count(distinct "user") as n from {table} where "user" is not null and item is not null '
    "group by item order by n desc, item limit 1001"
)
BY_GROUP = plain_sql(
    'select grp, item, count(distinct "user") as n from {table} where "user" is not null and item is not null '
    "group by grp, item qualify row_number() over (partition by grp order by n desc, item) <= 11"
)
WAYS: dict[str, Way] = {
    PLAIN: ALONE,
    SLOTS: asked(k=100, k_bar=1000, mechanism="RestrictedGumbel"),
    AUTO: asked(k=20),
    SIEVE: asked(k=100, mechanism="Sieve"),
    COUNTED: asked(k=100, mechanism="Sieve", counts=True),
    GROUPS: asked(k=10, mechanism="Sieve", by="grp"),
}


def measure(quick: bool) -> Iterator[Row]:
    for rows in QUICK_SIZES if quick else SIZES:
        with tempfile.TemporaryDirectory(prefix="crestline-bench-") as folder:
            path = Path(folder) / f"{rows}.parquet"
            make(path, rows)
            peaks = peak_megabytes(path, 1 if quick else PEAKS, __name__)
            for file in (path, path.with_suffix(".duckdb")):
                for way in BOUNDS:
                    ways = {PLAIN: BY_GROUP if way == GROUPS else ALONE, way: WAYS[way]}
                    found = paired(file, way, 1 if quick else TIMES, ways)
                    yield Row(
                        way,
                        {"data": "Parquet" if file == path else "DuckDB", "rows": rows},
                        **spread([pair.other[0] for pair in found]),
                        exact=True,
                        cryptographic=True,
                        extra={
                            "processor": statistics.median(pair.busy for pair in found),
                            "bound": BOUNDS[way],
                            "ratio": statistics.median(pair.ratio for pair in found),
                            **_memory(peaks, way if file == path else None),
                        },
                    )


def _memory(peaks: dict[str, list[float]], way: str | None) -> dict[str, float]:
    if way is None:
        return {}
    return {"megabytes": statistics.median(peaks[way]), "plain_megabytes": statistics.median(peaks[PLAIN])}


def words(rows: list[Row]) -> list[str]:
    """Which bounds were met, and which were not."""
    above = [row for row in rows if row.extra["processor"] > row.extra["bound"]]
    said = [
        f"{row.who}, {row.setting['data']}, {row.setting['rows']:,} rows: {row.extra['processor']:.2f} times the "
        f"processor time of plain SQL, above the bound of {row.extra['bound']}."
        for row in above
    ]
    return [f"{len(rows) - len(above)} of {len(rows)} bounds are met.", *said]
