"""The figures, their ceilings and goals.

    scripts/house             prints every figure, and fails when one is above its ceiling
    scripts/house --all       the same with everything that is counted

A ceiling is what has been reached so far: a figure may become better, and then its ceiling is lowered here. At its goal
a figure has no ceiling of its own any more.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.house import figures
from tools.house.cycles import cycles
from tools.house.rooms import silent_cases

SOURCE = Path(__file__).resolve().parents[2] / "src" / "crestline"


@dataclass(frozen=True)
class Figure:
    """Something that is counted in the source; `ceiling` is where it stands, `goal` where it shall go."""

    name: str
    found: Callable[[Path], Sequence[str]]
    ceiling: int
    goal: int


FIGURES = (
    Figure("functions outside commands with more than 7 parameters", figures.wide_functions, 0, 0),
    Figure("mechanism: Any", figures.any_mechanisms, 0, 0),
    Figure("annotations that are Any", figures.any_annotations, 14, 14),
    Figure("hasattr and getattr on mechanisms, outside adopt and audit", figures.probes, 0, 0),
    Figure("folders with more than 12 modules", figures.crowded_folders, 0, 0),
    Figure("modules in the largest folder", figures.largest_folder, 12, 12),
    Figure("package cycles, imports inside functions included", cycles, 0, 0),
    Figure("notes to the mutation runner", figures.notes_to_tools, 0, 0),
    Figure("cases of the import test that assert nothing", silent_cases, 0, 0),
    Figure("modules of tests whose types are not checked", figures.unchecked_tests, 0, 0),
)


def main(arguments: Sequence[str], source: Path = SOURCE) -> int:
    worse = 0
    for figure in FIGURES:
        found = figure.found(source)
        ceiling = max(figure.ceiling, figure.goal)
        worse += len(found) > ceiling
        print(f"{len(found):5d}  {figure.name}{_remark(len(found), ceiling, figure.goal)}")
        for one in found if "--all" in arguments or len(found) > ceiling else ():
            print(f"         {one}")
    return 1 if worse else 0


def _remark(now: int, ceiling: int, goal: int) -> str:
    if now > ceiling:
        return f"  (TOO MANY: at most {ceiling}, see tools/house/__main__.py)"
    if now <= goal:
        return "" if ceiling == goal else f"  (goal reached: the ceiling of {ceiling} can go)"
    return f"  (goal {goal}" + (f"; lower the ceiling of {ceiling})" if now < ceiling else ")")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
