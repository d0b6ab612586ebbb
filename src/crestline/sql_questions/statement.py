"""Read a SQL text: the one statement in it, as the fields of a question and the columns of its result.

`SELECT sku, COUNT(DISTINCT customer_id) FROM sales GROUP BY sku ORDER BY 2 DESC LIMIT 10` is the question for the ten
most popular items, with counts. sqlglot reads the text; nothing of it is executed.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from enum import Enum
from typing import TYPE_CHECKING, TypedDict, cast

from crestline.errors import QuestionError
from crestline.exact_numbers import Exact
from crestline.periods.calendar import Calendar
from crestline.question import QuestionFields
from crestline.sql_questions.labels import LabelExpression
from crestline.sql_questions.periods import split_periods
from crestline.sql_questions.reader import Measure, Output, Query, SqlTable, read_query, rows_error
from crestline.sql_questions.refusals import NOT_SUPPORTED, READ_ONLY, SYNTAX, SqlError

if TYPE_CHECKING:
    from sqlglot.expressions import Expr as Node
    from sqlglot.tokenizer_core import Token

LONGEST = 100_000
MOST_ITEMS = 500  # that a text without LIMIT, or with a larger one, asks for

_CLIP = "CONTRIBUTION_BOUNDS_PER_GROUP"
_EXPLAIN = re.compile(r"\s*EXPLAIN\b", re.IGNORECASE)

Parameter = str | int | float | bool | date | datetime | None


class SqlOptions(TypedDict, total=False):
    """Arguments of a question that a SQL text does not state."""

    epsilon: Exact | None
    delta: Exact | None
    clip: int | None
    contribution: int | None
    mechanism: str
    period: str | None
    since: str | None
    until: str | None
    last: int | None
    open: bool


class Kind(Enum):
    """What a statement asks for."""

    ASK = "an answer"
    PRICE = "a price"
    NOTHING = "rows that are known without a question"


class Role(Enum):
    """What a column of the result shows."""

    ITEM = "item"
    GROUP = "by"
    NUMBER = "number"
    RANK = "rank"
    CONSTANT = "constant"


@dataclass(frozen=True)
class SqlColumn:
    """A column of the result.

    Attributes:
        name: Its name.
        role: What it shows.
        parts: Which columns of the item, or of the group, it shows.
        truncated_to: "year", "month" or "quarter" where they are the parts of a time that was cut.
    """

    name: str
    role: Role
    parts: tuple[int, ...] = ()
    truncated_to: str = ""


@dataclass(frozen=True)
class Statement:
    """A SQL text that was read.

    Attributes:
        kind: What it asks for.
        fields: Arguments of the question; empty where there is none to ask.
        columns: Columns of the result.
        sort: Numbers of columns to sort by, each with whether it descends; empty: in the order of the answer.
        limit: Most rows of the result; None: all.
        constants: The one row of a text that names no table; None: the result has no row.
        notes: What the text says differently from what is counted.
    """

    kind: Kind
    fields: QuestionFields
    columns: tuple[SqlColumn, ...]
    sort: tuple[tuple[int, bool], ...] = ()
    limit: int | None = None
    constants: tuple[object, ...] | None = None
    notes: tuple[str, ...] = ()


def read_statement(
    text: str,
    table: SqlTable,
    *,
    parameters: Sequence[Parameter] = (),
    calendar: Calendar | None = None,
    most_items: int = MOST_ITEMS,
) -> Statement:
    """Read one SELECT, or EXPLAIN of one.

    Args:
        text: The SQL text; `$1` or `?` are parameters.
        table: What the text may name.
        parameters: Values of the parameters.
        calendar: Calendar of the budget, where it is by period: a condition on its time column names periods.
        most_items: Items that a text without LIMIT, or with a larger one, asks for.

    Raises:
        SqlError: The text is no question; the message says what to write instead.
        QuestionError: Conditions on the time column are not whole periods of the budget.
    """
    if not isinstance(text, str) or len(text) > LONGEST:
        raise SqlError(SYNTAX, f"a statement is a text of at most {LONGEST:,} characters")
    text, explains, stated = _cut_words(text, table)
    node = _simplify(_bind(_parse(text), parameters))
    if isinstance(free := _read_constants(node), Statement):
        return free
    query = read_query(node, table)
    if query.labels is None:
        raise rows_error()
    statement = _as_question(query, calendar, most_items)
    if query.never:
        return replace(statement, kind=Kind.NOTHING)
    fields = QuestionFields(**{**statement.fields, **stated})  # type: ignore[typeddict-item]
    return replace(statement, kind=Kind.PRICE if explains else Kind.ASK, fields=fields)


def join_options(fields: QuestionFields, options: Mapping[str, object]) -> QuestionFields:
    """The fields that a SQL text states, with those that it does not.

    Raises:
        QuestionError: A field is stated twice.
    """
    twice = sorted(name for name in options if name in fields and options[name] is not None)
    if twice:
        raise QuestionError(f"{twice[0]} is stated in the text and as an argument: leave one of them out")
    return cast("QuestionFields", {**options, **fields})


def _cut_words(text: str, table: SqlTable) -> tuple[str, bool, dict[str, object]]:
    """The text without words that sqlglot does not parse, whether EXPLAIN was one, and the fields that they state.

    They are EXPLAIN, WITH DIFFERENTIAL_PRIVACY OPTIONS(…), and contribution_bounds_per_group => (0, 10) within SUM.
    """
    explains = _EXPLAIN.match(text)
    text = text if explains is None else " " * explains.end() + text[explains.end() :]
    tokens, cuts, fields = _tokens(text), list[tuple[int, int]](), dict[str, object]()
    words = [token.text.upper() for token in tokens]
    if explains and (not words or words[0] not in ("SELECT", "WITH", "(")):
        raise SqlError(NOT_SUPPORTED, "EXPLAIN takes a SELECT and no options: it shows the price, and asks nothing")
    for place, word in enumerate(words):
        if word == "DIFFERENTIAL_PRIVACY" and words[max(0, place - 2) : place] == ["SELECT", "WITH"]:
            last = place
            if words[place + 1 : place + 3] == ["OPTIONS", "("]:
                last = words.index(")", place) if ")" in words[place:] else len(words) - 1
                fields |= _read_options(" ".join(token.text for token in tokens[place + 3 : last]), table)
            cuts.append((tokens[place - 1].start, tokens[last].end))
        elif words[place - 1 : place + 5] == [",", _CLIP, "=>", "(", "0", ","] and place + 6 < len(words):
            fields["clip"] = int(words[place + 5][:18]) if words[place + 5].isdecimal() else 0
            cuts.append((tokens[place - 1].start, tokens[place + 6].end))
    for start, end in reversed(cuts):
        text = text[:start] + text[end + 1 :]
    return text, bool(explains), fields


def _tokens(text: str) -> list[Token]:
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        return list(sqlglot.tokenize(text, read=_dialect(text)))
    except (SqlglotError, ValueError) as failure:
        raise _syntax_error(failure) from None


def _read_options(written: str, table: SqlTable) -> dict[str, object]:
    """The options of a differential privacy clause, such as `epsilon = 1 , delta = 1e-9`, as fields of a question."""
    fields = dict[str, object]()
    for part in filter(None, map(str.strip, written.split(","))):
        name, _, value = part.lower().partition(" = ")
        if name in ("epsilon", "delta") and value:
            fields[name] = value
        elif name == "max_groups_contributed" and value.isdecimal():
            fields["contribution"] = int(value[:18])
        elif name != "privacy_unit_column" or value != table.user.lower():
            raise SqlError(
                NOT_SUPPORTED, f"{part!r}: options are epsilon = 1, delta = 1e-9 and max_groups_contributed = 3; "
                f"the privacy unit is {table.user}",
            )  # fmt: skip
    return fields


def _dialect(text: str) -> str:
    return "bigquery" if "`" in text else "postgres"


def _parse(text: str) -> Node:
    """The tree of the only statement."""
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    logger = logging.getLogger("sqlglot")
    before, logger.disabled = logger.disabled, True  # it would print what it does not parse
    try:
        trees = [tree for tree in sqlglot.parse(text, read=_dialect(text)) if tree is not None]
    except (SqlglotError, ValueError) as failure:
        raise _syntax_error(failure) from None
    except RecursionError:
        raise SqlError(SYNTAX, "the statement is nested too deeply") from None
    finally:
        logger.disabled = before
    if len(trees) != 1:
        raise SqlError(SYNTAX, f"one statement is read at a time; there are {len(trees)}")
    node = trees[0]
    if isinstance(node, exp.DML | exp.DDL | exp.Drop | exp.Alter | exp.TruncateTable | exp.Copy) and not isinstance(
        node, exp.Query
    ):
        raise SqlError(READ_ONLY, "statements only ask: SELECT, or EXPLAIN for a price; nothing is written")
    return node


def _syntax_error(failure: Exception) -> SqlError:
    """Where the text could not be read; sqlglot's message underlines the place with control characters."""
    errors = getattr(failure, "errors", None) or [{}]
    line, column = errors[0].get("line"), errors[0].get("col")
    where = f" near line {line}, column {column}" if line and column else ""
    return SqlError(SYNTAX, f"the statement could not be read{where}; a question is SELECT … GROUP BY … ORDER BY …")


