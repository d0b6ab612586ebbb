"""Mutation run: change one constant, sign or comparison at a time, and see whether the fast tests notice.

    python -m tools.mutation ledger                          every mutant of one package
    python -m tools.mutation --share 0.1                     a tenth of each package, drawn at random by --seed
    python -m tools.mutation mechanisms/limited_domain       one folder
    python -m tools.mutation --list guarantees               only say what would be done
    python -m tools.mutation --again --share 0.1             those that survived, after new tests
    python -m tools.mutation --control --share 0.01          their tests without any change: all must pass
    python -m tools.mutation --report --share 0.1            the score of what has been tried, and the survivors
    python -m tools.mutation --report --page FILE            the same as a page
    python -m tools.mutation --follow                        the lists of reasons, after lines have moved

Each mutant is tried in a child of this process (see trials.py). A child that fails a test, does not import, or
runs too long is dead. Results go to artifacts/mutation as they come, and a run that was stopped goes on where it was.
Lines of which every mutant would be harmless have none: unmutated.txt. harmless.txt says it of single mutants, which
are tried all the same: the score is given with and without those that survive for a reason.
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
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tools.mutation.children import Child, ended, in_child
from tools.mutation.experience import PACKAGES, TESTS, Experience, learned, together
from tools.mutation.mutants import ROOT, SOURCE, UNCHANGED, Mutant, exempt, mutants
from tools.mutation.reasons import HARMLESS, UNMUTATED, followed, reasons, write
from tools.mutation.report import ALIVE, HEAD, Score, exempted, said, score
from tools.mutation.report import together as together_scored
from tools.mutation.trials import LIBRARIES, Collected, Trial, run_tests, server


def modules(target: str) -> list[Path]:
    path = SOURCE / target
    found = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return [module for module in found if module.name != "__init__.py"]


def drawn(target: str, share: float, seed: int) -> list[Mutant]:
    """So large a share of a target's mutants, in random order: what was tried when a run stops is a fair sample."""
    without = reasons(UNMUTATED)
    found = [mutant for module in modules(target) for mutant in mutants(module, without)]
    random.Random(f"{seed} {target}").shuffle(found)
    return found[: round(share * len(found))]


