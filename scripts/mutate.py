"""Mutation run: change one constant, sign or comparison at a time, and see whether the fast tests notice.

    python scripts/mutate.py ledger                          every mutant of one package
    python scripts/mutate.py --share 0.1                     a tenth of each package, drawn at random by --seed
    python scripts/mutate.py mechanisms/limited_domain.py    one module
    python scripts/mutate.py --list guarantees               only say what would be done
    python scripts/mutate.py --again --share 0.1             those that survived, after new tests
    python scripts/mutate.py --report --share 0.1            the score of what has been tried, and the survivors
    python scripts/mutate.py --report --page FILE            the same as a page

Each mutant is tried in a child of this process (see mutant_tests.py). A child that fails a test, does not import, or
runs too long is dead. Results go to artifacts/mutation as they come, and a run that was stopped goes on where it was.
A line that ends in `# mutate: <reason>` says why its mutants are harmless, and has none; harmless.txt says it of single
mutants, which are tried all the same: the score is given with and without those that survive for a reason.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mutant_tests import LIBRARIES, PACKAGES, Experience, fate, learned, server, together
from mutants import ROOT, SOURCE, Mutant, mutants

ALIVE = ("survived", "not run")
_HEAD = """# Mutation run

`scripts/mutate.py` changes one constant, sign or comparison at a time in `mechanisms/`, `randomness/`, `guarantees/`
and `ledger/`, and runs the fast tests that meet the changed line, those that mirror the module first, until one fails.
The mutants are a random sample of each package. "At least" is the one-sided Clopper–Pearson bound at confidence 95% for
all mutants of the package that matter. A mutant survives for a reason when no test can tell it apart, or when only
speed, a wider error bound or the text of a message changes; the reasons are in `scripts/harmless.txt`.
""".splitlines()


def modules(target: str) -> list[Path]:
    path = SOURCE / target
    found = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return [module for module in found if module.name != "__init__.py"]


def drawn(target: str, share: float, seed: int) -> list[Mutant]:
    """So large a share of a target's mutants, in random order: what was tried when a run stops is a fair sample."""
    found = [mutant for module in modules(target) for mutant in mutants(module)]
    random.Random(f"{seed} {target}").shuffle(found)
    return found[: round(share * len(found))]


