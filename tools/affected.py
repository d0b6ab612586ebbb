"""The test files that a change reaches by imports, and by names of files in strings.

    python -m tools.affected [BASE]              prints them; BASE is a commit, else where the branch left main
    python -m tools.affected --skipped [BASE]    prints the suites of engines that a branch does not reach

A test file reaches the modules that it imports, at the top or in a function, and those that they reach. It reaches also
a module whose name is in one of its strings; everything, when one of them is `src`; and the command line, when one is
`crestline`. A file that is no module is reached by a module that has its name, or the name of its folder, in a string.
A changed `conftest.py` reaches the tests below it. A name of a package that is loaded on first use leads to the module
that has it, and not to all of the package.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENGINES = tuple(
    f"tests/sources/test_{name}.py"
    for name in ("clickhouse", "datafusion", "embedded", "mariadb", "postgres", "spark", "sqlite")
)
"""The suites that repeat one suite on another engine."""

_PACKAGES = {"crestline": "src/crestline", **{name: name for name in ("tests", "tools", "reproduction", "benchmarks")}}
_LAZY = {"crestline", "crestline.mechanisms"}  # their names are loaded on first use
EVERYTHING = "everything"
"""In place of a file: what it holds may concern every test."""
_SETTINGS = "pyproject.toml"
_NO_SETTINGS_OF_TESTS = ("coverage", "hatch", "importlinter", "mypy", "ruff")  # tools in pyproject.toml
_PLACES = {"src", "crestline", "tests", ""}  # parts of a path that say nothing about a file
_NAMES = re.compile(rf"\b(?:{'|'.join(_PACKAGES)})(?:\.\w+)+")


class Graph:
    """Which module reaches which files."""

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root
        self.paths = dict(_modules(root))
        self._trees = {name: ast.parse((root / path).read_text(encoding="utf-8")) for name, path in self.paths.items()}
        self._exports = {name: self._names_of(name) for name, path in self.paths.items() if _is_package(path)}
        self._words: dict[str, set[str]] = {}
        self._edges = {name: self._reached_from(name) for name in self.paths}

    def affected(self, changed: Iterable[str]) -> list[str]:
        """The test files that changed files reach."""
        files = set(changed)
        tests = {name: path for name, path in self.paths.items() if Path(path).name.startswith("test_")}
        shared = (
            self._closure("tests.conftest") - {"tests.tiers", "tests.quick_tier"}
            if "tests.conftest" in self.paths
            else set[str]()
        )
        if files & ({EVERYTHING} | {self.paths[name] for name in shared}):
            return sorted(tests.values())
        modules = {name for name, path in self.paths.items() if path in files}
        others = [Path(file) for file in files - set(self.paths.values())]
        names, folders = {path.name for path in others}, {part for path in others for part in path.parts[:-1]} - _PLACES
        for name, words in self._words.items():
            if words & names or (not name.startswith("crestline") and words & folders):
                modules.add(name)
        return sorted(path for name, path in tests.items() if self._closure(name) & modules)

    def _closure(self, name: str) -> set[str]:
        seen, waiting = {name}, [name]
        while waiting:
            new = self._edges[waiting.pop()] - seen
            seen |= new
            waiting += new
        return seen

    def _reached_from(self, name: str) -> set[str]:
        tree, lazy = self._trees[name], name in self._exports and name in _LAZY
        found = {f"{name.rsplit('.', depth)[0]}.conftest" for depth in range(1, name.count(".") + 1)}
        aliases = dict[str, str]()
        for node in _executed(tree, functions=not lazy):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
                aliases |= {alias.asname or alias.name: alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found |= {home for alias in node.names for home in self._home(node.module, alias.name)}
                aliases |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and aliases.get(ast.unparse(node.value), "") in self._exports:
                found |= set(self._home(aliases[ast.unparse(node.value)], node.attr))
        if not lazy:
            found |= self._reached_by_strings(name, tree)
        found |= {".".join(parts[:end]) for one in found if (parts := one.split(".")) for end in range(1, len(parts))}
        return found & self.paths.keys() - {name}

    def _reached_by_strings(self, name: str, tree: ast.AST) -> set[str]:
        package = name if _is_package(self.paths[name]) else name.rpartition(".")[0]
        strings = {one.value for one in ast.walk(tree) if isinstance(one, ast.Constant) and isinstance(one.value, str)}
        found = {module for text in strings for module in self._named(text, package)}
        words = {word for text in strings if " " not in text for word in text.split("/")}
        self._words[name] = words
        if name.startswith("tests.") and any(text.startswith("src/") or text == "src" for text in strings):
            found |= {one for one in self.paths if one.startswith("crestline")}
        if name.startswith("tests.") and "crestline" in strings:
            found |= {"crestline.cli.main", "crestline.__main__"}
        return found

    def _home(self, module: str, name: str) -> Iterator[str]:
        """Where a name that is imported from a module is made; of a package that does not say, all that it imports."""
        yield module
        if f"{module}.{name}" in self.paths:
            yield f"{module}.{name}"
            if f"{module}.{name}" in self._exports:  # a package as a value: any name of it may be used
                yield from self._exports[f"{module}.{name}"].values()
        elif module in self._exports:
            homes = self._exports[module]
            yield from [homes[name]] if name in homes else homes.values()

    def _named(self, text: str, package: str) -> Iterator[str]:
        """Modules whose name is in a string: from the top, or from the package of the module that has the string."""
        if f"{package}.{text}" in self.paths:
            yield f"{package}.{text}"
        for name in _NAMES.findall(text):
            while name:
                if name in self.paths:
                    yield name
                    break
                name = name.rpartition(".")[0]

    def _names_of(self, package: str) -> dict[str, str]:
        """Names of a package with their modules, those that only type checkers import included."""
        found = {}
        for node in ast.walk(self._trees[package]):
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    found[alias.asname or alias.name] = inner if inner in self.paths else node.module
        return {name: home for name, home in found.items() if home in self.paths}


def _modules(root: Path) -> Iterator[tuple[str, str]]:
    for package, folder in _PACKAGES.items():
        for path in sorted((root / folder).rglob("*.py")):
            parts = [package, *path.relative_to(root / folder).with_suffix("").parts]
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path.relative_to(root).as_posix()


def _is_package(path: str) -> bool:
    return path.endswith("__init__.py")


def _executed(node: ast.AST, functions: bool) -> Iterator[ast.AST]:
    """Every node but those that only type checkers read, and those in functions if they do not count."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            if ast.unparse(child.test).startswith("not"):
                yield from _executed(child, functions)
            else:
                for other in child.orelse:
                    yield from _executed(ast.Module([other], []), functions)
        elif functions or not isinstance(child, ast.FunctionDef):
            yield child
            yield from _executed(child, functions)


