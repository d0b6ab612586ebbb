"""Mutation run: change one constant, sign or comparison at a time, and see whether the fast tests notice.

    python scripts/mutate.py randomness                      every mutant of one package
    python scripts/mutate.py mechanisms ledger --sample 50   a random fifty, the same ones every time
    python scripts/mutate.py mechanisms/limited_domain.py    one module
    python scripts/mutate.py --list guarantees               only say what would be done

Each mutant is tried in a child of this process: the libraries are loaded once, the mutated module is served by an
import hook, and nothing is written to disk. A child that fails a test, does not import, or runs too long is dead.
Survivors are listed; a line that ends in `# mutate: <reason>` says why mutants of it are harmless, and is left out.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import importlib.abc
import importlib.machinery
import os
import random
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "crestline"
PACKAGES = ("randomness", "mechanisms", "guarantees", "ledger")
LIBRARIES = ("numpy", "scipy.special", "scipy.stats", "flint", "cryptography", "pytest", "sqlalchemy")
MARK = "# mutate:"

# What also tests a package, besides the tests that mirror it.
ALSO = {
    "randomness": ["tests/mechanisms/test_limited_domain.py"],
    "mechanisms": [],
    "guarantees": [],
    "ledger": [],
}

SIGNS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult}
COMPARISONS = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}


@dataclass(frozen=True)
class Mutant:
    """One changed node of one module, by its place in a walk of the tree."""

    module: Path
    place: int
    variant: int
    line: int
    words: str

    def __str__(self) -> str:
        return f"{self.module.relative_to(SOURCE)}:{self.line}  {self.words}"


def mutants(module: Path) -> Iterator[Mutant]:
    """Every mutant of a module, in the order of the source."""
    text = module.read_text()
    lines, tree = text.splitlines(), ast.parse(text)
    quiet = _quiet(tree)
    for place, node in enumerate(ast.walk(tree)):
        line = getattr(node, "lineno", 0)
        if id(node) in quiet or not line or MARK in lines[line - 1]:
            continue
        for variant, changed in enumerate(variants(node)):
            words = f"{ast.unparse(node)}  →  {ast.unparse(changed)}"
            yield Mutant(module, place, variant, line, " ".join(words.split())[:120])


def variants(node: ast.AST) -> Iterator[ast.AST]:
    """What a node may be changed into."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        yield ast.Constant(node.value + 1)
        yield ast.Constant(node.value - 1 if node.value in (0, 1) else node.value * 2)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.BinOp) and type(node.op) in SIGNS:
        yield _with(node, op=SIGNS[type(node.op)]())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        yield node.operand
    elif isinstance(node, ast.BoolOp):
        yield _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        for other in COMPARISONS[type(node.ops[0])]:
            yield _with(node, ops=[other()])


def mutated(mutant: Mutant) -> ast.Module:
    """The module's tree with the one change."""
    tree = ast.parse(mutant.module.read_text())
    target = next(node for place, node in enumerate(ast.walk(tree)) if place == mutant.place)
    new = ast.copy_location(list(variants(target))[mutant.variant], target)
    return ast.fix_missing_locations(_Swap(target, new).visit(tree))


class _Swap(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else self.generic_visit(node)


def _with(node: ast.AST, **fields: object) -> ast.AST:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _quiet(tree: ast.AST) -> set[int]:
    """Nodes that do nothing at run time, or only save time: annotations, sizes of caches, options of dataclasses."""
    quiet: set[int] = set()
    for node in ast.walk(tree):
        parts: list[ast.AST | None] = []
        if isinstance(node, ast.AnnAssign | ast.arg):
            parts = [node.annotation]
        elif isinstance(node, ast.FunctionDef):
            parts = [node.returns]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("lru_cache", "dataclass", "field"):
            parts = [node]
        for part in parts:
            quiet |= {id(inner) for inner in ast.walk(part)} if part is not None else set()
    return quiet


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


def survives(module: Path, tree: ast.Module, seconds: float) -> bool:
    """Whether all tests pass in a child that has this tree for the module."""
    child = os.fork()
    if child == 0:
        _run(module, tree)  # never returns
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def _run(module: Path, tree: ast.Module) -> None:
    code = 1
    try:
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        sys.meta_path.insert(0, Served(dotted(module), module, tree))
        import pytest

        options = ["-x", "-q", "-m", "not slow", "-p", "no:cacheprovider", "-p", "no:xdist"]
        code = int(pytest.main([*options, *tests_for(module)]))
    finally:
        os._exit(code)


def chosen(targets: Sequence[str]) -> list[Path]:
    found: list[Path] = []
    for target in targets:
        path = SOURCE / target
        found += sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return [path for path in found if path.name != "__init__.py"]


def tried(module: Path, group: list[Mutant], seconds: float) -> list[Mutant]:
    """The mutants of one module that survive. The module as it is must survive, or the tests say nothing."""
    start = time.monotonic()
    if not survives(module, ast.parse(module.read_text()), seconds):
        raise SystemExit(f"{dotted(module)}: the tests fail, or take longer than {seconds:g} s, without any change")
    usual = time.monotonic() - start
    print(f"\n{dotted(module)}: {len(group)} mutants, {usual:.0f} s for {' '.join(tests_for(module))}", flush=True)
    alive = []
    for mutant in group:
        start = time.monotonic()
        if survives(module, mutated(mutant), 20 + 5 * usual):
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
