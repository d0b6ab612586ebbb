"""Columns, and functions of one column, as SQL writes them, in the words of a question (docs/reference/where.md)."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crestline.sources.expression.column_functions import TIMES, ColumnFunction
from crestline.sql_questions.refusals import (
    NO_SUCH_COLUMN,
    NO_SUCH_TABLE,
    NOT_PERMITTED,
    SqlError,
    not_supported,
    whole_number,
)

if TYPE_CHECKING:
    from sqlglot.expressions import Cast, Column
    from sqlglot.expressions import Expr as Node

_QUOTED = re.compile(r"""('(?:[^']|'')*'|"(?:[^"]|"")*")""")
_WHOLE = ("year(", "quarter(", "month(", "week(", "hour(")  # functions whose values are whole numbers
_TIME_FUNCTIONS = (
    "year, quarter, month, week, hour and date of a time; date_trunc to the year, quarter, month or day; lower, trim, "
    "left(x, 3) and floor(x / 10) * 10"
)


@dataclass(frozen=True)
class LabelExpression:
    """What a row is grouped by: columns of a question, and how their values are shown.

    Attributes:
        columns: One column or function of a column; year and month (or quarter) for a time cut to a month (quarter).
        truncated_to: "year", "month" or "quarter" where the columns are the parts of a time that was cut; else empty.
    """

    columns: tuple[str, ...]
    truncated_to: str = ""


@dataclass(frozen=True)
class Scope:
    """The names that a query may use.

    Attributes:
        qualifiers: Lower-case names of the table and its aliases.
        names: Names that an inner query gave to label expressions.
        columns: Columns of the table that it sees; None: they are not known here, and the source checks them.
        users: Names under which it sees the column that holds the user.
    """

    qualifiers: frozenset[str]
    names: Mapping[str, LabelExpression]
    columns: Collection[str] | None
    users: frozenset[str]

    def resolve(self, node: Column) -> LabelExpression:
        """The label expression of a column.

        Raises:
            SqlError: There is no such table or column, or the column holds the user.
        """
        if node.table and node.table.lower() not in self.qualifiers:
            raise SqlError(NO_SUCH_TABLE, f"there is no table {node.table!r} in this query")
        given = find_name(node.name, self.names, quoted=bool(node.this.args.get("quoted")))
        if given is not None:
            return self.names[given]
        name = self._column_name(node)
        if name in self.users:
            raise SqlError(
                NOT_PERMITTED,
                f"{name!r} holds the user, whose presence is hidden: it is counted with COUNT(DISTINCT {name}) and "
                "cannot be selected, grouped by or filtered",
            )
        return LabelExpression((name,))

    def is_user(self, node: Node) -> bool:
        """Whether a node is the column that holds the user."""
        from sqlglot import exp

        if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
            return False
        quoted = bool(node.this.args.get("quoted"))
        known = find_name(node.name, self.names, quoted=quoted)
        return known is None and find_name(node.name, self.users, quoted=quoted) is not None

    def _column_name(self, node: Column) -> str:
        known = {*(self.columns or ()), *self.users}
        name = find_name(node.name, known, quoted=bool(node.this.args.get("quoted")))
        if name is not None:
            return name
        if self.columns is not None:
            raise SqlError(
                NO_SUCH_COLUMN, f"there is no column {node.name!r}; columns are: {', '.join(sorted(self.columns))}"
            )
        return str(node.name)


def find_name(name: str, known: Collection[str], *, quoted: bool = False) -> str | None:
    """The known name that an identifier means: the same, or, without quotes, the only one in other letters' case."""
    if name in known or quoted:
        return name if name in known else None
    alike = [one for one in known if one.lower() == name.lower()]
    return alike[0] if len(alike) == 1 else None


def read_label(node: Node, scope: Scope) -> LabelExpression:
    """The columns of a question that a SQL expression groups by.

    Raises:
        SqlError: It is no column, and no function that a question knows.
    """
    from sqlglot import exp

    node = node.unnest()
    if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
        return scope.resolve(node)
    if isinstance(node, exp.TimestampTrunc | exp.DateTrunc):
        return _cut_time(node, scope)
    if isinstance(node, exp.Cast):
        return _read_cast(node, scope)
    call = _function_of(node)
    if call is None:
        raise not_supported(node, f"labels are columns, or one of these functions of a column: {_TIME_FUNCTIONS}")
    function, argument, number = call
    return LabelExpression((_write_call(function, _single_column(argument, scope), number),))


def write_name(column: str) -> str:
    """A column as filters and functions name it: in double quotes where it would not be read as a column without."""
    from sqlglot import ParseError, exp, parse_one

    try:
        plain = parse_one(column)
    except ParseError:
        plain = None
    if isinstance(plain, exp.Column) and column == column.lower() and plain.sql() == column and not plain.table:
        return column
    return '"{}"'.format(column.replace('"', '""'))


def _write_call(function: str, column: str, number: int | None = None) -> str:
    """A function of a column, as a person would write it."""
    call = ColumnFunction(function, column, number)  # checks the number
    return f"{function}({write_name(column)}" + (")" if call.number is None else f", {call.number})")


def _single_column(node: Node, scope: Scope) -> str:
    """The column inside a function, also where it is cast to a time first."""
    from sqlglot import exp

    if isinstance(node, exp.Cast) and node.to.is_type(*exp.DataType.TEMPORAL_TYPES):
        node = node.this
    label = read_label(node, scope)
    if len(label.columns) != 1 or ColumnFunction.parse(label.columns[0]) is not None:
        raise not_supported(node, "a function takes a column, not another function")
    return label.columns[0]


