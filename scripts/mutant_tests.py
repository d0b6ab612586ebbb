"""Runs the fast tests against one changed module, in a child of this process: which tests, in which order, how long.

`mutate.py` says what is changed. The tests of the four packages are run once without any change, to learn which test
runs which line and how much processor time it takes; a mutant then meets only the tests that run its statement, those
that mirror its module first, then those of its package, the quickest first.
"""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import json
import os
import resource
import runpy
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from types import ModuleType

from mutants import ROOT, SOURCE, Mutant, mutated

PACKAGES = ("randomness", "mechanisms", "guarantees", "ledger")
LIBRARIES = (
    *("numpy", "scipy.special", "scipy.stats", "flint", "cryptography", "sqlalchemy"),
    *("pytest", "hypothesis", "mpmath", "psycopg"),
)

MOST = 40.0
"""Seconds of tests that a mutant meets at most, once those that mirror its module have passed: first its package's."""

LONG = 10.0
"""Seconds of processor time that every test may take."""

MEMORY = 6 << 30
"""Bytes of addresses that a child may use: thrice what unchanged tests need. One that wants more is stopped."""


class Served(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Serves one module from a changed tree, and lets everything else be found as usual."""

    def __init__(self, module: Path, tree: ast.Module) -> None:
        self.name, self.module, self.tree = dotted(module), module, tree

    def find_spec(
        self, fullname: str, path: object = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.name:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, origin=str(self.module))

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = str(self.module)
        exec(compile(self.tree, str(self.module), "exec"), module.__dict__)


def dotted(module: Path) -> str:
    return ".".join(("crestline", *module.relative_to(SOURCE).with_suffix("").parts))


class Recorder:
    """A pytest plugin that learns which tests run which lines of the packages, and how long each takes."""

    def __init__(self) -> None:
        import coverage

        self.seconds, self.start = dict[str, float](), 0.0
        self.cover = coverage.Coverage(data_file=None, include=[str(SOURCE / package / "*") for package in PACKAGES])
        self.cover.start()

    def pytest_runtest_logstart(self, nodeid: str, location: object) -> None:
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


class Chosen:
    """A pytest plugin that runs these tests only, in this order, and notes the first that fails.

    A test that takes ten times the processor time that it took without any change, and more than `LONG`, fails.
    """

    def __init__(self, names: Sequence[str], note: Path, seconds: Mapping[str, float]) -> None:
        self.place, self.note, self.seconds = {name: place for place, name in enumerate(names)}, note, seconds
        signal.signal(signal.SIGPROF, _too_long)

    def pytest_collection_modifyitems(self, items: list[object]) -> None:
        items[:] = [item for item in items if item.nodeid in self.place]  # type: ignore[attr-defined] # pytest items
        items.sort(key=lambda item: self.place[item.nodeid])  # type: ignore[attr-defined] # as above

    def pytest_runtest_logstart(self, nodeid: str, location: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, max(LONG, 10 * self.seconds.get(nodeid, 0.0)))

    def pytest_runtest_logfinish(self, nodeid: str, location: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)

    def pytest_runtest_logreport(self, report: object) -> None:
        if report.failed:  # type: ignore[attr-defined] # a TestReport
            self.note.write_text(report.nodeid)  # type: ignore[attr-defined] # as above


def _too_long(*_: object) -> None:
    raise TimeoutError("this test takes much longer than without any change")


@dataclass(frozen=True)
class Experience:
    """What the tests of the unchanged packages were seen to do."""

    lines: dict[str, dict[int, set[str]]]
    seconds: dict[str, float]

    def tests(self, mutant: Mutant) -> list[str]:
        """The tests that run the mutant's statement; what runs on import concerns all tests that run the module."""
        lines = self.lines.get(str(mutant.module.relative_to(SOURCE)), {})
        names = {name for line in range(mutant.line, mutant.last + 1) for name in lines.get(line, ())}
        if mutant.on_import:  # seen only by the test that imported the module first
            names = {name for line in lines.values() for name in line}
        near = {name: self.distance(name, mutant.module) for name in names & self.seconds.keys()}
        order = sorted(near, key=lambda name: (near[name], self.seconds[name], name))
        mirror = [name for name in order if near[name] == 0]
        return mirror + self.affordable(order[len(mirror) :])

    def affordable(self, names: Sequence[str]) -> list[str]:
        kept, spent = [], 0.0
        for name in names:
            spent += self.seconds[name]
            if spent <= MOST:
                kept.append(name)
        return kept

    @staticmethod
    def distance(name: str, module: Path) -> int:
        """Nought for the tests that mirror a module, one for those of its package, two elsewhere."""
        if f"/test_{module.stem}.py::" in name:
            return 0
        return 1 if name.startswith(f"tests/{module.relative_to(SOURCE).parts[0]}/") else 2


def in_child(processor: float, work: Callable[[], int]) -> int | None:
    """What the work returns in a child of this process; None when it takes more processor time than this, or memory."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setpgid(0, 0)
            silence = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silence, 1)
            os.dup2(silence, 2)
            resource.setrlimit(resource.RLIMIT_CPU, (int(processor) + 1, int(processor) + 2))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            code = work()
        except MemoryError:
            os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(code)
    end = time.monotonic() + 60 + 10 * processor  # for a child that only waits
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return None if code in (-signal.SIGXCPU, -signal.SIGKILL) else code
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def run_tests(files: Sequence[str], plugin: object) -> int:
    import pytest

    options = ["-q", "-m", "not slow", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:cov"]
    quiet = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # libraries are loaded before
    return int(pytest.main([*options, *quiet, *files], plugins=[plugin]))


@contextmanager
def server() -> Iterator[None]:
    """One PostgreSQL for the tests of all children: a child that is killed could not stop one of its own."""
    servers = runpy.run_path(str(ROOT / "tests" / "servers.py"))  # not imported: pytest does that, in its own way
    with servers["running_postgres"]() as url:
        os.environ[servers["GIVEN"]] = url
        yield


def learned(package: str, folder: Path, processor: float) -> Experience:
    """Run the tests of a package once without any change. They must pass, or they say nothing about mutants."""
    notes = folder / f"experience-{package}.json"

    def work() -> int:
        recorder = Recorder()
        code = run_tests([f"tests/{package}"], recorder)
        if code == 0:
            recorder.save(notes)
        return code

    if not notes.exists() and in_child(processor, work) != 0:
        raise SystemExit(f"tests/{package}: they fail, or take more than {processor:g} s, without any change")
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


def run_in_turn(names: Sequence[str], module: Path, chosen: Callable[[Sequence[str]], Chosen]) -> int:
    """Those near the module first, until one fails: most mutants are dead before the files further off are loaded."""
    for _, group in groupby(names, lambda name: Experience.distance(name, module)):
        part = list(group)
        files = dict.fromkeys(name.split("::")[0] for name in part)
        code = run_tests(["-x", *files], chosen(part))
        if code:
            return code
    return 0


def fate(mutant: Mutant, seen: Experience) -> str:
    """The test that notices a mutant; or `import`, `time`, `not run` (no test runs the statement), `survived`."""
    names = seen.tests(mutant)
    if not names:
        return "not run"
    tree = mutated(mutant)
    with tempfile.TemporaryDirectory() as folder:
        note = Path(folder) / "failed"

        def work() -> int:
            sys.meta_path.insert(0, Served(mutant.module, tree))
            return run_in_turn(names, mutant.module, lambda part: Chosen(part, note, seen.seconds))

        code = in_child(20 + 3 * sum(seen.seconds[name] for name in names), work)
        if code is None:
            return "time"
        if code == 0:
            return "survived"
        return note.read_text() if note.exists() else "import"
