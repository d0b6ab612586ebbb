"""What is counted in the source. Each figure lists what it counts, so that a number can be looked into."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

MOST_PARAMETERS = 7
# What a mechanism is called where it is asked for an attribute that it may not have.
_A_MECHANISM = re.compile(r"(^|\.)(mechanism|inner|selection|whole_one)$|\.load\(\)$")
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Placed = ast.stmt | ast.arg  # what has a line


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Every node of a module: several figures look at all of them."""
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def modules(source: Path) -> list[Path]:
    return sorted(source.rglob("*.py"))


def _nodes(source: Path, *kinds: type[_Placed]) -> Iterator[tuple[str, _Placed]]:
    """Every node of these kinds in every module, with its place in words."""
    for path in modules(source):
        inside = path.relative_to(source)
        yield from ((f"{inside}:{node.lineno}", node) for node in nodes_of(path) if isinstance(node, kinds))


def wide_functions(source: Path) -> list[str]:
    """Functions with more than seven parameters; `self` is none, and commands may have as many options as they need."""
    return [
        f"{place}  {node.name}: {len(names)}"
        for place, node in _nodes(source, ast.FunctionDef, ast.AsyncFunctionDef)
        if isinstance(node, _Function) and not _is_command(node)
        for names in [[one.arg for one in _parameters(node) if one.arg not in ("self", "cls")]]
        if len(names) > MOST_PARAMETERS
    ]


def _parameters(node: _Function) -> list[ast.arg]:
    return [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]


def _is_command(node: _Function) -> bool:
    """Whether options of the command line stand in its signature."""
    return any("typer." in ast.unparse(one.annotation) for one in _parameters(node) if one.annotation is not None)


def any_annotations(source: Path) -> list[str]:
    """Parameters, results and fields whose type is `Any`."""
    return [f"{place}  {name}: Any" for place, name, kind in _annotations(source) if kind == "Any"]


def any_mechanisms(source: Path) -> list[str]:
    """The same of those called `mechanism`: the central type of the package."""
    return [one for one in any_annotations(source) if one.endswith("  mechanism: Any")]


def _annotations(source: Path) -> Iterator[tuple[str, str, str]]:
    for place, node in _nodes(source, ast.arg, ast.AnnAssign, ast.FunctionDef, ast.AsyncFunctionDef):
        if isinstance(node, ast.arg) and node.annotation is not None:
            yield place, node.arg, ast.unparse(node.annotation)
        elif isinstance(node, ast.AnnAssign):
            yield place, ast.unparse(node.target), ast.unparse(node.annotation)
        elif isinstance(node, _Function) and node.returns is not None:
            yield place, f"{node.name}()", ast.unparse(node.returns)


def probes(source: Path) -> list[str]:
    """`hasattr` and `getattr` on mechanisms; `adopt` is there for it, and `audit` trusts none: both may."""
    found = []
    for path in modules(source):
        inside = path.relative_to(source)
        if inside.parts[0] == "audit" or inside.stem == "third_party":
            continue
        adopting = {id(node) for one in _named(path, "adopt") for node in ast.walk(one)}
        calls = (node for node in nodes_of(path) if isinstance(node, ast.Call) and id(node) not in adopting)
        found += [f"{inside}:{call.lineno}  {ast.unparse(call)}" for call in calls if _is_probe(call)]
    return found


def _named(path: Path, name: str) -> Iterator[ast.AST]:
    return (node for node in nodes_of(path) if isinstance(node, _Function) and node.name == name)


def _is_probe(call: ast.Call) -> bool:
    asks = isinstance(call.func, ast.Name) and call.func.id in ("hasattr", "getattr")
    return asks and _A_MECHANISM.search(ast.unparse(call.args[0])) is not None


def crowded_folders(source: Path, most: int = 12) -> list[str]:
    """Folders with more than a dozen modules, `__init__` not counted."""
    return [f"{folder}: {many}" for folder, many in _folders(source).most_common() if many > most]


def largest_folder(source: Path) -> list[str]:
    """The modules of the folder that has most."""
    largest = _folders(source).most_common(1)[0][0]
    return [name for name in map(str, _members(source)) if str(Path(name).parent) == largest]


def _members(source: Path) -> list[Path]:
    return [path.relative_to(source) for path in modules(source) if path.name != "__init__.py"]


def _folders(source: Path) -> Counter[str]:
    return Counter(str(path.parent) for path in _members(source))


def notes_to_tools(source: Path) -> list[str]:
    """Lines with a note to the mutation runner; its lists are in tools/mutation."""
    return [
        f"{path.relative_to(source)}:{number}"
        for path in modules(source)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if "# mutate" in line
    ]


def unchecked_tests(source: Path) -> list[str]:
    """Modules of tests whose types are not checked yet, as `pyproject.toml` lists them."""
    settings = source.parents[1] / "pyproject.toml"
    if not settings.exists():
        return []
    exceptions = tomllib.loads(settings.read_text(encoding="utf-8"))["tool"]["mypy"]["overrides"]
    return [name for part in exceptions if part.get("ignore_errors") for name in part["module"]]
