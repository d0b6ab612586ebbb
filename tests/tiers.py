"""Which tests a gate runs. Marks say it; a test without any is in the quick tier.

Tiers, one or more for a test; a file, a class or a test has them in its own marks, a whole folder here in `MARKS`:
  slow         takes more than a few seconds
  statistics   draws many times, and compares what was drawn with a law; or attacks a mechanism, or a whole source
  engines      needs a server, a browser or a process beside this one, or repeats a suite of one engine on another
  mechanics    tests what is beside the package: tools, experiments, the benchmark's own code
  long         takes more than 0.15 s of processor time

What `make test` leaves to `make test-all`:
  full         the test as a whole
  sample(n=1)  all cases but n of each parametrised function; which ones depends on the number of commits, so that every
               case has its turn
  sample(of="way")  the same for each combination of the other parameters: all values but one of the parameter `way`

Gates (`pytest --gate`): `all`; `test`, what `make test` runs; `quick`, of those the tests without a mark; `quarter`, a
quarter of what `make test` leaves out, which turns with the number of commits as well.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import NamedTuple
from zlib import crc32

import pytest

TIERS = {"slow", "statistics", "engines", "mechanics", "long"}
GATES = ("all", "test", "quick", "quarter")
SERVERS = {"mariadb_url", "postgres_url", "postgres_database"}
"""Fixtures that start a server: what uses one is of the tier `engines`."""

MARKS = {
    "tests/audit": "statistics",
    "tests/benchmarks": "mechanics",
    "tests/reproduction": "mechanics",
    "tests/tools": "mechanics",
    "tests/sources/lakes": "engines",
    "tests/web/pages": "long",
    "tests/web/pages/browser": "engines",
}

_SHOWN = 8
"""Files that a summary names."""

# Whose tests one worker runs as a whole, because they share what is costly to start.
_TOGETHER = ("tests/web/pages/browser",)
# Whose tests are long and share nothing: workers divide them among themselves.
_APART = (
    "tests/audit",
    "tests/cli/test_audit.py",
    "tests/ledger/test_crowd.py",
    "tests/ledger/test_killed.py",
    "tests/ledger/test_machine.py",
    "tests/ledger/test_machine_periods.py",
    "tests/mechanisms/observed",
    "tests/mechanisms/routes/test_routed.py",
    "tests/reproduction",
    "tests/sources/files/test_lines.py",
    "tests/sources/test_pairs_embedded.py",
    "tests/sources/test_pairs_files.py",
    "tests/sources/test_pairs_values.py",
    "tests/tools",
    "tests/web/api/test_openapi.py",
    "tests/web/test_processes.py",
)


def tiers_of(item: pytest.Item) -> set[str]:
    """The tiers of a test: its own marks, those of its folder, and `engines` for what uses a server."""
    found = {mark.name for mark in item.iter_markers()} & TIERS
    found |= {mark for place, mark in MARKS.items() if _is_in(item.nodeid, (place,))}
    return found | ({"engines"} if SERVERS & set(getattr(item, "fixturenames", ())) else set())


def together(name: str) -> str:
    """The group of a test: one worker runs a group as a whole. It is a file, unless a table above says otherwise."""
    for place in _TOGETHER:
        if _is_in(name, (place,)):
            return place
    return name if _is_in(name, _APART) else name.partition("::")[0]


def _is_in(name: str, places: tuple[str, ...]) -> bool:
    path = name.partition("::")[0]
    return any(path == place or path.startswith(f"{place}/") for place in places)


class Choice(NamedTuple):
    """What a gate runs, and what it leaves out."""

    run: list[pytest.Item]
    left_out: list[pytest.Item]


def choose(items: Iterable[pytest.Item], gate: str, turn: int, quarter: int | None = None) -> Choice:
    """The tests of a gate, in their order. `turn` (the number of commits) says which quarter unless `quarter` does."""
    every = list(items)
    chosen = set(every)
    if gate in ("test", "quick"):
        chosen = _of_make_test(every, turn)
    if gate == "quick":
        chosen = {item for item in chosen if not tiers_of(item)}
    if gate == "quarter":
        left = chosen - _of_make_test(every, turn)
        chosen = {
            item
            for function, cases in _by_function(item for item in every if item in left).items()
            for number, item in enumerate(cases)
            if (crc32(function.encode()) + number) % 4 == (turn if quarter is None else quarter) % 4
        }
    return Choice([item for item in every if item in chosen], [item for item in every if item not in chosen])


def _of_make_test(items: list[pytest.Item], turn: int) -> set[pytest.Item]:
    """All but the tests marked `full`, and n cases of each function that is marked `sample`."""
    chosen = set[pytest.Item]()
    for function, cases in _by_function(items).items():
        here = [item for item in cases if item.get_closest_marker("full") is None]
        sample = here[0].get_closest_marker("sample") if here else None
        if sample is None:
            chosen.update(here)
            continue
        for number, some in enumerate(_alike_but_for(sample.kwargs.get("of"), here)):
            most = min(sample.kwargs.get("n", 1), len(some))
            start = crc32(function.encode()) + number + turn * most  # another one in each engine, and after each commit
            chosen.update(some[(start + place) % len(some)] for place in range(most))
    return chosen


def _alike_but_for(parameter: str | None, cases: list[pytest.Item]) -> list[list[pytest.Item]]:
    """The cases of a function in groups that differ in one parameter alone; in one group if none is given."""
    if parameter is None:
        return [cases]
    groups = defaultdict[object, list[pytest.Item]](list)
    for item in cases:
        places: dict[str, int] = item.callspec.indices  # type: ignore[attr-defined] # of pytest.Function
        groups[frozenset(place for place in places.items() if place[0] != parameter)].append(item)
    return [*groups.values()]


def _by_function(items: Iterable[pytest.Item]) -> dict[str, list[pytest.Item]]:
    """The cases of each function; its name is that of the file, the class and the function."""
    cases = defaultdict[str, list[pytest.Item]](list)
    for item in items:
        cases[item.nodeid.partition("[")[0]].append(item)
    return cases


def summary(gate: str, turn: int, left_out: Counter[str]) -> list[str]:
    """What a gate ran and what it left out, for people; `left_out` counts tests by file."""
    ran = {
        "all": "Every test.",
        "test": f"What `make test` runs, with the samples of commit {turn}.",
        "quick": "The quick tier: tests without a mark.",
        "quarter": f"Quarter {turn % 4 + 1} of 4 of what only `make test-all` runs, by the number of commits, {turn}.",
    }[gate]
    if not left_out or gate == "quarter":
        return [ran]
    where = "`make test-all` runs them" if gate == "test" else "`make test` or `make test-all` runs them"
    files = [f"{count:5,}  {file}" for file, count in left_out.most_common(_SHOWN)]
    others = sum(count for _, count in left_out.most_common()[_SHOWN:])
    more = [f"{others:5,}  in {len(left_out) - _SHOWN} other files"] if others else []
    return [ran, f"Left out: {left_out.total():,} tests; {where}", *files, *more]
