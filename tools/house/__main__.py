"""The figures, their ceilings and goals.

    scripts/house             prints every figure, and fails when one is above its ceiling
    scripts/house --all       the same with everything that is counted

A ceiling is the lowest value so far. A commit that improves a figure lowers its ceiling here. A commit that makes a
figure worse raises its ceiling and states a new reason; a ceiling that is raised without a new reason fails. At its
goal a figure needs no ceiling.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.house import figures, traces
from tools.house.ceilings import previous_text, raised_without_reason
from tools.house.cycles import cycles

SOURCE = Path(__file__).resolve().parents[2] / "src" / "crestline"


@dataclass(frozen=True)
class Figure:
    """A count of the source: a number, or a list of what is counted.

    `reason` states why the ceiling was last raised.
    """

    name: str
    count: Callable[[Path], float | Sequence[str]]
    ceiling: float
    goal: float
    reason: str = ""


FIGURES = (
    Figure(
        "lines, templates and styles included",
        figures.lines,
        54_300,
        42_000,
        reason="SQL, assistants, a client, free counts, new pages, deadlines, and claims in the ledger are new",
    ),
    Figure(
        "files", figures.files, 439, 260, "packages for SQL, assistants, the client and the access to a service are new"
    ),
    Figure(
        "functions",
        figures.functions,
        4_119,
        3_100,
        reason="the features of the lines above, and one that waits for others who make a file",
    ),
    Figure("per cent of lines that are imports", figures.import_share, 10.1, 6.5),
    Figure("functions named by a participle alone", figures.participles, 7, 7),
    Figure("modules that one other module imports", figures.imported_once, 113, 30),
    Figure("annotations outside sources that are an alias of Any", figures.any_aliases, 86, 60),
    Figure("names of mechanisms outside mechanisms and prepare/auto_rules.py", figures.mechanism_names, 7, 0),
    Figure("modules that read question.by", figures.readers_of_by, 18, 4),
    Figure(
        "functions that a second top_k runs",
        traces.functions_of_top_k,
        475,
        180,
        reason="the sieve has four rounds and a count step",
    ),
    Figure("modules that a second top_k runs", traces.modules_of_top_k, 81, 40, reason="the count step has a module"),
    Figure(
        "functions that a second question over HTTP runs",
        traces.functions_of_request,
        915,
        450,
        reason="one deadline, claims, and the sieve; what a first write needs comes on top now and then",
    ),
    Figure(
        "modules that a second question over HTTP runs",
        traces.modules_of_request,
        144,
        75,
        reason="one deadline and the count step have modules; a first write needs one more now and then",
    ),
    Figure("functions outside commands with more than 7 parameters", figures.wide_functions, 0, 0),
    Figure("mechanism: Any", figures.any_mechanisms, 0, 0),
    Figure("annotations that are Any", figures.any_annotations, 14, 14),
    Figure("hasattr and getattr on mechanisms, outside third_party and audit", figures.probes, 0, 0),
    Figure("package cycles, imports inside functions included", cycles, 0, 0),
    Figure("notes to the mutation runner", figures.notes_to_tools, 0, 0),
    Figure("modules of tests whose types are not checked", figures.unchecked_tests, 0, 0),
)


def main(arguments: Sequence[str], source: Path = SOURCE) -> int:
    unexplained = raised_without_reason(previous_text(), Path(__file__).read_text(encoding="utf-8"))
    for name in unexplained:
        print(f"the ceiling of {name!r} was raised without a new reason, see tools/house/__main__.py")
    worse = len(unexplained)
    for figure in FIGURES:
        found = figure.count(source)
        listed = () if isinstance(found, int | float) else found
        number = found if isinstance(found, int | float) else len(found)
        ceiling = max(figure.ceiling, figure.goal)
        worse += number > ceiling
        print(f"{number:8,}  {figure.name}{_remark(number, ceiling, figure.goal)}")
        for one in listed if "--all" in arguments or number > ceiling else ():
            print(f"            {one}")
    return 1 if worse else 0


def _remark(now: float, ceiling: float, goal: float) -> str:
    if now > ceiling:
        return f"  (TOO MANY: at most {ceiling:,}, see tools/house/__main__.py)"
    if now <= goal:
        return "" if ceiling == goal else f"  (goal reached: the ceiling of {ceiling:,} can go)"
    return f"  (goal {goal:,}" + (f"; lower the ceiling of {ceiling:,})" if now < ceiling else ")")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
