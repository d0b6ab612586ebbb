"""The top k of every group: one question against one question for each group, and the release alone against NumPy.

2·10^6 rows of Parquet on DuckDB, 200 groups of different sizes, each user mostly in one of them. The release alone:
10,000 groups of 100 slots, against plain Gumbel noise on as many numbers and the five largest of each row.
"""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import crestline as cl
from benchmarks.measuring import Row, human, interleaved, spread
from crestline.histogram.histogram_table import HistogramTable, build_ranked_table
from crestline.histogram.observed_table import ObservedTable
from crestline.randomness.entropy import system

TITLE = "The top k of every group"
ACROSS = ()
ROWS, QUICK_ROWS, GROUPS, QUICK_GROUPS = 2 * 10**6, 10**4, 10**4, 10**2
MANY, SLOTS, K = 200, 100, 5
FLAT, BY, ONE = "no groups, contribution=3", 'by="group", contribution=3', "one group by `where`, contribution=3"
PLAIN = "plain NumPy Gumbel over all groups"
MECHANISMS = ("LimitedDomain", "RestrictedGumbel", "LimitedDomainGauss", "CanonicalBottom")
TOTAL: dict[str, Any] = {"k": K, "epsilon": 1, "delta": "1e-8", "contribution": 3}


def make(path: Path, rows: int) -> None:
    """Users with a home group, in which four of five of their rows are; sizes of groups and items fall off."""
    import pyarrow
    from pyarrow import parquet

    chance = np.random.default_rng(15)
    users = chance.integers(0, max(10, rows // 10), rows)
    home = (users * 2654435761 % MANY) ** 2 // MANY
    group = np.where(chance.random(rows) < 0.8, home, chance.integers(0, MANY, rows))
    items = (chance.random(rows) ** 4 * max(10, rows // 20)).astype(np.int64)
    parquet.write_table(pyarrow.table({"user": users, "item": items, "group": group}), path)


def table(groups: int) -> HistogramTable:
    counts = -np.sort(-np.random.default_rng(16).integers(1, 1000, (groups, SLOTS + 1)), axis=1)
    starts = np.arange(groups + 1) * (SLOTS + 1)
    return build_ranked_table(range(groups), starts, counts.ravel(), SLOTS, lambda row: row)


def observed(histograms: HistogramTable) -> ObservedTable:
    """The same counts as numbers of users of all observed items, in classes of equal ones."""
    edges = np.diff(histograms.array, axis=1, prepend=0) != 0
    row, first = np.nonzero(edges)
    starts = np.searchsorted(row, np.arange(len(histograms) + 1))
    ends = np.where(np.append(row[1:] != row[:-1], True), SLOTS, np.append(first[1:], SLOTS))
    return ObservedTable(histograms.groups, starts, histograms.array[edges], ends - first, lambda picks: picks)


def plain(counts: np.ndarray[Any, Any], chance: np.random.Generator) -> None:
    noisy = counts * 0.1 + chance.gumbel(size=counts.shape)
    first = np.argpartition(-noisy, K, axis=1)[:, :K]
    np.take_along_axis(first, np.argsort(-np.take_along_axis(noisy, first, axis=1), axis=1), axis=1)


def measure(quick: bool) -> Iterator[Row]:
    rows, groups = (QUICK_ROWS, QUICK_GROUPS) if quick else (ROWS, GROUPS)
    with tempfile.TemporaryDirectory(prefix="crestline-bench-") as folder:
        path = Path(folder) / "rows.parquet"
        make(path, rows)
        ask = partial(cl.top_k, str(path), user="user", item="item", **TOTAL)
        works = {FLAT: ask, BY: partial(ask, by="group"), ONE: partial(ask, where='"group" = 1')}
        for who, times in interleaved(works, 2 if quick else 9).items():
            yield Row(who, {"rows": rows, "groups": MANY}, **spread(times), exact=True, cryptographic=True)
    yield from released(groups, 2 if quick else 20)


def released(groups: int, times: int) -> Iterator[Row]:
    """Every release of all groups at once, without the database."""
    histograms, entropy, chance = table(groups), system(), np.random.default_rng(17)
    scores = observed(histograms)
    works: dict[str, Any] = {PLAIN: partial(plain, histograms.array, chance)}
    for name in MECHANISMS:
        made = getattr(cl.mechanisms, name).for_budget(k_bar=SLOTS, **TOTAL)
        works[f"`{name}`, all groups at once"] = partial(made.release_each, histograms, entropy)
    for noise in ("gaussian", "laplace"):
        threshold = cl.mechanisms.Observed.for_budget(noise=noise, **TOTAL)
        works[f"`Observed`, {noise}, all groups at once"] = partial(threshold.release_each, scores, entropy)
    gc.collect()
    gc.freeze()  # else the collector looks through what the questions before left behind, in whichever work it starts
    for who, found in interleaved(works, times).items():
        ours = who != PLAIN
        yield Row(who, {"groups": groups, "slots": SLOTS}, **spread(found), exact=ours, cryptographic=ours)


def words(rows: list[Row]) -> list[str]:
    """How the bounds that matter were met."""
    took = {row.who: row.median for row in rows if row.median is not None}
    said = []
    if {FLAT, BY, ONE} <= took.keys():
        said.append(
            f"All {MANY} groups take {took[BY] / took[FLAT]:.2f} times one question without groups (the bound is 2.5), "
            f"and {MANY * took[ONE] / took[BY]:.0f} times less than {MANY} questions (the bound is 10)."
        )
    for who in took:
        if who.endswith("all groups at once") and PLAIN in took:
            said.append(f"{who}: {took[who] / took[PLAIN]:.1f} times plain NumPy (the bound is 5), {human(took[who])}.")
    return said
