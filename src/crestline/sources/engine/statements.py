"""From an expression to the text of a statement: written by Ibis, once, and kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from crestline.sources.engine.bind_parameters import Values
from crestline.sources.engine.cache_owner import cache_owner
from crestline.sources.engine.connection import Engine
from crestline.sources.engine.dialects.functions import Expression, SqlNode, rewrite_tree

_KEPT = 1024


@dataclass(frozen=True)
class Statement:
    """The text of a statement, and the places whose values are bound to it, in the order of their numbers.

    tree    where values are written into the statement as literals (PostgreSQL): what its text is made from
    plain   whether its rows can be fetched as they are: no table of this process in it, and no moment with a zone
    whole   which of its columns are whole numbers
    """

    text: str
    parameters: tuple[str, ...]
    plain: bool
    whole: tuple[bool, ...]
    tree: SqlNode = None

    def parameter_values(self, values: Values) -> list[str]:
        """The values in their places, one for each number."""
        return [values[place] for place in self.parameters]

    def text_with_literals(self, engine: Engine, values: Values) -> str:
        """The text with the values written into it, as literals of the tree that it is made from."""
        from sqlglot import exp

        if self.tree is None:
            return self.text
        tree = _replace_parameters(self.tree, values, lambda place: exp.Literal.string(values[place]))
        return _statement_text(engine, tree, values)


class Statements:
    """The statements of one connection. What was written for one asker is not used for another, so that nobody
    learns from a time what somebody else has asked."""

    def __init__(self, engine: Engine, *, numbered: bool) -> None:
        self._engine = engine
        self._numbered = numbered
        self._kept: dict[tuple[str, object], Statement] = {}

    def statement_of(self, expression: Expression, values: Values) -> Statement:
        """The statement of an expression with places for these values. One thread at a time may ask."""
        name = (cache_owner(), expression.op())
        found = self._kept.pop(name, None)
        if found is None:
            found = compile_statement(self._engine, expression, values, numbered=self._numbered)
            if not found.plain:
                return found
            while len(self._kept) >= _KEPT:
                del self._kept[next(iter(self._kept))]
        self._kept[name] = found  # the last used is the last to go
        return found


def compile_statement(engine: Engine, expression: Expression, values: Values, *, numbered: bool) -> Statement:
    """The statement of an expression, with places for these values: parameters with numbers, or literals of a tree."""
    from ibis.expr.operations import InMemoryTable
    from sqlglot import exp

    kinds = expression.schema().types
    plain = not any(kind.is_timestamp() and kind.timezone for kind in kinds)
    if expression.op().find(InMemoryTable):  # a table of this process becomes known to the engine each time
        engine._run_pre_execute_hooks(expression)
        plain = False
    whole = tuple(kind.is_integer() for kind in kinds)
    if not values:
        return Statement(engine.compile(expression), (), plain, whole)
    tree = engine.compiler.to_sqlglot(expression)
    if not numbered:
        return Statement("", tuple(values), plain, whole, tree)
    order: dict[str, int] = {}

    def numbered_parameter(place: str) -> SqlNode:
        return exp.Parameter(this=exp.Literal.number(order.setdefault(place, len(order) + 1)))

    text = _statement_text(engine, _replace_parameters(tree, values, numbered_parameter), values)
    return Statement(text, tuple(order), plain, whole)


def _replace_parameters(tree: SqlNode, places: Values, made: Callable[[str], SqlNode]) -> SqlNode:
    """A copy of the tree with something else in its places; those are whole texts, and never a part of one."""
    from sqlglot import exp

    def change_node(node: SqlNode) -> SqlNode:
        return made(node.this) if isinstance(node, exp.Literal) and node.is_string and node.this in places else node

    return rewrite_tree(tree, change_node)


def _statement_text(engine: Engine, tree: SqlNode, places: Values) -> str:
    """The text of a tree in which no place is left: the values of all are bound or written."""
    from sqlglot import ErrorLevel

    text = str(tree.sql(dialect=engine.dialect, copy=False, unsupported_level=ErrorLevel.RAISE))
    if any(place in text for place in places):
        raise AssertionError("a place was left in a statement")
    return text
