"""What is counted in the source. Each figure lists what it counts, so that a number can be looked into."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

MOST_PARAMETERS = 7
# What a mechanism is called where it is asked for an attribute that it may not have.
_A_MECHANISM = re.compile(r"(^|\.)(mechanism|inner|selection|whole_one)$|\.load\(\)$")
_IRREGULAR = re.compile(
    "kept|told|drawn|held|said|found|made|given|shown|sent|left|known|taken|written|met|paid|spent|won|lost|seen|done|gone"
    "|built"
)
_NO_PARTICIPLES = {"speed", "need", "seed", "feed", "embed", "shed"}
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


def lines(source: Path) -> int:
    """Lines of Python, templates and style sheets."""
    kinds = ("*.py", "*.html", "*.jinja", "*.css", "*.js", "*.xml")
    return sum(path.read_text(encoding="utf-8").count("\n") for kind in kinds for path in source.rglob(kind))


def files(source: Path) -> int:
    """Python files."""
    return len(modules(source))


def functions(source: Path) -> int:
    """Functions and methods, nested ones included."""
    return sum(1 for _ in _nodes(source, ast.FunctionDef, ast.AsyncFunctionDef))


def import_share(source: Path) -> float:
    """Lines of import statements, in per cent of all lines of Python."""
    imports = sum(
        (node.end_lineno or node.lineno) - node.lineno + 1 for _, node in _nodes(source, ast.Import, ast.ImportFrom)
    )
    return round(100 * imports / sum(path.read_text(encoding="utf-8").count("\n") for path in modules(source)), 1)


def participles(source: Path) -> list[str]:
    """Functions named by a past participle alone, such as `kept`: it says neither what is done nor to what."""
    return [
        f"{place}  {node.name}"
        for place, node in _nodes(source, ast.FunctionDef, ast.AsyncFunctionDef)
        if isinstance(node, _Function) and _is_participle(node.name.strip("_"))
    ]


def _is_participle(name: str) -> bool:
    regular = re.fullmatch(r"[a-z]+ed", name) is not None and name not in _NO_PARTICIPLES
    return _IRREGULAR.fullmatch(name) is not None or regular


def imported_once(source: Path) -> list[str]:
    """Modules that exactly one other module imports: pieces of it that stand in a file of their own."""
    names = {".".join((source.name, *_member(path, source))): path for path in modules(source)}
    importers: dict[str, set[str]] = {name: set() for name in names}
    for name, path in names.items():
        for target in _imported(path):
            if target in importers:
                importers[target].add(name)
    return [name for name, by in sorted(importers.items()) if len(by) == 1 and names[name].name not in ("__init__.py",)]


def _member(path: Path, source: Path) -> tuple[str, ...]:
    parts = path.relative_to(source).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def _imported(path: Path) -> Iterator[str]:
    """Every dotted name that a module imports, as a module or from one."""
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def any_aliases(source: Path) -> list[str]:
    """Annotations outside `sources` that name an alias of `Any`, such as `Column = Any`."""
    aliases = {
        target.id
        for path in modules(source)
        for node in nodes_of(path)
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and ast.unparse(node.value) == "Any"
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name) and target.id[0].isupper()
    }
    return [
        f"{place}  {name}: {kind}"
        for place, name, kind in _annotations(source)
        if not place.startswith("sources/") and aliases & set(re.findall(r"\w+", kind))
    ]


def mechanism_names(source: Path) -> list[str]:
    """Strings outside `mechanisms` and the rules of `auto` that name a mechanism of the catalogue."""
    catalogue = source / "mechanisms" / "catalogue.py"
    if not catalogue.exists():
        return []
    names = {
        argument.value
        for node in nodes_of(catalogue)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "CatalogueEntry"
        for argument in node.args[:1]
        if isinstance(argument, ast.Constant)
    }
    return [
        f"{inside}:{node.lineno}  {node.value}"
        for path in modules(source)
        for inside in [path.relative_to(source)]
        if inside.parts[0] != "mechanisms" and inside.parts != ("prepare", "auto_rules.py")
        for node in nodes_of(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in names
    ]


def readers_of_by(source: Path) -> list[str]:
    """Modules that read `question.by`."""
    return [
        str(path.relative_to(source))
        for path in modules(source)
        if re.search(r"\b(question|asked)\.by\b", path.read_text(encoding="utf-8"))
    ]


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