def _bind(tree: Node, parameters: Sequence[Parameter]) -> Node:
    """The tree with literals in place of `$1`, `$2`, … or `?`."""
    from sqlglot import exp

    count = 0

    def literal(part: Node) -> Node:
        nonlocal count
        if isinstance(part, exp.Parameter) and str(part.this).isdecimal():
            place = int(str(part.this)[:6]) - 1
        elif isinstance(part, exp.Placeholder) and not part.args.get("this"):
            place, count = count, count + 1
        elif isinstance(part, exp.Parameter | exp.Placeholder):
            raise SqlError(SYNTAX, f"{part.sql()!r}: parameters are written $1, $2, … or ?")
        else:
            return part
        if not 0 <= place < len(parameters):
            raise SqlError(SYNTAX, f"parameter {place + 1} has no value: {len(parameters)} were given")
        value = parameters[place]
        return exp.convert(str(value) if isinstance(value, date) else value)

    return tree.transform(literal)


def _simplify(tree: Node) -> Node:
    """The tree without parentheses around a single value, and without casts of literals to text or numbers."""
    from sqlglot import exp

    for node in reversed(list(tree.walk())):
        inner, bare = node.this, cast("Node | None", None)
        if isinstance(node, exp.Paren) and isinstance(inner, exp.Column | exp.Literal | exp.Func):
            bare = None if isinstance(inner, exp.Connector) else inner
        elif isinstance(node, exp.Cast) and isinstance(inner, exp.Literal):
            if node.to.is_type(*exp.DataType.TEXT_TYPES):
                bare = exp.Literal.string(inner.name)
            elif node.to.is_type(*exp.DataType.NUMERIC_TYPES) and (inner.is_number or inner.name.isdecimal()):
                bare = exp.Literal.number(inner.name)
        if bare is not None:
            tree = bare if node is tree else tree
            node.replace(bare)
    return tree


