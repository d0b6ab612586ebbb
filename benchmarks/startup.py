"""What it takes to begin: fresh processes, from an interpreter that does nothing to a command that prints its help."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from benchmarks.measuring import Row, human, interleaved, spread

TITLE = "Start-up"
ACROSS = ()
NOTHING, IMPORT, HELP = "an interpreter that does nothing", "`import crestline`", "`crestline --help`"
CODES = {
    NOTHING: ["-c", "pass"],
    IMPORT: ["-c", "import crestline"],
    HELP: ["-m", "crestline", "--help"],
    "`import numpy`": ["-c", "import numpy"],
}
BOUNDS = {IMPORT: 0.3, HELP: 0.5}


def measure(quick: bool) -> Iterator[Row]:
    works = {
        name: lambda code=code: subprocess.run([sys.executable, *code], check=True, stdout=subprocess.DEVNULL)
        for name, code in CODES.items()
    }
    for name, times in interleaved(works, 1 if quick else 15).items():
        yield Row(name, {}, **spread(times))


def words(rows: list[Row]) -> list[str]:
    at = {row.who: row.median or 0.0 for row in rows}
    return [
        f"{name} takes {human(at[name] - at[NOTHING])} beyond the bare interpreter (the bound is {human(bound)})."
        for name, bound in BOUNDS.items()
        if name in at
    ]
