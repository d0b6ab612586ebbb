"""Runs the fast tests against one changed module, in a child of this process.

The tests were run once without any change (experience.py); a mutant meets only those that run its statement,
those that mirror its module first, then those of its package, the quickest first. Most changes are inside functions:
all tests are collected once, and a child puts the changed code into the functions that are there (`in_place`). What
runs on import needs a child that imports everything anew (`anew`).
"""

from __future__ import annotations

import ast
import gc
import importlib.abc
import importlib.machinery
import os
import runpy
import signal
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from tools.mutation.children import Child, silence, started
from tools.mutation.experience import Experience, distance
from tools.mutation.mutants import ROOT, SOURCE, Mutant, mutated

LIBRARIES = (
    *("numpy", "scipy.special", "scipy.stats", "flint", "cryptography", "sqlalchemy"),
    *("pytest", "hypothesis", "mpmath", "psycopg"),
)

LONG = 10.0
"""Seconds of processor time that every test may take."""


class Watch:
    """A pytest plugin that notes the first test that fails.

    A test that takes ten times the processor time that it took without any change, and more than `LONG`, fails.
    """

    def __init__(self, seconds: Mapping[str, float]) -> None:
        self.seconds, self.note = seconds, Path(os.devnull)

    def begin(self, note: Path) -> None:
        self.note = note
        signal.signal(signal.SIGPROF, _too_long)

    @property
    def failed(self) -> bool:
        return self.note.exists()

    def pytest_runtest_logstart(self, nodeid: str, location: object) -> None:
        limit = max(LONG, 10 * self.seconds.get(nodeid, 0.0))
        signal.setitimer(signal.ITIMER_PROF, limit, LONG)  # again and again: what failed may be tried once more

    def pytest_runtest_logfinish(self, nodeid: str, location: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and not self.failed:
            self.note.write_text(report.nodeid)


def _too_long(*_: object) -> None:
    raise TimeoutError("this test takes much longer than without any change")


class Chosen(Watch):
    """Runs these tests only, in this order."""

    def __init__(self, names: Sequence[str], note: Path, seconds: Mapping[str, float]) -> None:
        super().__init__(seconds)
        self.place = {name: place for place, name in enumerate(names)}
        self.begin(note)

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = [item for item in items if item.nodeid in self.place]
        items.sort(key=lambda item: self.place[item.nodeid])


class Collected(Watch):
    """Runs no test: hands over all of them, once they are collected."""

    def __init__(self, seconds: Mapping[str, float], work: Callable[[Collected], None]) -> None:
        super().__init__(seconds)
        self.work = work
        self.items: dict[str, Any] = {}
        self.functions = defaultdict[str, list[FunctionType]](list)

    def pytest_runtestloop(self, session: Any) -> bool:
        self.items = {item.nodeid: item for item in session.items}
        for one in gc.get_objects():
            if isinstance(one, FunctionType):
                self.functions[one.__code__.co_filename].append(one)
        gc.freeze()  # children shall not copy what they only look at
        self.work(self)
        return True

    def run(self, names: Sequence[str], note: Path) -> int:
        """One for a test that fails, nought when all pass."""
        self.begin(note)
        chosen = [self.items[name] for name in names]
        for item, following in zip(chosen, [*chosen[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.failed:
                return 1
        return 0

    def changes(self, mutant: Mutant) -> list[tuple[FunctionType, CodeType]]:
        """The functions that a mutant changes, with their code; none for what only runs on import."""
        whole = compile(mutated(mutant), str(mutant.module), "exec", dont_inherit=True)
        new = {(code.co_qualname, code.co_firstlineno): code for code in _codes(whole)}
        pairs = (
            (function, new.get((function.__code__.co_qualname, function.__code__.co_firstlineno)))
            for function in self.functions[str(mutant.module)]
        )
        return [(function, code) for function, code in pairs if code is not None and code != function.__code__]


def _codes(code: CodeType) -> Iterator[CodeType]:
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield inner
            yield from _codes(inner)


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


def run_tests(files: Sequence[str], plugin: object) -> int:
    import pytest

    options = ["-q", "-s", "-m", "not slow", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:cov"]
    quiet = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # libraries are loaded before
    ours = ["-o", "python_files=test_*.py"]  # pytest would load a module *_test.py of the source itself, unchanged
    return int(pytest.main([*options, *quiet, *ours, *files], plugins=[plugin]))


def run_in_turn(names: Sequence[str], module: Path, chosen: Callable[[Sequence[str]], Chosen]) -> int:
    """Those near the module first, until one fails: most mutants are dead before the files further off are loaded."""
    for _, group in groupby(names, lambda name: distance(name, module)):
        part = list(group)
        files = dict.fromkeys(name.split("::")[0] for name in part)
        code = run_tests(["-x", *files], chosen(part))
        if code not in (0, 5):  # 5: none of these tests has its old name, which says nothing
            return code
    return 0


@contextmanager
def server() -> Iterator[None]:
    """One PostgreSQL for the tests of all children: a child that is killed could not stop one of its own."""
    servers = runpy.run_path(str(ROOT / "tests" / "servers.py"))  # not imported: pytest does that, in its own way
    with servers["running_postgres"]() as url:
        os.environ[servers["GIVEN"]] = url
        yield


class Trial:
    """A mutant in a child of this process: how it is started, and what became of it."""

    def __init__(self, mutant: Mutant, seen: Experience) -> None:
        self.mutant, self.seen, self.names = mutant, seen, seen.tests(mutant)
        self.folder = tempfile.TemporaryDirectory()
        self.note = Path(self.folder.name) / "failed"

    @property
    def processor(self) -> float:
        return 20 + 2 * sum(self.seen.seconds[name] for name in self.names)

    def in_place(self, collected: Collected, changes: Sequence[tuple[FunctionType, CodeType]]) -> Child[Trial]:
        """With the change put into the functions that are there."""

        def work() -> int:
            silence()
            for function, code in changes:
                function.__code__ = code
            return collected.run(self.names, self.note)

        return started(self, self.processor, work)

    def anew(self) -> Child[Trial]:
        """With everything imported in the child."""
        tree = mutated(self.mutant)

        def work() -> int:
            silence()
            sys.meta_path.insert(0, Served(self.mutant.module, tree))
            return run_in_turn(self.names, self.mutant.module, lambda part: Chosen(part, self.note, self.seen.seconds))

        return started(self, self.processor, work)

    def fate(self, code: int | None) -> str:
        """The test that notices the mutant; or `import`, `time`, `survived`."""
        found = self.note.read_text() if self.note.exists() else None
        self.folder.cleanup()
        if found is not None:
            self.seen.found[self.mutant.module][found] += 1
        if code == 0:
            return "survived"
        return found or ("time" if code is None else "import")
