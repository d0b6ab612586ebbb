"""The auditor against known-bad mechanisms and against ours, with fresh entropy: what it catches, and what it must not.

    python -m benchmarks.auditor [--runs 20] [--releases 10000] [--seconds 60] [--page docs/reference/audit-figures.md]

Every broken mechanism of tests/audit must be caught within `--seconds`; each audit of one of ours, of which there are
`--runs` for every mechanism of the catalogue, calls an honest mechanism broken with probability at most 1e-9.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from tests.audit.broken import queries
from tests.audit.ours import NAMES, made
from tests.audit.test_attack import PATIENT, QUICK
from tests.audit.test_attack import made as broken
from tests.audit.test_query_mechanisms import CAUGHT

from crestline.audit.attack import audit, pairs_to_attack
from crestline.audit.target import prepare_subject
from crestline.audit.testers.attack_limits import AttackLimits
from crestline.audit.testers.statistical import StatisticalTester
from crestline.randomness.entropy import system

SIGNIFICANCE = 1e-9
Row = tuple[str, ...]


def known_bad() -> Iterator[tuple[str, Callable[[], Any]]]:
    for name in (*QUICK, *PATIENT):
        yield name, lambda name=name: broken(name)  # type: ignore[misc] # mypy cannot type a default in a lambda
    for name in CAUGHT:
        yield f"queries:{name}", getattr(queries, name)


def caught(seconds: float) -> Iterator[Row]:
    """Each broken mechanism: the claim, what was found, and how long it took."""
    for name, make in known_bad():
        start = time.perf_counter()
        report = audit(make(), name=name, seconds=seconds, entropy=system())
        took = time.perf_counter() - start
        found = f"{report.worst.strength:.3g}" if report.worst else "nothing"
        verdict = "yes" if report.is_broken else "NO"
        yield name, verdict, f"{report.claimed:.3g}", found, f"{report.releases:,}", f"{took:.1f}"


def left_alone(runs: int, releases: int) -> Iterator[Row]:
    """Each of ours: how many audits, how many alarms, and the most that was found, as a share of the claim."""
    for name in NAMES:
        instances, start, alarms, most = made(name), time.perf_counter(), 0, 0.0
        for run in range(runs):
            tested = prepare_subject(instances[run % len(instances)], system())
            tester = StatisticalTester(SIGNIFICANCE, AttackLimits(releases, 3_600.0))
            found = tester.test(tested, pairs_to_attack(tested, seed=run))
            if found is not None:
                alarms += found.broken
                most = max(most, found.strength / tested.claim.claimed_parameter)
        yield name, str(runs), str(alarms), f"{most:.2f}", f"{time.perf_counter() - start:.0f}"


def page(bad: list[Row], ours: list[Row], runs: int, releases: int) -> str:
    return "\n".join(
        [
            "# The auditor in figures",
            "",
            "Made by `python -m benchmarks.auditor`, with fresh entropy: the numbers differ from run to run.",
            "",
            "## Known-bad mechanisms",
            "",
            "Strength in the unit of each claim, from Clopper–Pearson bounds; an honest mechanism would be called",
            "broken with probability at most 10⁻⁶.",
            "",
            "| mechanism | caught | claimed | found | releases | seconds |",
            "|---|---|---|---|---|---|",
            *("| " + " | ".join(row) + " |" for row in bad),
            "",
            "## Ours",
            "",
            f"{runs} audits of each, {releases:,} releases each; an honest mechanism is called broken with probability",
            f"at most 10⁻⁹ in each audit, and so at most {runs * len(ours) * SIGNIFICANCE:.1g} in all together.",
            "",
            "| mechanism | audits | alarms | most found, share of the claim | seconds |",
            "|---|---|---|---|---|",
            *("| " + " | ".join(row) + " |" for row in ours),
            "",
        ]
    )


def shown(title: str, columns: list[str], rows: Iterator[Row]) -> list[Row]:
    table, kept = Table(*columns, title=title), []
    for row in rows:
        table.add_row(*row)
        kept.append(row)
        print(" ".join(row), flush=True)
    Console().print(table)
    return kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--releases", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    bad = shown("broken", ["mechanism", "caught", "claimed", "found", "releases", "seconds"], caught(given.seconds))
    columns = ["mechanism", "audits", "alarms", "most found", "seconds"]
    ours = shown("ours", columns, left_alone(given.runs, given.releases))
    if given.page:
        given.page.write_text(page(bad, ours, given.runs, given.releases))
    if any(row[1] != "yes" for row in bad) or any(row[2] != "0" for row in ours):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