def _read_constants(node: Node) -> Statement | None:
    """A text that names no table, such as `SELECT 1`, with which tools test a connection."""
    from sqlglot import exp

    if not isinstance(node, exp.Select) or node.args.get("from_") is not None:
        return None
    values = dict[str, object]()
    if not node.expressions:
        raise SqlError(SYNTAX, "the SELECT names no column")
    for one in node.expressions:
        part = one.unalias()
        if isinstance(part, exp.Literal):
            values[one.alias or "?column?"] = part.to_py()
        elif isinstance(part, exp.CurrentVersion) or (isinstance(part, exp.Func) and part.sql().lower() == "version()"):
            values[one.alias or "version"] = "PostgreSQL 15.0 (crestline)"
        else:
            return None
    columns = tuple(SqlColumn(name, Role.CONSTANT) for name in values)
    return Statement(Kind.NOTHING, QuestionFields(k=1), columns, constants=tuple(values.values()))


def _as_question(query: Query, calendar: Calendar | None, most_items: int) -> Statement:
    """What a SELECT asks for, as the fields of a question."""
    by = query.rank[0].partition if query.rank is not None else ()
    items = tuple(label for label in query.labels or () if label not in by)
    if not items:
        raise SqlError(NOT_SUPPORTED, "a ranking needs a column that is not in PARTITION BY: it is the item")
    conditions, periods = split_periods(query.conditions, calendar)
    names, measure = query.names or {}, query.measure
    k = query.k if query.rank is None else min(query.rank[1], query.k or query.rank[1])
    fields: dict[str, object] = {
        "k": most_items if k is None else max(1, min(k, most_items)),
        "item": [column for label in items for column in label.columns],
        "by": [column for label in by for column in label.columns],
        "where": " AND ".join(conditions),
        "counts": any(isinstance(one, Measure) for one in names.values()),
        "score": None if measure is None else measure.score,
        "clip": None if measure is None else query.table.clips.get(measure.column),
        **periods,
    }
    fields = {name: value for name, value in fields.items() if value}
    if not query.ordered and query.rank is None:
        fields["ordered"] = False
    columns = tuple(_column(name, one, items, by) for name, one in names.items())
    shown = list(names.values())
    sort = tuple((shown.index(one), descends) for one, descends in query.sort if one in shown)
    notes = (measure.note,) if measure is not None and measure.note else ()
    return Statement(Kind.ASK, QuestionFields(**fields), columns, sort, query.limit, notes=notes)  # type: ignore[typeddict-item]


def _column(name: str, output: Output, items: Sequence[LabelExpression], by: Sequence[LabelExpression]) -> SqlColumn:
    """A column of the result, with the places of its parts in the item or in the group."""
    if not isinstance(output, LabelExpression):
        return SqlColumn(name, Role.NUMBER if isinstance(output, Measure) else Role.RANK)
    role, labels = (Role.GROUP, by) if output in by else (Role.ITEM, items)
    start = sum(len(label.columns) for label in labels[: labels.index(output)])
    return SqlColumn(name, role, tuple(range(start, start + len(output.columns))), output.truncated_to)