class Results:
    """What became of each mutant, one line of JSON each; the last word about a mutant counts."""

    def __init__(self, folder: Path, target: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{target.replace('/', '-')}.jsonl"
        self.fates: dict[str, str] = {}
        if self.path.exists():
            for line in self.path.read_text().splitlines():
                note = json.loads(line)
                self.fates[note["mutant"]] = note["fate"]

    def add(self, mutant: Mutant, end: str, seconds: float) -> None:
        self.fates[mutant.name] = end
        with self.path.open("a") as file:
            file.write(json.dumps({"mutant": mutant.name, "fate": end, "seconds": round(seconds, 1)}) + "\n")


def run(found: Sequence[Mutant], results: Results, seen: Experience, again: bool) -> None:
    for mutant in found:
        known = results.fates.get(mutant.name)
        if known is not None and not (again and known in ALIVE):
            continue
        start = time.monotonic()
        end = fate(mutant, seen)
        results.add(mutant, end, time.monotonic() - start)
        if end in ALIVE:
            print(f"{end:9s} {mutant}", flush=True)


@dataclass(frozen=True)
class Score:
    """What became of the mutants of one target that were tried; `harmless` survived, and it is known why."""

    target: str
    drawn: int
    killed: int
    harmless: tuple[tuple[Mutant, str], ...]
    alive: tuple[Mutant, ...]

    @property
    def tried(self) -> int:
        return self.killed + len(self.harmless) + len(self.alive)


def reasons() -> dict[str, str]:
    """Why a change is harmless: the lines `module: source line: change | reason` of harmless.txt."""
    lines = (Path(__file__).parent / "harmless.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.rsplit(" | ", 1) for line in lines if " | " in line)
    return {change.strip(): reason.strip() for change, reason in pairs}


def score(found: Sequence[Mutant], results: Results, target: str, known: Mapping[str, str]) -> Score:
    tried = [mutant for mutant in found if mutant.name in results.fates]
    alive = sorted((mutant for mutant in tried if results.fates[mutant.name] in ALIVE), key=str)
    harmless = tuple((mutant, known[mutant.change]) for mutant in alive if mutant.change in known)
    rest = tuple(mutant for mutant in alive if mutant.change not in known)
    return Score(target, len(found), len(tried) - len(alive), harmless, rest)


def said(scores: Sequence[Score]) -> list[str]:
    """The scores as lines of a page."""
    lines = ["| package | tried | killed | survive for a reason | survive | killed of those that matter |", _RULE]
    for one in [*scores, together_scored(scores)]:
        matter = one.killed + len(one.alive)
        share = f"{one.killed / max(1, matter):.1%}, at least {lower_bound(one.killed, matter):.1%}"
        parts = (one.target, one.tried, one.killed, len(one.harmless), len(one.alive), share)
        lines.append("| " + " | ".join(map(str, parts)) + " |")
    lines += ["", "Survivors without a reason:", ""]
    lines += [f"- `{mutant}`" for one in scores for mutant in one.alive] or ["none"]
    lines += ["", "Survivors with a reason:", ""]
    lines += [f"- `{mutant}`: {reason}" for one in scores for mutant, reason in one.harmless]
    return lines


_RULE = "|---|---|---|---|---|---|"


def together_scored(scores: Sequence[Score]) -> Score:
    harmless = tuple(pair for one in scores for pair in one.harmless)
    alive = tuple(mutant for one in scores for mutant in one.alive)
    return Score("all", sum(one.drawn for one in scores), sum(one.killed for one in scores), harmless, alive)


def lower_bound(killed: int, tried: int, confidence: float = 0.95) -> float:
    """Clopper–Pearson: the smallest share of all mutants that still explains so many killed, one-sided."""
    from scipy.stats import beta

    return float(beta.ppf(1 - confidence, killed, tried - killed + 1)) if killed else 0.0


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", default=PACKAGES, help="packages or modules below src/crestline")
    parser.add_argument("--share", type=float, default=1.0, help="the share of each target's mutants to try")
    parser.add_argument("--seed", type=int, default=0, help="another random choice")
    parser.add_argument("--processor", type=float, default=3000.0, help="seconds the tests of a package may take")
    parser.add_argument(
        "--least", type=float, default=0.0, help="fail when a smaller share of those that matter is killed"
    )
    parser.add_argument("--results", type=Path, default=ROOT / "artifacts" / "mutation")
    parser.add_argument("--again", action="store_true", help="try survivors again")
    parser.add_argument("--list", action="store_true", help="list the mutants and try none")
    parser.add_argument("--page", type=Path, help="write the report to a page, too")
    parser.add_argument("--report", action="store_true", help="only report what has been tried")
    given = parser.parse_args(arguments)
    os.chdir(ROOT)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the server is stopped as well
    found = {target: drawn(target, given.share, given.seed) for target in given.targets}
    if given.list:
        print("\n".join(str(mutant) for each in found.values() for mutant in each))
        return 0
    results = {target: Results(given.results, target) for target in given.targets}
    if not given.report:
        for library in LIBRARIES:
            importlib.import_module(library)
        with server():
            seen = together([learned(package, given.results, given.processor) for package in PACKAGES])
            for target in given.targets:
                run(found[target], results[target], seen, given.again)
    known = reasons()
    scores = [score(found[target], results[target], target, known) for target in given.targets]
    lines = said(scores)
    print("\n".join(lines))
    if given.page:
        given.page.write_text("\n".join([*_HEAD, *lines, ""]), encoding="utf-8")
    whole = together_scored(scores)
    return 0 if whole.killed >= given.least * (whole.killed + len(whole.alive)) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