class Results:
    """What became of each mutant, one line of JSON each: `first` when it was met first, `fates` by the last word."""

    def __init__(self, folder: Path, target: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{target.replace('/', '-')}.jsonl"
        self.first, self.fates = dict[str, str](), dict[str, str]()
        for note in self.notes():
            self._take(note)

    def notes(self) -> list[dict[str, str]]:
        """What has been written so far, by whichever process."""
        return [json.loads(line) for line in self.path.read_text().splitlines()] if self.path.exists() else []

    def add(self, mutant: Mutant, end: str, seconds: float) -> None:
        note = {"mutant": mutant.name, "fate": end, "place": str(mutant)}
        self._take(note)
        with self.path.open("a") as file:
            file.write(json.dumps({**note, "seconds": round(seconds, 1)}) + "\n")

    def _take(self, note: Mapping[str, str]) -> None:
        name = note["mutant"]
        self.first.setdefault(name, note["fate"])
        self.fates[name] = note["fate"]


def untried(found: Sequence[Mutant], results: Results, again: bool, known: Container[str] = ()) -> list[Mutant]:
    """Those that were not tried before, those with a reason last; and again what survived without one."""
    fates = {mutant: results.fates.get(mutant.name) for mutant in found}
    last = {mutant: mutant.change in known for mutant in found}
    new = [mutant for mutant, end in fates.items() if end is None or (again and end in ALIVE and not last[mutant])]
    return sorted(new, key=lambda mutant: last[mutant])


def run(found: Sequence[Mutant], results: Results, seen: Experience, many: int) -> None:
    """Try each mutant, so many at a time: most in a process that has collected the tests, the others here."""
    idle = [mutant for mutant in found if not seen.tests(mutant)]
    for mutant in idle:
        say(results, mutant, "not run", 0.0)
    rest = [mutant for mutant in found if mutant not in set(idle)]
    here = {mutant for mutant in rest if seen.on_import(mutant)}
    files = sorted({name.split("::")[0] for name in seen.seconds})
    inside = [mutant for mutant in rest if mutant not in here]
    shared = Collected(seen.seconds, lambda ready: settle(in_place(inside, seen, ready), results, many))
    before = len(results.notes())
    if inside and in_child(10**6, lambda: run_tests(files, shared)) not in (0, 5):  # 5: no test was run
        raise SystemExit("the tests cannot be collected")
    done = {note["mutant"] for note in results.notes()[before:]}  # what the other process has written
    settle((Trial(mutant, seen).anew() for mutant in rest if mutant.name not in done), results, many)


def in_place(found: Sequence[Mutant], seen: Experience, ready: Collected) -> Iterator[Child[Trial]]:
    """Those that change a function; the others are left to a process that imports everything anew."""
    for mutant in found:
        changes = ready.changes(mutant)
        if changes or mutant.variant == UNCHANGED:
            yield Trial(mutant, seen).in_place(ready, changes)


def settle(children: Iterable[Child[Trial]], results: Results, many: int) -> None:
    for child, code in ended(children, many):
        say(results, child.what.mutant, child.what.fate(code), time.monotonic() - child.start)


def say(results: Results, mutant: Mutant, end: str, seconds: float) -> None:
    results.add(mutant, end, seconds)
    if end in ALIVE:
        print(f"{end:9s} {mutant}", flush=True)


def unchanged(folder: Path) -> Path:
    """A folder for the results of a control, with what was learned about the tests."""
    control = folder / "control"
    control.mkdir(parents=True, exist_ok=True)
    for notes in folder.glob("experience-*.json"):
        (control / notes.name).write_text(notes.read_text())
    return control


def scored(target: str, results: Results, known: Mapping[str, str], first: bool = False) -> Score:
    """The score of the mutants that exist now: lines that were changed since are not counted."""
    every = drawn(target, 1.0, 0)
    fates = results.first if first else results.fates
    return score(target, every, {mutant: fates[mutant.name] for mutant in every if mutant.name in fates}, known)


def follow() -> int:
    """Let the reasons follow lines that have moved, and leave out those of lines that are gone."""
    every = [mutant for target in PACKAGES for module in modules(target) for mutant in mutants(module)]
    for path, existing in (
        (UNMUTATED, {mutant.place_of_line for mutant in every}),
        (HARMLESS, {mutant.change for mutant in every}),
    ):
        known, lost = followed(reasons(path), existing)
        write(path, known)
        for key in lost:
            print(f"gone      {key}")
    return 0


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", default=PACKAGES, help="packages or modules below src/crestline")
    parser.add_argument("--share", type=float, default=1.0, help="the share of each target's mutants to try")
    parser.add_argument("--seed", type=int, default=0, help="another random choice")
    parser.add_argument("--processor", type=float, default=3000.0, help="seconds the tests of a package may take")
    parser.add_argument(
        "--least", type=float, default=0.0, help="fail when a smaller share of those that matter is killed"
    )
    parser.add_argument("--most", type=float, default=20.0, help="seconds of tests a mutant meets beside its module's")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="how many to try at a time")
    parser.add_argument("--results", type=Path, default=ROOT / "artifacts" / "mutation")
    parser.add_argument("--again", action="store_true", help="try survivors again, unless they have a reason")
    parser.add_argument("--control", action="store_true", help="change nothing: whatever is killed then is a fault")
    parser.add_argument("--list", action="store_true", help="list the mutants and try none")
    parser.add_argument("--page", type=Path, help="write the report to a page, too")
    parser.add_argument("--follow", action="store_true", help="write the lists of reasons anew, for lines that moved")
    parser.add_argument("--report", action="store_true", help="only report what has been tried")
    given = parser.parse_args(arguments)
    os.chdir(ROOT)
    if given.follow:
        return follow()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the server is stopped as well
    found = {target: drawn(target, given.share, given.seed) for target in given.targets}
    if given.control:
        found = {target: [replace(mutant, variant=UNCHANGED) for mutant in each] for target, each in found.items()}
        given.results = unchanged(given.results)
    if given.list:
        print("\n".join(str(mutant) for each in found.values() for mutant in each))
        return 0
    known = reasons(HARMLESS)
    results = {target: Results(given.results, target) for target in given.targets}
    if not given.report:
        for library in LIBRARIES:
            importlib.import_module(library)
        with server():
            seen = together([learned(name, given.results, given.processor, run_tests) for name in TESTS])
            seen = replace(seen, most=given.most)
            for target in given.targets:
                new = untried(found[target], results[target], given.again, known)
                run(new, results[target], seen, given.workers)
                results[target] = Results(given.results, target)
    if given.control:
        return 0 if all(end in ALIVE for each in results.values() for end in each.fates.values()) else 1
    first, now = (
        [scored(target, results[target], known, early) for target in given.targets] for early in (True, False)
    )
    lines = said(first, now)
    print("\n".join(lines))
    if given.page:
        without = reasons(UNMUTATED)
        marks = {
            target: [mark for module in modules(target) for mark in exempt(module, without)] for target in given.targets
        }
        given.page.write_text("\n".join([*HEAD, *lines, "", *exempted(marks), ""]), encoding="utf-8")
    whole = together_scored(now)
    return 0 if whole.killed >= given.least * whole.matter else 1
