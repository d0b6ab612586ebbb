"""Which test functions of an earlier commit a gate holds no more.

    git worktree add /tmp/before COMMIT; (cd /tmp/before && pytest -q --collect-only > /tmp/before.txt)
    pytest -q --collect-only --gate test > now.txt
    python -m tools.held /tmp/before.txt now.txt [--cases] [MAP.csv]

With `--cases` every case must be held, not each function; cases of a function that has at least as many as before,
with other parameters in their names, are held. A line of the map (tests/renamed.csv where none is given) is
`old,new,reason`: a file, a function or a case, and where it is held today. It counts only for what is not held under
its own name. Where the new name is empty it is held no more on purpose; such functions are printed, and are no fault.
Lines are applied one after the other: the old name of a function in a renamed file has the new name of the file.
"""

from __future__ import annotations

import csv
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

RENAMED = Path(__file__).resolve().parents[1] / "tests" / "renamed.csv"


class Renamed(NamedTuple):
    """Where a file, a function or a case is held today; an empty name: nowhere, for that reason."""

    new: str
    reason: str


class Lost(NamedTuple):
    """Functions, or cases, that are held no more, with the number of cases each had."""

    missing: Counter[str]
    removed: Counter[tuple[str, str]]
    """By name and reason."""
    other_ids: int
    """Cases whose function has at least as many cases as before, under other names."""


def collected(path: str) -> list[str]:
    """The names of tests in the output of `pytest -q --collect-only`."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.startswith("tests/") and "::" in line]


def read_map(path: Path) -> dict[str, Renamed]:
    """Today's names, or reasons, by old name."""
    with path.open(newline="", encoding="utf-8") as rows:
        return {old: Renamed(new, reason) for old, new, reason in csv.reader(rows)}


def rename(test: str, held: set[str], renamed: dict[str, Renamed]) -> Renamed:
    """Where a test is held; an empty name, and a reason, if nowhere."""
    for part in (test, _function(test), test.partition("::")[0]):
        if part in renamed and test not in held:
            row = renamed[part]
            return rename(row.new + test[len(part) :], held, renamed) if row.new else row
    return Renamed(test, "")


def lost(before: list[str], now: list[str], renamed: dict[str, Renamed], cases: bool) -> Lost:
    """What of `before` is not in `now`."""
    held, found = {test if cases else _function(test) for test in now}, Lost(Counter(), Counter(), 0)
    names = [(test, rename(test if cases else _function(test), held, renamed)) for test in before]
    functions, functions_before = Counter(map(_function, now)), Counter(_function(today.new) for _, today in names)
    other_ids = 0
    for test, today in names:
        if not today.new:
            found.removed[_function(test), today.reason] += 1
        elif today.new not in held:
            function = _function(today.new)
            if functions[function] >= functions_before[function]:
                other_ids += 1
            else:
                found.missing[today.new] += 1
    return found._replace(other_ids=other_ids)


def _function(test: str) -> str:
    return test.partition("[")[0]


def main(arguments: list[str]) -> int:
    cases = "--cases" in arguments
    before, now, *maps = [one for one in arguments if one != "--cases"]
    renamed = {old: row for path in [*map(Path, maps)] or [RENAMED] for old, row in read_map(path).items()}
    found = lost(collected(before), collected(now), renamed, cases)
    for (name, reason), many in sorted(found.removed.items()):
        print(f"{many:5}  {name}: {reason}")
    print(f"{found.removed.total()} cases of {len(found.removed)} functions are held no more on purpose")
    if cases:
        print(f"{found.other_ids} cases have other names; their functions have at least as many cases as before")
    for name, many in sorted(found.missing.items()):
        print(f"{many:5}  {name}")
    names = len(found.missing)
    print(f"{found.missing.total()} of {len(collected(before))} cases, in {names} names, are held no more")
    return 1 if names else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
