"""The top k of every group on real data: one question with `by`, one question for each group, thresholds of OpenDP.

    python -m reproduction.by_group [--data FOLDER] [--retail FOLDER]
    python -m reproduction.by_group --render

`--retail` is a folder of daily CSV files of UCI Online Retail (CC BY 4.0), with country and time.
Writes docs/results/groups.json and, from it, groups.md. Whatever draws at random is drawn ten times; means are shown.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from statistics import mean
from typing import Any, TypeAlias

import numpy as np
import pyarrow

import crestline as cl
from crestline.histogram.histogram import Histogram
from crestline.histogram.histogram_table import HistogramTable
from crestline.mechanisms.in_groups import InGroups
from crestline.mechanisms.privacy_total import PrivacyTotal
from crestline.randomness.entropy import replay
from reproduction.data import shelf
from reproduction.peers.setting import Setting
from reproduction.peers.thresholds import noisy_top

K, EPSILON, DELTA = 5, 1, Fraction(1, 10**8)
BOUNDS = (1, 2, 3, 5, 10)
TRIALS = 10
RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results"
PAGE, KEPT = RESULTS / "groups.md", RESULTS / "groups.json"

Triples: TypeAlias = set[tuple[object, str, str]]  # a user, a group, an item
Named: TypeAlias = Mapping[str, Collection[str]]  # the items that were named in each group


@dataclass(frozen=True)
class Data:
    """Who has which item in which group, and how the groups were made."""

    name: str
    by: str
    triples: Triples

    @cached_property
    def ordered(self) -> list[tuple[object, str, str]]:
        """The triples in an order that is the same in every run."""
        return sorted(self.triples, key=str)

    @property
    def groups(self) -> int:
        return len({group for _, group, _ in self.triples})

    @property
    def table(self) -> pyarrow.Table:
        users, groups, items = zip(*self.ordered, strict=True)
        return pyarrow.table({"user": [str(user) for user in users], "group": groups, "item": items})

    def best(self) -> dict[str, set[str]]:
        """The true best items of every group: as many users as the k-th, or more."""
        result = {}
        for group, counts in counted(self.triples).items():
            last = sorted(counts.values())[-K:][0]
            result[group] = {item for item, count in counts.items() if count >= last}
        return result


@dataclass(frozen=True)
class Found:
    """What a way returned: groups listed, items named, how many of them are among the true best of their group."""

    groups: float
    named: float
    right: float

    @classmethod
    def of(cls, runs: Sequence[Named], best: Mapping[str, set[str]]) -> Found:
        right = [sum(len(best[group] & set(items)) for group, items in run.items()) for run in runs]
        listed = [sum(bool(items) for items in run.values()) for run in runs]
        return cls(mean(listed), mean(sum(map(len, run.values())) for run in runs), mean(right))


def counted(triples: Triples) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for _, group, item in triples:
        found[group][item] += 1
    return found


def asked(
    data: Data, groups_per_user: int, contribution: int | None, passes: int | None = None, mechanism: str = "auto"
) -> Found:
    """One question with `by`, put to crestline itself."""
    table = data.table
    runs = [
        cl.top_k(table, user="user", item="item", by="group", k=K, epsilon=EPSILON, delta=DELTA, passes=passes,
                 mechanism=mechanism, groups_per_user=groups_per_user, contribution=contribution,
                 entropy=replay(f"by {trial}"))
        for trial in range(TRIALS)
    ]  # fmt: skip
    return Found.of([{str(g): part.items for g, part in answer.groups.items()} for answer in runs], data.best())


def one_by_one(data: Data) -> Found:
    """One question for each group, the budget divided over all of them by the tightest accountant."""
    family = InGroups.fit_within(cl.mechanisms.RestrictedGumbel.fit, PrivacyTotal(K, EPSILON, DELTA), data.groups)
    slots = family.mechanism.k_bar or K
    parts = {group: Histogram.from_counts(counts, slots) for group, counts in counted(data.triples).items()}
    table = HistogramTable.from_histograms(parts.items())
    runs = [family.release([table], replay(f"one {trial}")) for trial in range(TRIALS)]
    return Found.of([{group: part.items for group, part in run.groups} for run in runs], data.best())


def thresholds(data: Data, groups_per_user: int, bound: int, noise: str) -> Found:
    """OpenDP: thresholded counts of (group, item), of users in at most so many of them; the k largest of each group."""
    runs = []
    for trial in range(TRIALS):
        counts = counted(kept(data.ordered, groups_per_user, bound, np.random.default_rng(trial)))
        pairs = [(group, item, count) for group, items in counts.items() for item, count in items.items()]
        setting = Setting(float(EPSILON), float(DELTA), groups_per_user * bound, noise, len(pairs))
        named: dict[str, list[str]] = defaultdict(list)
        for place in noisy_top([count for _, _, count in pairs], setting):
            group, item, _ = pairs[place]
            named[group] += [item] if len(named[group]) < K else []
        runs.append(named)
    return Found.of(runs, data.best())


def kept(
    triples: Iterable[tuple[object, str, str]], groups_per_user: int, bound: int, chance: np.random.Generator
) -> Triples:
    """At most so many groups of each user and items of each user and group, at random."""
    by_user: dict[object, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for user, group, item in triples:
        by_user[user][group].append(item)
    return {
        (user, group, item)
        for user, groups in by_user.items()
        for group in _some(sorted(groups), groups_per_user, chance)
        for item in _some(groups[group], bound, chance)
    }


def _some(values: Sequence[str], most: int, chance: np.random.Generator) -> list[str]:
    return [values[place] for place in chance.permutation(len(values))[:most]]


def steam(folder: Path) -> Data:
    import duckdb

    rows = duckdb.read_parquet(str(folder / "STEAM_PURCHASES.events.parquet"))
    return Data("STEAM_PURCHASES", "first letter", set(rows.project('"user", upper(left(item, 1)), item').fetchall()))


def retail(folder: Path) -> Iterator[Data]:
    import duckdb

    rows = duckdb.read_csv(str(folder / "*.csv"), all_varchar=True)
    rows = rows.filter("CustomerID is not null and StockCode is not null")
    for by, group in (("country", "Country"), ("month", "left(InvoiceDate, 7)")):
        yield Data("Online Retail", by, set(rows.project(f"CustomerID, {group}, StockCode").fetchall()))


def lines(data: Data, groups_per_user: int) -> Iterator[tuple[str, Found]]:
    """Every way, each with the bound that is best in hindsight where it has one."""
    yield f"`by`, groups_per_user={groups_per_user}", asked(data, groups_per_user, None)
    yield sieved(data, groups_per_user)
    yield _best(f"`by`, groups_per_user={groups_per_user}, contribution", lambda b: asked(data, groups_per_user, b))
    name = f"`by`, groups_per_user={groups_per_user}, passes=1, contribution"
    yield _best(name, lambda b: asked(data, groups_per_user, b, passes=1))
    if groups_per_user == 1:
        yield f"{data.groups} questions with `where`", one_by_one(data)
    for noise in ("laplace", "gaussian"):
        name = f"OpenDP thresholds, {noise}, {groups_per_user} × bound"
        yield _best(name, lambda b, noise=noise: thresholds(data, groups_per_user, b, noise))  # type: ignore[misc] # mypy infers no default


def sieved(data: Data, groups_per_user: int) -> tuple[str, Found]:
    """The sieve, which finds a bound of its own."""
    name = f"`by`, groups_per_user={groups_per_user}, mechanism=Sieve"
    return name, asked(data, groups_per_user, None, mechanism="Sieve")


def _best(name: str, way: Callable[[int], Found]) -> tuple[str, Found]:
    found = {bound: way(bound) for bound in BOUNDS}
    bound = max(found, key=lambda bound: found[bound].right)
    return f"{name} ({bound})", found[bound]


OPENING = """<!-- Written by `python -m reproduction.by_group`; do not edit. -->

