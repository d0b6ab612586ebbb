"""Mutation run: change one constant, sign or comparison at a time, and see whether the fast tests notice.

    python scripts/mutate.py randomness                      every mutant of one package
    python scripts/mutate.py mechanisms ledger --sample 50   a random fifty, the same ones every time
    python scripts/mutate.py mechanisms/limited_domain.py    one module
    python scripts/mutate.py --list guarantees               only say what would be done

Each mutant is tried in a child of this process: the libraries are loaded once, the mutated module is served by an
import hook. Only tests that run the changed statement are tried, the quickest first. A child that fails a test, does
not import, or runs too long is dead.
Survivors are listed; a line that ends in `# mutate: <reason>` says why mutants of it are harmless, and is left out.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.abc
import importlib.machinery
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from types import ModuleType

from mutants import ROOT, SOURCE, Mutant, mutants, mutated

PACKAGES = ("randomness", "mechanisms", "guarantees", "ledger")
LIBRARIES = ("numpy", "scipy.special", "scipy.stats", "flint", "cryptography", "pytest", "sqlalchemy")

# What also tests a package, besides the tests that mirror it.
ALSO = {
    "randomness": ["tests/mechanisms/test_limited_domain.py"],
    "mechanisms": [],
    "guarantees": [],
    "ledger": [],
}


class Served(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Serves one module from a changed tree, and lets everything else be found as usual."""

    def __init__(self, name: str, module: Path, tree: ast.Module) -> None:
        self.name, self.module, self.tree = name, module, tree

    def find_spec(
        self, fullname: str, path: object = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.name:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, origin=str(self.module))

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = str(self.module)
        exec(compile(self.tree, str(self.module), "exec"), module.__dict__)


def tests_for(module: Path) -> list[str]:
    """The tests that mirror a module first, then those of the mechanisms that use it, then the rest of its package."""
    package = module.relative_to(SOURCE).parts[0]
    folder = ROOT / "tests" / package
    mirror = [path for path in sorted(folder.rglob("test_*.py")) if path.stem == f"test_{module.stem}"]
    users = [path for path in sorted(folder.rglob("test_*.py")) if _uses(path, module)]
    found = [*mirror, *users]
    if package != "mechanisms" or not found:
        found += sorted(folder.rglob("test_*.py"))
    names = [str(path.relative_to(ROOT)) for path in found] + ALSO[package]
    return list(dict.fromkeys(names))


def _uses(test: Path, module: Path) -> bool:
    """Whether a test reaches a module: by name, or through a module of the same package that it names."""
    name = dotted(module)
    text = test.read_text()
    if f"from {name} import" in text:
        return True
    named = [path for path in SOURCE.glob("mechanisms/*.py") if f"from {dotted(path)} import" in text]
    return any(f"from {name} import" in path.read_text() for path in named)


def dotted(module: Path) -> str:
    return ".".join(("crestline", *module.relative_to(SOURCE).with_suffix("").parts))


class Recorder:
    """A pytest plugin that learns which tests run which lines of a module, and how long each takes."""

    def __init__(self, module: Path) -> None:
        import coverage

        self.module, self.seconds = module, dict[str, float]()
        self.cover = coverage.Coverage(data_file=None, include=[str(module)])
        self.cover.start()

    def pytest_runtest_logstart(self, nodeid: str, location: object) -> None:
        self.cover.switch_context(nodeid)

    def pytest_runtest_logreport(self, report: object) -> None:
        name, seconds = report.nodeid, report.duration  # type: ignore[attr-defined] # a TestReport
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds

    def save(self, path: Path) -> None:
        self.cover.stop()
        lines = self.cover.get_data().contexts_by_lineno(str(self.module))
        path.write_text(json.dumps({"lines": lines, "seconds": self.seconds}))


class Chosen:
    """A pytest plugin that runs these tests only, in this order."""

    def __init__(self, names: Sequence[str]) -> None:
        self.place = {name: place for place, name in enumerate(names)}

    def pytest_collection_modifyitems(self, items: list[object]) -> None:
        items[:] = [item for item in items if item.nodeid in self.place]  # type: ignore[attr-defined] # pytest items
        items.sort(key=lambda item: self.place[item.nodeid])  # type: ignore[attr-defined] # as above