def changed_since(base: str, root: Path = ROOT) -> set[str]:
    """Files that differ from a commit, those that are not committed included.

    `EVERYTHING` is among them where dependencies or the settings of tests differ.
    """
    files = {*_git(root, "diff", "--name-only", base), *_git(root, "ls-files", "--others", "--exclude-standard")}
    if _SETTINGS in files:
        before, now = (
            "\n".join(_git(root, "show", f"{base}:{_SETTINGS}")),
            (root / _SETTINGS).read_text(encoding="utf-8"),
        )
        if settings_of_tests(before) != settings_of_tests(now):
            files.add(EVERYTHING)
    return files


def settings_of_tests(text: str) -> dict[str, object]:
    """pyproject.toml without the settings of what checks and packs the sources."""
    settings = tomllib.loads(text)
    tools = {name: value for name, value in settings.get("tool", {}).items() if name not in _NO_SETTINGS_OF_TESTS}
    return {**settings, "tool": tools}


def start_of_branch(root: Path = ROOT) -> str | None:
    """The commit where this branch left main; None on main, and where there is no main."""
    head = _git(root, "rev-parse", "HEAD")
    for main in ("main", "origin/main"):
        base = _git(root, "merge-base", "HEAD", main)
        if base:
            return base[0] if base != head else None
    return None


def _git(root: Path, *arguments: str) -> list[str]:
    done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


def main(arguments: list[str]) -> int:
    given = [one for one in arguments if not one.startswith("-")]
    base = given[0] if given else start_of_branch()
    if "--skipped" in arguments:
        if base is not None:
            print(*sorted(set(ENGINES) - set(Graph().affected(changed_since(base)))), sep="\n")
        return 0
    print(*Graph().affected(changed_since(base or "HEAD~1")), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
