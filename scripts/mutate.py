"""Mutation run: change one constant, sign or comparison at a time, and see whether the fast tests notice.

    python scripts/mutate.py ledger                          every mutant of one package
    python scripts/mutate.py --share 0.1                     a tenth of each package, drawn at random by --seed
    python scripts/mutate.py mechanisms/limited_domain.py    one module
    python scripts/mutate.py --list guarantees               only say what would be done
    python scripts/mutate.py --again --share 0.1             those that survived, after new tests
    python scripts/mutate.py --report --share 0.1            the score of what has been tried, and the survivors

Each mutant is tried in a child of this process (see mutant_tests.py). A child that fails a test, does not import, or
runs too long is dead. Results go to artifacts/mutation as they come, and a run that was stopped goes on where it was.
A line that ends in `# mutate: <reason>` says why its mutants are harmless, and has none.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from mutant_tests import LIBRARIES, PACKAGES, Experience, fate, learned, together
from mutants import ROOT, SOURCE, Mutant, mutants

ALIVE = ("survived", "not run")


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


def report(found: Sequence[Mutant], results: Results, target: str) -> tuple[int, int]:
    """Print the score of one target, and return how many were tried and how many were killed."""
    tried = [mutant for mutant in found if mutant.name in results.fates]
    alive = [mutant for mutant in tried if results.fates[mutant.name] in ALIVE]
    killed = len(tried) - len(alive)
    print(f"{target}: {killed} of {len(tried)} killed ({killed / max(1, len(tried)):.1%}), {len(found)} drawn")
    for mutant in sorted(alive, key=str):
        print(f"  {results.fates[mutant.name]:9s} {mutant}")
    return len(tried), killed


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
    parser.add_argument("--least", type=float, default=0.0, help="fail when a smaller share is killed")
    parser.add_argument("--results", type=Path, default=ROOT / "artifacts" / "mutation")
    parser.add_argument("--again", action="store_true", help="try survivors again")
    parser.add_argument("--list", action="store_true", help="list the mutants and try none")
    parser.add_argument("--report", action="store_true", help="only report what has been tried")
    given = parser.parse_args(arguments)
    os.chdir(ROOT)
    found = {target: drawn(target, given.share, given.seed) for target in given.targets}
    if given.list:
        print("\n".join(str(mutant) for each in found.values() for mutant in each))
        return 0
    results = {target: Results(given.results, target) for target in given.targets}
    if not given.report:
        for library in LIBRARIES:
            importlib.import_module(library)
        seen = together([learned(package, given.results, given.processor) for package in PACKAGES])
        for target in given.targets:
            run(found[target], results[target], seen, given.again)
    counts = [report(found[target], results[target], target) for target in given.targets]
    tried, killed = sum(count[0] for count in counts), sum(count[1] for count in counts)
    share = killed / max(1, tried)
    print(
        f"all: {killed} of {tried} killed ({share:.1%}); at least {lower_bound(killed, tried):.1%} with confidence 95%"
    )
    return 0 if share >= given.least else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
