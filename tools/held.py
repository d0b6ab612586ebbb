"""Which test functions of an earlier commit a gate holds no more.

    git worktree add /tmp/before COMMIT; (cd /tmp/before && pytest -q --collect-only > /tmp/before.txt)
    pytest -q --collect-only --gate test > now.txt
    python -m tools.held /tmp/before.txt now.txt [--cases] [RENAMED.csv]

A line of RENAMED.csv is `old,new`, two full names of tests. With `--cases` every case must be held, not each function.
"""

from __future__ import annotations

import csv
import sys
from collections import Counter
from pathlib import Path


def collected(path: str) -> list[str]:
    """The names of tests in the output of `pytest -q --collect-only`."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.startswith("tests/") and "::" in line]


def lost(before: list[str], now: list[str], renamed: dict[str, str], cases: bool) -> Counter[str]:
    """Functions, or with `cases` tests, that are held no more, each with its number of cases before."""
    held = {_name(test, cases) for test in now}
    return Counter(name for test in before if (name := _name(renamed.get(test, test), cases)) not in held)


def _name(test: str, cases: bool) -> str:
    return test if cases else test.partition("[")[0]


def main(arguments: list[str]) -> int:
    before, now, *maps = [one for one in arguments if one != "--cases"]
    renamed = dict[str, str]()
    for path in maps:
        with open(path, newline="", encoding="utf-8") as rows:
            renamed |= {row[0]: row[1] for row in csv.reader(rows)}
    missing = lost(collected(before), collected(now), renamed, "--cases" in arguments)
    for name, many in sorted(missing.items()):
        print(f"{many:5}  {name}")
    print(f"{missing.total()} of {len(collected(before))} cases, in {len(missing)} names, are held no more")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
