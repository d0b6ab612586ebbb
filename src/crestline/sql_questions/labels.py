"""Columns, functions of one column and conditions, as SQL writes them, in the words of a question
(docs/reference/where.md)."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from crestline.sources.expression.column_functions import TIMES, ColumnFunction
from crestline.sql_questions.refusals import not_supported, whole_number

if TYPE_CHECKING:
    from sqlglot.expressions import Cast, Column
    from sqlglot.expressions import Expr as Node

_QUOTED = re.compile(r"""('(?:[^']|'')*'|"(?:[^"]|"")*")""")
_WHOLE = ("year(", "quarter(", "month(", "week(", "hour(")  # functions whose values are whole numbers
_LAYOUTS = ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M:%S.%f")
_PARTS = {"year": ("year",), "month": ("year", "month"), "quarter": ("year", "quarter"), "day": ("date",)}
_KNOWN = (
    "labels are columns, or one of these functions of a column: year, quarter, month, week, hour and date of a time; "
    "date_trunc to the year, quarter, month or day; lower, trim, left(x, 3) and floor(x / 10) * 10"
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


Resolve: TypeAlias = "Callable[[Column], LabelExpression]"


def find_name(name: str, known: Collection[str], *, quoted: bool = False) -> str | None:
    """The known name that an identifier means: the same, or, without quotes, the only one in other letters' case."""
    if name in known or quoted:
        return name if name in known else None
    alike = [one for one in known if one.lower() == name.lower()]
    return alike[0] if len(alike) == 1 else None


def read_label(node: Node, resolve: Resolve) -> LabelExpression:
    """The columns of a question that a SQL expression groups by; `resolve` gives what a column is.

    Raises:
        SqlError: It is no column, and no function that a question knows.
    """
    from sqlglot import exp

    node = node.unnest()
    if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
        return resolve(node)
    if isinstance(node, exp.Cast):
        return _read_cast(node, resolve)
    if isinstance(node, exp.TimestampTrunc | exp.DateTrunc):
        unit = str(node.args["unit"].name).lower()
        if unit not in _PARTS:
            raise not_supported(node, "a time is cut to the year, quarter, month or day")
        column = _single_column(node.this, resolve)
        parts = tuple(_write_call(part, column) for part in _PARTS[unit])
        return LabelExpression(parts, unit if unit != "day" else "")
    call = _function_of(node)
    if call is None:
        raise not_supported(node, _KNOWN)
    function, argument, number = call
    return LabelExpression((_write_call(function, _single_column(argument, resolve), number),))


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


def _single_column(node: Node, resolve: Resolve) -> str:
    """The column inside a function, also where it is cast to a time first."""
    from sqlglot import exp

    if isinstance(node, exp.Cast) and node.to.is_type(*exp.DataType.TEMPORAL_TYPES):
        node = node.this
    label = read_label(node, resolve)
    if len(label.columns) != 1 or ColumnFunction.parse(label.columns[0]) is not None:
        raise not_supported(node, "a function takes a column, not another function")
    return label.columns[0]


def _read_cast(node: Cast, resolve: Resolve) -> LabelExpression:
    """A cast to a date is the day of a time; one to text, or of a cut time or part, changes nothing that is grouped."""
    from sqlglot import exp

    label = read_label(node.this, resolve)
    whole = node.to.is_type(*exp.DataType.INTEGER_TYPES) and label.columns[0].startswith(_WHOLE)
    if label.truncated_to or whole or node.to.is_type(*exp.DataType.TEXT_TYPES):
        return label
    if not node.to.is_type("date"):
        raise not_supported(node, "a label is cast to a date or to text only")
    days = label.columns[0].startswith("date(")
    return label if days else LabelExpression((_write_call("date", _single_column(node.this, resolve)),))


def _function_of(node: Node) -> tuple[str, Node, int | None] | None:
    """The function of a question that a SQL function means, its argument, and its number; None: there is none."""
    from sqlglot import exp

    plain: dict[type[Node], str] = {
        exp.Year: "year", exp.Quarter: "quarter", exp.Month: "month", exp.Week: "week", exp.Hour: "hour",
        exp.Date: "date", exp.TsOrDsToDate: "date", exp.Lower: "lower", exp.Trim: "trim",
    }  # fmt: skip
    known = plain.get(type(node))
    if known is not None and not any(value for name, value in node.args.items() if name != "this"):
        return known, node.this, None
    numbered: tuple[str, Node, Node | None] | None = None
    if isinstance(node, exp.Extract) and str(node.name).lower() in TIMES:
        return str(node.name).lower(), node.expression, None
    if isinstance(node, exp.Left):
        numbered = ("prefix", node.this, node.expression)
    elif isinstance(node, exp.Substring) and whole_number(node.args.get("start")) == 1:
        numbered = ("prefix", node.this, node.args.get("length"))
    elif isinstance(node, exp.Anonymous) and node.name.lower() in ("prefix", "bucket") and len(node.expressions) == 2:
        numbered = (node.name.lower(), node.expressions[0], node.expressions[1])
    elif isinstance(node, exp.Mul) and isinstance(node.this, exp.Floor):
        inner = node.this.this.unnest()
        if isinstance(inner, exp.Div) and whole_number(inner.expression) == whole_number(node.expression):
            numbered = ("bucket", inner.this, node.expression)
    number = None if numbered is None else whole_number(numbered[2])
    return None if numbered is None or number is None else (numbered[0], numbered[1], number)


def write_condition(node: Node, resolve: Resolve) -> str:
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
        cast = isinstance(part, exp.Cast) and not isinstance(part.this, exp.Literal)
        if (
            not cast
            and not isinstance(part, exp.Column | exp.TimestampTrunc | exp.DateTrunc)
            and not _function_of(part)
        ):
            return part
        columns = read_label(part, resolve).columns
        if len(columns) != 1:
            raise not_supported(part, "compare the time itself with the first day and the day after the last")
        return parse_one(columns[0] if ColumnFunction.parse(columns[0]) is not None else write_name(columns[0]))

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
    if layout is not None and str(layout.name) not in _LAYOUTS:
        raise not_supported(node, "write dates as '2026-03-01', times as '2026-03-01 12:00:00'")
    text = str(written.this)
    return text.removesuffix(".000000") if isinstance(node, exp.StrToTime) else text
