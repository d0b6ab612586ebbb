"""What the tests do without any change: which of them runs which line of the packages, and how long each takes."""

from __future__ import annotations

import functools
import gc
import json
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tools.mutation.children import in_child, silence
from tools.mutation.mutants import SOURCE, Mutant

PACKAGES = ("randomness", "mechanisms", "guarantees", "ledger")
TESTS = (*PACKAGES, "price", "histogram", "test_ask.py")
"""The tests that mutants meet, folders and files; others draw pictures, or run the program in a process of its own."""


class Recorder:
    """A pytest plugin that learns which tests run which lines of the packages, and how long each takes.

    What a function has kept is forgotten before each test, or only the first test would be seen to need it.
    """

    def __init__(self) -> None:
        import coverage

        self.seconds, self.start = dict[str, float](), 0.0
        self.kept: list[Callable[[], None]] = []
        self.cover = coverage.Coverage(data_file=None, include=[str(SOURCE / package / "*") for package in PACKAGES])
        self.cover.start()

    def pytest_collection_finish(self, session: object) -> None:
        wrappers = (one for one in gc.get_objects() if isinstance(one, functools._lru_cache_wrapper))
        self.kept = [one.cache_clear for one in wrappers if one.__module__.startswith("crestline.")]

    def pytest_runtest_logstart(self, nodeid: str, location: object) -> None:
        for forget in self.kept:
            forget()
        self.cover.switch_context(nodeid)
        self.start = processor_time()

    def pytest_runtest_logfinish(self, nodeid: str, location: object) -> None:
        self.seconds[nodeid] = processor_time() - self.start

    def save(self, path: Path) -> None:
        self.cover.stop()
        data = self.cover.get_data()
        lines = {
            str(Path(name).relative_to(SOURCE)): data.contexts_by_lineno(name) for name in sorted(data.measured_files())
        }
        path.write_text(json.dumps({"lines": lines, "seconds": self.seconds}))


def processor_time() -> float:
    """Of this process and the children it has waited for: a busy machine does not change it."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


@dataclass(frozen=True)
class Experience:
    """What the tests of the unchanged packages were seen to do, and which of them have found mutants of a module."""

    lines: dict[str, dict[int, set[str]]]
    seconds: dict[str, float]
    found: dict[Path, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    most: float = 20.0
    """Seconds of tests that a mutant meets, once those that mirror its module have passed: first its package's."""

    def tests(self, mutant: Mutant) -> list[str]:
        """The tests that run the mutant's statement; what runs on import, all of or through its module."""
        lines = self.lines.get(str(mutant.module.relative_to(SOURCE)), {})
        names = {name for line in range(mutant.line, mutant.last + 1) for name in lines.get(line, ())}
        if mutant.on_import or "" in names:  # seen only by the test that imported the module first
            mirror = {name for name in self.seconds if distance(name, mutant.module) == 0}
            names = {name for line in lines.values() for name in line} | mirror
        near = {name: distance(name, mutant.module) for name in names & self.seconds.keys()}
        found = self.found[mutant.module]
        order = sorted(near, key=lambda name: (near[name], self.seconds[name] / (1 + found[name]), name))
        many = sum(near[name] == 0 for name in order)
        return order[:many] + self.affordable(order[many:])

    def on_import(self, mutant: Mutant) -> bool:
        """Whether its statement runs when modules are imported: then they must be imported with the change."""
        lines = self.lines.get(str(mutant.module.relative_to(SOURCE)), {})
        return mutant.on_import or any("" in lines.get(line, ()) for line in range(mutant.line, mutant.last + 1))

    def affordable(self, names: Sequence[str]) -> list[str]:
        kept, spent = [], 0.0
        for name in names:
            spent += self.seconds[name]
            if spent <= self.most:
                kept.append(name)
        return kept


def distance(name: str, module: Path) -> int:
    """Nought for the tests that mirror a module, one for those of its package, two elsewhere."""
    inside = module.relative_to(SOURCE)
    if name.startswith(f"tests/{inside.parent.as_posix()}/test_{module.stem}.py::"):
        return 0
    return 1 if name.startswith(f"tests/{inside.parts[0]}/") else 2


def learned(name: str, folder: Path, processor: float, run_tests: Callable[[Sequence[str], object], int]) -> Experience:
    """Run a folder of tests once without any change. They must pass, or they say nothing about mutants."""
    notes = folder / f"experience-{name.replace('/', '-')}.json"

    def work() -> int:
        silence()
        recorder = Recorder()
        code = run_tests([f"tests/{name}"], recorder)
        if code == 0:
            recorder.save(notes)
        return code

    if not notes.exists() and in_child(processor, work) != 0:
        raise SystemExit(f"tests/{name}: they fail, or take more than {processor:g} s, without any change")
    seen = json.loads(notes.read_text())
    lines = {name: {int(n): set(tests) for n, tests in each.items()} for name, each in seen["lines"].items()}
    return Experience(lines, seen["seconds"])


def together(parts: Sequence[Experience]) -> Experience:
    lines: dict[str, dict[int, set[str]]] = {}
    seconds: dict[str, float] = {}
    for part in parts:
        seconds |= part.seconds
        for name, each in part.lines.items():
            for line, tests in each.items():
                lines.setdefault(name, {}).setdefault(line, set()).update(tests)
    return Experience(lines, seconds)