@dataclass(frozen=True)
class Experience:
    """What the tests of an unchanged module were seen to do."""

    lines: dict[int, list[str]]
    seconds: dict[str, float]

    def tests(self, mutant: Mutant) -> list[str]:
        """The tests that run the mutant's statement, the quickest first; what runs on import concerns them all."""
        names = {name for line in range(mutant.line, mutant.last + 1) for name in self.lines.get(line, [])}
        if "" in names:
            names = set(self.seconds)
        return sorted(names & self.seconds.keys(), key=lambda name: self.seconds[name])


def in_child(seconds: float, work: Callable[[], int]) -> bool:
    """Whether the work ends well, in time, in a child of this process."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            silence = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silence, 1)
            os.dup2(silence, 2)
            code = work()
        finally:
            os._exit(code)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def run_tests(module: Path, tree: ast.Module, files: Sequence[str], plugin: object) -> int:
    """Run tests in this process with this tree for the module."""
    import pytest

    sys.meta_path.insert(0, Served(dotted(module), module, tree))
    options = ["-x", "-q", "-m", "not slow", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:cov"]
    return int(pytest.main([*options, *files], plugins=[plugin]))


def experience(module: Path, seconds: float) -> Experience:
    """Run the tests once without any change. They must pass, or they say nothing about mutants."""
    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder) / "notes.json"

        def work() -> int:
            recorder = Recorder(module)
            code = run_tests(module, ast.parse(module.read_text()), tests_for(module), recorder)
            recorder.save(notes)
            return code

        if not in_child(seconds, work):
            raise SystemExit(f"{dotted(module)}: the tests fail, or take longer than {seconds:g} s, without any change")
        seen = json.loads(notes.read_text())
    return Experience({int(line): names for line, names in seen["lines"].items()}, seen["seconds"])


def survives(mutant: Mutant, seen: Experience) -> bool:
    """Whether every test that runs the mutated statement passes."""
    names = seen.tests(mutant)
    if not names:
        return True
    files = list(dict.fromkeys(name.split("::")[0] for name in names))
    usual = sum(seen.seconds[name] for name in names)
    tree = mutated(mutant)
    return in_child(30 + 5 * usual, lambda: run_tests(mutant.module, tree, files, Chosen(names)))


def chosen(targets: Sequence[str]) -> list[Path]:
    found: list[Path] = []
    for target in targets:
        path = SOURCE / target
        found += sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return [path for path in found if path.name != "__init__.py"]


def tried(module: Path, group: list[Mutant], seconds: float) -> list[Mutant]:
    """The mutants of one module that survive."""
    start = time.monotonic()
    seen = experience(module, seconds)
    spent = time.monotonic() - start
    print(f"\n{dotted(module)}: {len(group)} mutants, {len(seen.seconds)} tests in {spent:.0f} s", flush=True)
    alive = []
    for mutant in group:
        start = time.monotonic()
        if survives(mutant, seen):
            alive.append(mutant)
            print(f"  ALIVE {time.monotonic() - start:5.1f} s  {mutant}", flush=True)
    return alive


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", default=PACKAGES, help="packages or modules below src/crestline")
    parser.add_argument("--sample", type=int, default=0, help="try a random choice of so many")
    parser.add_argument("--seed", type=int, default=0, help="another random choice")
    parser.add_argument("--seconds", type=float, default=600.0, help="how long the tests of one module may take")
    parser.add_argument("--least", type=float, default=0.0, help="fail when a smaller share is killed")
    parser.add_argument("--list", action="store_true", help="list the mutants and try none")
    given = parser.parse_args(arguments)
    os.chdir(ROOT)
    found = [mutant for module in chosen(given.targets) for mutant in mutants(module)]
    if given.sample and given.sample < len(found):
        found = sorted(random.Random(given.seed).sample(found, given.sample), key=lambda m: (m.module, m.place))
    if given.list:
        print("\n".join(map(str, found)), f"\n{len(found)} mutants")
        return 0
    for library in LIBRARIES:
        importlib.import_module(library)
    alive: list[Mutant] = []
    for module, group in groupby(found, key=lambda mutant: mutant.module):
        alive += tried(module, list(group), given.seconds)
    share = 1 - len(alive) / max(1, len(found))
    print(f"\n{len(found)} mutants, {len(found) - len(alive)} killed ({share:.1%}); survivors:")
    print("\n".join(f"  {mutant}" for mutant in alive) or "  none")
    return 0 if share >= given.least else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
