"""Mutants of a module: one changed constant, sign or comparison each. `run.py` runs the tests against them."""

from __future__ import annotations

import ast
import copy
import io
import tokenize
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "crestline"
UNCHANGED = -1
"""The variant of a mutant that is none: what its tests do then is a control of the run."""

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
    last: int
    words: str
    function: str
    text: str
    on_import: bool = False
    number: int = 0
    """Which one it is of those with the same change in equal lines of the module."""

    @property
    def name(self) -> str:
        """What tells it apart from all others, and is the same wherever its line stands."""
        return f"{self.change} #{self.number}"

    @property
    def change(self) -> str:
        """The module, the line without its comment and what is changed in it, wherever the line stands."""
        return f"{self.module.relative_to(SOURCE)}: {self.text}: {self.words.split('  ', 1)[1]}"

    @property
    def place_of_line(self) -> str:
        """The module, the function (`-` outside of any) and the line without its comment."""
        return f"{self.module.relative_to(SOURCE)}: {self.function}: {self.text}"

    def __str__(self) -> str:
        return f"{self.module.relative_to(SOURCE)}:{self.words}"


def mutants(module: Path, unmutated: Container[str] = ()) -> Iterator[Mutant]:
    """Every mutant of a module, in the order of the source, but for those of lines that have none."""
    alike = Counter[str]()
    for mutant in _every(module):
        if mutant.place_of_line not in unmutated:
            yield replace(mutant, number=alike[mutant.change])
            alike[mutant.change] += 1


def exempt(module: Path, unmutated: Mapping[str, str]) -> list[tuple[str, int]]:
    """The lines of a module that have no mutants: the reason, and how many mutants the line would have."""
    many = Counter(mutant.place_of_line for mutant in _every(module))
    return [(unmutated[place], count) for place, count in many.items() if place in unmutated]


def _every(module: Path) -> Iterator[Mutant]:
    text = module.read_text()
    lines, tree = code_lines(text), ast.parse(text)
    quiet, statements, later, functions = _quiet(tree), _statements(tree), _on_call(tree), _functions(tree)
    for place, node in enumerate(ast.walk(tree)):
        line = getattr(node, "lineno", 0)
        if id(node) in quiet or not line:
            continue
        for variant, changed in enumerate(variants(node)):
            words = f"{ast.unparse(node)}  →  {ast.unparse(changed)}"
            first, last = statements.get(id(node), (line, line))
            where = f"{line}:{node.col_offset}"  # type: ignore[attr-defined] # it has a line
            said = f"{where}  {' '.join(words.split())[:120].rstrip()}"
            function, code = functions.get(id(node), "-"), lines[line - 1]
            yield Mutant(module, place, variant, first, last, said, function, code, id(node) not in later)


def code_lines(text: str) -> list[str]:
    """The lines without their comments and without space at either end: what is said of a line outlives both."""
    lines = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    return [line.strip() for line in lines]


def _functions(tree: ast.AST, outer: str = "") -> dict[int, str]:
    """The qualified name of the function (or class) around each node that is in one."""
    found: dict[int, str] = {}
    for node in ast.iter_child_nodes(tree):
        inner = outer
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = f"{outer}.{node.name}".lstrip(".")
        found |= {id(node): inner} if inner else {}
        found |= _functions(node, inner)
    return found


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
    if mutant.variant == UNCHANGED:
        return tree
    target = next(node for place, node in enumerate(ast.walk(tree)) if place == mutant.place)
    new = ast.copy_location(list(variants(target))[mutant.variant], target)
    _Swap(target, new).visit(tree)
    return ast.fix_missing_locations(tree)


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
    """Nodes that do nothing at run time, or only save time: annotations, sizes of caches, options of dataclasses.

    `strict=` of a zip is one of them: it guards against a fault that is not there.
    """
    quiet: set[int] = set()
    for node in ast.walk(tree):
        parts: list[ast.AST | None] = []
        if isinstance(node, ast.AnnAssign | ast.arg):
            parts = [node.annotation]
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            parts = [node.returns]
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value) in ("Literal", "Annotated"):
            parts = [node]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "zip":
            parts = [keyword for keyword in node.keywords if keyword.arg == "strict"]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("lru_cache", "dataclass", "field"):
            parts = [] if node.args else [node]  # options have names; a `field` of our own has none
        for part in parts:
            quiet |= {id(inner) for inner in ast.walk(part)} if part is not None else set()
    return quiet


def _on_call(tree: ast.AST) -> set[int]:
    """Nodes that run when a function is called; the others run once, whoever imports the module first."""
    bodies = (node.body for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return {id(inner) for body in bodies for statement in body for inner in ast.walk(statement)}


def _statements(tree: ast.AST) -> dict[int, tuple[int, int]]:
    """The lines of the innermost statement around each node; of a compound one, only its head."""
    spans: dict[int, tuple[int, int]] = {}
    for node in ast.walk(tree):  # outer statements come first, and inner ones overwrite them
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            last = body[0].lineno - 1 if isinstance(body, list) and body else node.end_lineno or node.lineno
            for inner in ast.walk(node):
                spans[id(inner)] = (node.lineno, max(node.lineno, last))
    return spans
