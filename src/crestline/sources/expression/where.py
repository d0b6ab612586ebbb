"""`where`: one boolean expression, read into a small tree of our own (docs/reference/where.md).

sqlglot reads the text; only the shapes below are taken over, and everything else is refused by name. The engine gets an
Ibis expression built from this tree, so no character of the text ever reaches it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, TypeAlias

from crestline.errors import QuestionError
from crestline.sources.expression.column_functions import NUMBERED, TEXTS, TIMES, ColumnFunction, base_column

if TYPE_CHECKING:
    from sqlglot.expressions import Expr as SqlNode

Value: TypeAlias = str | bool | Decimal

_LONGEST = 20_000
_MOST_CONDITIONS = 200
_DEEPEST = 20
_NUMBER = re.compile(r"(?=.{1,60}$)(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)


@dataclass(frozen=True)
class _ColumnCondition:
    """A condition on the values of one column."""

    column: str


@dataclass(frozen=True)
class Compare(_ColumnCondition):
    """`column operator value`, the operator one of = <> < <= > >=."""

    operator: str
    value: Value


@dataclass(frozen=True)
class In(_ColumnCondition):
    """`column in (values)`."""

    values: tuple[Value, ...]


@dataclass(frozen=True)
class Between(_ColumnCondition):
    """`column between low and high`, both ends included."""

    low: Value
    high: Value


@dataclass(frozen=True)
class Like(_ColumnCondition):
    """`column like pattern`: % stands for any text, _ for one character."""

    pattern: str


@dataclass(frozen=True)
class IsNull(_ColumnCondition):
    """`column is null`."""


@dataclass(frozen=True)
class Not:
    """`not part`."""

    part: Condition


@dataclass(frozen=True)
class And:
    """Parts joined by `and`."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Or:
    """Parts joined by `or`."""

    parts: tuple[Condition, ...]


Condition: TypeAlias = Compare | In | Between | Like | IsNull | Not | And | Or

_FLIPPED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def parse_filter(text: str) -> Condition:
    """The tree of a filter. Refuses whatever is not on the list, and says which part it was."""
    if not isinstance(text, str) or not text.strip():
        raise QuestionError("where must be a boolean expression such as: country = 'DE' and day >= '2026-01-01'")
    if len(text) > _LONGEST:
        raise QuestionError(
            f"where is longer than {_LONGEST} characters; keep the values in a table and ask a view of it"
        )
    return _Reader().condition(_parse_sql(text), 0)


def columns(tree: Condition) -> set[str]:
    """The columns a filter looks at."""
    match tree:
        case Not(part):
            return columns(part)
        case And(parts) | Or(parts):
            return set().union(*map(columns, parts))
    return {base_column(tree.column)}


def _parse_sql(text: str) -> SqlNode:
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        trees = sqlglot.parse(text)
    except (SqlglotError, RecursionError, ValueError):
        trees = []
    if len(trees) != 1 or trees[0] is None:
        raise QuestionError(
            "where could not be read: write one boolean expression; text in 'single quotes', odd column names in "
            '"double quotes"'
        )
    return trees[0]