def _cut_time(node: Node, scope: Scope) -> LabelExpression:
    """`date_trunc`: the year alone, the day, or the year with the month or quarter."""
    unit, column = str(node.args["unit"].name).lower(), _single_column(node.this, scope)
    parts = {"year": ("year",), "month": ("year", "month"), "quarter": ("year", "quarter"), "day": ("date",)}.get(unit)
    if parts is None:
        raise not_supported(node, "a time is cut to the year, quarter, month or day")
    columns = tuple(_write_call(part, column) for part in parts)
    return LabelExpression(columns, unit if unit != "day" else "")


def _read_cast(node: Cast, scope: Scope) -> LabelExpression:
    """A cast to a date is the day of a time; one to text, or of a cut time or part, changes nothing that is grouped."""
    from sqlglot import exp

    label = read_label(node.this, scope)
    if label.truncated_to or node.to.is_type(*exp.DataType.TEXT_TYPES):
        return label
    if node.to.is_type("date"):
        whole_days = label.columns[0].startswith("date(")
        return label if whole_days else LabelExpression((_write_call("date", _single_column(node.this, scope)),))
    if node.to.is_type(*exp.DataType.INTEGER_TYPES) and label.columns[0].startswith(_WHOLE):
        return label
    raise not_supported(node, "a label is cast to a date or to text only")


def _function_of(node: Node) -> tuple[str, Node, int | None] | None:
    """The function of a question that a SQL function means, its argument, and its number; None: there is none."""
    from sqlglot import exp

    if isinstance(node, exp.Extract) and str(node.name).lower() in TIMES:
        return str(node.name).lower(), node.expression, None
    plain: dict[type[Node], str] = {exp.Year: "year", exp.Quarter: "quarter", exp.Month: "month", exp.Week: "week",
             exp.Hour: "hour", exp.Date: "date", exp.TsOrDsToDate: "date", exp.Lower: "lower"}  # fmt: skip
    if (known := plain.get(type(node))) is not None and _has_only(node, "this"):
        return known, node.this, None
    if isinstance(node, exp.Trim) and _has_only(node, "this"):
        return "trim", node.this, None
    if isinstance(node, exp.Left):
        return _with_number("prefix", node.this, node.expression)
    if isinstance(node, exp.Substring) and whole_number(node.args.get("start")) == 1:
        return _with_number("prefix", node.this, node.args.get("length"))
    if isinstance(node, exp.Mul) and isinstance(node.this, exp.Floor):
        inner = node.this.this.unnest()
        if isinstance(inner, exp.Div) and whole_number(inner.expression) == whole_number(node.expression):
            return _with_number("bucket", inner.this, node.expression)
    if (
        isinstance(node, exp.Anonymous)
        and str(node.this).lower() in ("prefix", "bucket")
        and len(node.expressions) == 2
    ):
        return _with_number(str(node.this).lower(), *node.expressions)
    return None


def _with_number(function: str, argument: Node, number: Node | None) -> tuple[str, Node, int] | None:
    found = whole_number(number)
    return None if found is None else (function, argument, found)


def _has_only(node: Node, *parts: str) -> bool:
    return not any(value for name, value in node.args.items() if name not in parts)


def write_condition(node: Node, scope: Scope) -> str:
    """A condition of `WHERE` as a filter of a question, with the columns of the table itself.

    Raises:
        SqlError: It holds what a filter cannot hold.
    """
    from sqlglot import exp, parse_one

    def rewrite(part: Node) -> Node:
        if isinstance(part, exp.CurrentTimestamp | exp.CurrentDate | exp.CurrentTime | exp.Interval):
            raise not_supported(
                part, "its value changes from moment to moment, so each asking would be paid for; write the date itself"
            )
        if isinstance(part, exp.Subquery | exp.Select):
            raise not_supported(part, "a filter looks at one row by itself; ask a view that joins the tables")
        moment = _moment_text(part)
        if moment is not None:
            return exp.Literal.string(moment)
        if isinstance(part, exp.Column):
            return _as_node(scope.resolve(part), part)
        if isinstance(part, exp.TimestampTrunc | exp.DateTrunc) or (
            isinstance(part, exp.Cast) and not isinstance(part.this, exp.Literal)
        ):
            return _as_node(read_label(part, scope), part)
        return part if _function_of(part) is None else _as_node(read_label(part, scope), part)

    def _as_node(label: LabelExpression, part: Node) -> Node:
        if len(label.columns) != 1:
            raise not_supported(part, "compare the time itself with the first day and the day after the last")
        text = label.columns[0]
        return parse_one(text if ColumnFunction.parse(text) is not None else write_name(text))

    text = str(node.transform(rewrite).sql(comments=False))
    return "".join(part if part[:1] in "'\"" else part.lower() for part in _QUOTED.split(text))


def _moment_text(node: Node) -> str | None:
    """The text of a literal moment: `date '2026-03-01'`, `TO_DATE('2026-03-01', 'YYYY-MM-DD')`; None otherwise."""
    from sqlglot import exp

    written = node.this if isinstance(node, exp.Cast | exp.StrToDate | exp.StrToTime | exp.TsOrDsToDate) else None
    if not isinstance(written, exp.Literal) or not written.is_string:
        return None
    if isinstance(node, exp.Cast) and not node.to.is_type(*exp.DataType.TEMPORAL_TYPES):
        return None
    layout = node.args.get("format")
    if layout is not None and str(layout.name) not in ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M:%S.%f"):
        raise not_supported(node, "write dates as '2026-03-01', times as '2026-03-01 12:00:00'")
    text = str(written.this)
    return text.removesuffix(".000000") if isinstance(node, exp.StrToTime) else text