# Groups on real users

The top {k} of every group at (ε, δ) = ({epsilon}, {delta}), each user protected with all their rows. *Items named*
counts all groups together; *of the true best* how many of them are among the true top {k} of their group, over all
users and without any bound. Means of {trials} runs.

- `by` is one question to crestline; with `contribution` the bound that finds most of the true best, in brackets: a
  choice in hindsight, for all ways alike. `auto` then takes thresholds over all observed items (`Observed`), and with
  `passes=1` noise on the top counts of each group. `mechanism=Sieve` needs no bound, and nothing in hindsight.
- One question for each group with `where` has to divide the budget, because a user may be in any number of groups: here
  by the tightest accountant, with the mechanism that `by` takes.
- OpenDP: `make_laplace_threshold` and `make_gaussian_threshold` over all (group, item) pairs, which is what its
  group-by with unknown keys releases, at the least scale and threshold that its own privacy map allows; users keep as
  many groups, and in each of them at most the bound.

YELP_REVIEWS_5CORE has no city, so it is not here. The tables of Online Retail are from before `Observed` and `Sieve`
could be run in groups.

**What comes out.** One question with `by` finds twice as many of the true best as one question for each group, and on
Online Retail, where users have many items each, it is the only way that finds more than a handful. On STEAM_PURCHASES a
bound of one item helps everybody. With it `by` finds as many as OpenDP's Laplace threshold where each user counts in
one group (OpenDP's noise is drawn afresh in every run of this page, and its figures move by a few tenths). Where a user
counts in three groups `by` is ahead by three items: it takes Gaussian noise, whose σ and threshold are computed for all
groups of a user at once, each with the whole δ ([proof](../proofs/observed.md)). Without any bound the sieve finds a
third more than `auto` where each user counts in one group, and, where each counts in three, as many as the best bound
does, which nobody knows beforehand.
"""


def measured(data: Data, groups_per_user: int) -> dict[str, Any]:
    """One table: what the data are, and what every way found."""
    rows = []
    for way, found in lines(data, groups_per_user):
        sys.stderr.write(f"  {data.name} by {data.by}: {way} {found}\n")
        rows.append([way, found.groups, found.named, found.right])
    return {
        "data": data.name,
        "by": data.by,
        "groups_per_user": groups_per_user,
        "users": len({user for user, _, _ in data.triples}),
        "groups": data.groups,
        "best": sum(len(best) for best in data.best().values()),
        "rows": rows,
    }


def _title(table: Mapping[str, Any]) -> str:
    return f"{table['data']} by {table['by']}, groups_per_user={table['groups_per_user']}"


def page(tables: Sequence[Mapping[str, Any]]) -> str:
    """The page, from the figures alone."""
    text = [OPENING.format(k=K, epsilon=EPSILON, delta=f"{float(DELTA):g}", trials=TRIALS)]
    for table in tables:
        text.append(
            f"\n## {_title(table)}\n\n"
            f"{table['users']:,} users, {table['groups']} groups; their true top {K} are {table['best']} items, ties "
            "included.\n\n"
            "| way | groups listed | items named | of the true best |\n| --- | ---: | ---: | ---: |"
        )
        text += [f"| {way} | {listed:.1f} | {named:.1f} | {right:.1f} |" for way, listed, named, right in table["rows"]]
    return "\n".join(text) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=None, help="the folder of the event files")
    parser.add_argument("--render", action="store_true", help="measure nothing; write the page from kept figures")
    parser.add_argument("--retail", type=Path, default=None, help="the folder of daily CSV files of Online Retail")
    chosen = parser.parse_args()
    tables = {_title(table): table for table in json.loads(KEPT.read_text())}  # data that are not there keep theirs
    for data, groups_per_user in () if chosen.render else asked_for(chosen.data, chosen.retail):
        table = measured(data, groups_per_user)
        tables[_title(table)] = table
        KEPT.write_text(json.dumps([*tables.values()], indent=1) + "\n")
    PAGE.write_text(page([*tables.values()]))
    sys.stdout.write(f"{PAGE}\n")


def asked_for(folder: str | None, sales: Path | None) -> Iterator[tuple[Data, int]]:
    """The data that are there, and in how many groups each user counts."""
    letters = steam(shelf(folder).path)
    yield letters, 1
    yield letters, 3
    for data in () if sales is None else retail(sales):
        yield data, 1


if __name__ == "__main__":
    main()