class _Reader:
    """Walks a sqlglot tree once, and counts the conditions on the way."""

    def __init__(self) -> None:
        from sqlglot import exp

        self._exp = exp
        self._conditions = 0
        self._functions = {getattr(exp, name.capitalize()): name for name in (*TIMES, *TEXTS)}
        self._operators = {
            exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
        }  # fmt: skip

    def condition(self, node: SqlNode, depth: int) -> Condition:
        """A boolean expression."""
        exp, kind = self._exp, type(node)
        if depth > _DEEPEST:
            raise QuestionError(f"where is nested deeper than {_DEEPEST} levels")
        if kind is exp.Paren:
            return self.condition(self._refuse_other_parts(node, "this").this, depth + 1)
        if kind is exp.Not:
            return Not(self.condition(self._refuse_other_parts(node, "this").this, depth + 1))
        if kind in (exp.And, exp.Or):
            parts = tuple(self.condition(part, depth + 1) for part in node.flatten(unnest=False))
            return And(parts) if kind is exp.And else Or(parts)
        self._conditions += 1
        if self._conditions > _MOST_CONDITIONS:
            raise QuestionError(f"where has more than {_MOST_CONDITIONS} conditions; use `in` for lists of values")
        return self._read_leaf(node, kind)

    def _read_leaf(self, node: SqlNode, kind: type) -> Condition:
        exp = self._exp
        if kind is exp.Column:
            return Compare(self._column(node), "=", True)
        if kind in self._operators:
            return self._read_comparison(self._refuse_other_parts(node, "this", "expression"), self._operators[kind])
        if kind is exp.In and node.expressions:
            self._refuse_other_parts(node, "this", "expressions")
            return In(self._column(node.this), tuple(self._read_value(value) for value in node.expressions))
        if kind is exp.Between:
            self._refuse_other_parts(node, "this", "low", "high")
            return Between(
                self._column(node.this), self._read_value(node.args["low"]), self._read_value(node.args["high"])
            )
        if kind is exp.Like:
            like = Like(
                self._column(node.this),
                self._read_pattern(self._refuse_other_parts(node, "this", "expression", "negate").expression),
            )
            return Not(like) if node.args.get("negate") else like  # newer sqlglot; older ones wrap it in Not
        if kind is exp.Is and type(node.expression) is exp.Null:
            return IsNull(self._column(self._refuse_other_parts(node, "this", "expression").this))
        raise self._not_allowed_error(node)

    def _read_comparison(self, node: SqlNode, operator: str) -> Condition:
        left, right = node.this, node.expression
        if type(left) in (self._exp.Column, self._exp.Anonymous, *self._functions):
            name = self._column(left)
            if type(right) is self._exp.Column:
                how = "in double" if getattr(right.this, "quoted", False) else "without"
                text = "'{}'".format(right.name.replace("'", "''"))
                raise QuestionError(
                    f"{_quote_part(right)[1:-1]} {how} quotes is a column, and a column is compared with values; text "
                    f"goes in single quotes: {text}"
                )
            return Compare(name, operator, self._read_value(right))
        value = self._read_value(left)
        return Compare(self._column(right), _FLIPPED[operator], value)

    def _column(self, node: SqlNode) -> str:
        function = self._functions.get(type(node))
        if function is not None:
            return str(ColumnFunction(function, self._column(self._refuse_other_parts(node, "this").this)))
        if type(node) is self._exp.Anonymous and str(node.this).lower() in NUMBERED:
            return self._function_call(node)
        if type(node) is not self._exp.Column or type(node.this) is not self._exp.Identifier:
            raise self._not_allowed_error(node)
        return str(self._refuse_other_parts(node, "this").this.this)

    def _function_call(self, node: SqlNode) -> str:
        """A function of a column and a whole number."""
        if len(node.expressions) != 2 or type(node.expressions[1]) is not self._exp.Literal:
            raise self._not_allowed_error(node)
        name, number = node.expressions
        if number.is_string or not str(number.this).isdecimal():
            raise self._not_allowed_error(node)
        return str(ColumnFunction(str(node.this).lower(), self._column(name), int(str(number.this)[:12])))

    def _read_value(self, node: SqlNode) -> Value:
        exp = self._exp
        if type(node) is exp.Neg and type(node.this) is exp.Literal and not node.this.is_string:
            return -self._read_number(node.this)
        if type(node) is exp.Boolean:
            return bool(node.this)
        if type(node) is exp.Null:
            raise QuestionError("nothing equals null; write `is null` or `is not null`")
        if type(node) is exp.Cast:
            return self._read_moment(node)
        if type(node) is not exp.Literal:
            raise self._not_allowed_error(node)
        return self._read_text(node) if node.is_string else self._read_number(node)

    def _read_moment(self, node: SqlNode) -> str:
        """`date '2026-03-01'` and `timestamp '2026-03-01 12:00:00'`: the text, which its column's type reads anyway."""
        readers = {"DATE": date.fromisoformat, "TIMESTAMP": datetime.fromisoformat}
        written, read = node.this, readers.get(node.args["to"].sql())
        if type(written) is not self._exp.Literal or not written.is_string or read is None:
            raise self._not_allowed_error(node)
        try:
            read(str(written.this))
        except ValueError:
            raise QuestionError(
                f"{_quote_part(written)} is no such moment: write date '2026-03-01' or timestamp '2026-03-01 12:00:00'"
            ) from None
        return self._read_text(written)

    def _read_number(self, node: SqlNode) -> Decimal:
        text = str(node.this)
        number = Decimal(text) if _NUMBER.fullmatch(text) else Decimal("nan")
        if not (number.is_finite() and -300 <= number.adjusted() <= 300):
            raise QuestionError("where holds a number that is too long, too large, or not written as 12, -0.5 or 1e6")
        return number

    def _read_text(self, node: SqlNode) -> str:
        text = str(node.this)
        if "\0" in text:
            raise QuestionError("where holds text with a zero byte, which engines do not store")
        return text

    def _read_pattern(self, node: SqlNode) -> str:
        pattern = self._read_value(node)
        if not isinstance(pattern, str):
            raise self._not_allowed_error(node)
        if "\\" in pattern:
            raise QuestionError(
                "a backslash in a `like` pattern means different things to different engines; leave it out"
            )
        return pattern

    def _refuse_other_parts(self, node: SqlNode, *allowed: str) -> SqlNode:
        """The node, if it says nothing beyond these parts (`between symmetric`, `t.column`, ...)."""
        if any(value for name, value in node.args.items() if name not in allowed):
            raise self._not_allowed_error(node)
        return node

    def _not_allowed_error(self, node: SqlNode) -> QuestionError:
        return QuestionError(
            f"where may not contain {_quote_part(node)}: only columns, or functions of one, compared with values, and, "
            "or, not, in, between, like, is null"
        )


def _quote_part(node: SqlNode) -> str:
    """The offending part, as it was written, shortened. It is the caller's own text and no data."""
    text = node.sql() if hasattr(node, "sql") else str(node)
    return repr(text if len(text) <= 80 else text[:77] + "...")
