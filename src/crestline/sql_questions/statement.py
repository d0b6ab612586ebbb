"""Read a SQL text: the one statement in it, as the fields of a question and the columns of its result.

`SELECT sku, COUNT(DISTINCT customer_id) FROM sales GROUP BY sku ORDER BY 2 DESC LIMIT 10` is the question for the ten
most popular items, with counts. sqlglot reads the text; nothing of it is executed.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum
from typing import TYPE_CHECKING

from crestline.periods.calendar import Calendar
from crestline.question import QuestionFields
from crestline.sql_questions.labels import LabelExpression
from crestline.sql_questions.periods import split_periods
from crestline.sql_questions.reader import Groups, Measure, Rank, SqlTable, read_query, refuse_rows
from crestline.sql_questions.refusals import NOT_SUPPORTED, READ_ONLY, SYNTAX, SqlError

if TYPE_CHECKING:
    from sqlglot.expressions import DataType, Literal
    from sqlglot.expressions import Expr as Node
    from sqlglot.tokenizer_core import Token

LONGEST = 100_000
MOST_ITEMS = 500  # that a text without LIMIT, or with a larger one, asks for

_EXPLAIN = re.compile(r"\s*EXPLAIN\b", re.IGNORECASE)

Parameter = str | int | float | bool | date | datetime | None


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
    text, explains, options = _cut_words(text)
    node = _simplify(_bind(_parse(text), parameters))
    if isinstance(free := _read_constants(node), Statement):
        return free
    groups = refuse_rows(read_query(node, table))
    statement = _as_question(groups, table, calendar, most_items)
    if groups.never:
        return Statement(Kind.NOTHING, {**statement.fields}, statement.columns, notes=statement.notes)
    fields = QuestionFields(**{**statement.fields, **_question_options(options, table)})  # type: ignore[typeddict-item]
    kind = Kind.PRICE if explains else Kind.ASK
    return Statement(kind, fields, statement.columns, statement.sort, statement.limit, notes=statement.notes)


def _cut_words(text: str) -> tuple[str, bool, dict[str, str]]:
    """The text without EXPLAIN and without WITH DIFFERENTIAL_PRIVACY OPTIONS(…), which sqlglot does not parse."""
    explains = _EXPLAIN.match(text)
    if explains:
        text = " " * explains.end() + text[explains.end() :]
    tokens = _tokens(text)
    if explains and (not tokens or tokens[0].text.upper() not in ("SELECT", "WITH", "(")):
        raise SqlError(NOT_SUPPORTED, "EXPLAIN takes a SELECT and no options: it shows the price, and asks nothing")
    words = [token.text.upper() for token in tokens]
    for place in range(len(words) - 2):
        if words[place : place + 3] == ["SELECT", "WITH", "DIFFERENTIAL_PRIVACY"]:
            first = last = place + 1
            last += 1
            options = dict[str, str]()
            if words[last + 1 : last + 3] == ["OPTIONS", "("]:
                end = words.index(")", last) if ")" in words[last:] else len(words) - 1
                options, last = _read_options(tokens[last + 3 : end]), end
            return text[: tokens[first].start] + text[tokens[last].end + 1 :], bool(explains), options
    return text, bool(explains), {}


def _tokens(text: str) -> list[Token]:
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        return list(sqlglot.tokenize(text, read=_dialect(text)))
    except (SqlglotError, ValueError) as failure:
        raise _syntax_error(failure) from None


def _read_options(tokens: Sequence[Token]) -> dict[str, str]:
    """`epsilon=1, delta=1e-9` as names and values."""
    written = " ".join(token.text for token in tokens)
    options = dict[str, str]()
    for part in filter(None, (one.strip() for one in written.split(","))):
        match = re.fullmatch(r"(\w+) = (\S+)", part)
        if match is None:
            raise SqlError(
                SYNTAX, f"OPTIONS takes name = value, as in OPTIONS(epsilon = 1, delta = 1e-9), not {part!r}"
            )
        options[match[1].lower()] = match[2]
    return options


def _question_options(options: Mapping[str, str], table: SqlTable) -> dict[str, object]:
    """The options of a differential privacy clause as fields of a question."""
    fields = dict[str, object]()
    for name, value in options.items():
        if name in ("epsilon", "delta"):
            fields[name] = value
        elif name == "max_groups_contributed" and value.isdecimal():
            fields["contribution"] = int(value)
        elif name != "privacy_unit_column" or value.lower() != table.user.lower():
            raise SqlError(
                NOT_SUPPORTED, f"OPTIONS({name} = {value}): options are epsilon, delta and max_groups_contributed; the "
                f"privacy unit is {table.user}",
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


def _bind(node: Node, parameters: Sequence[Parameter]) -> Node:
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

    return node.transform(literal)


def _simplify(tree: Node) -> Node:
    """The tree without parentheses around a single value, and without casts of literals to text or numbers."""
    from sqlglot import exp

    for node in reversed(list(tree.walk())):
        inner = node.this
        if isinstance(node, exp.Paren) and isinstance(inner, exp.Column | exp.Literal | exp.Func):
            bare: Node | None = None if isinstance(inner, exp.Connector) else inner
        elif isinstance(node, exp.Cast) and isinstance(inner, exp.Literal):
            plain = node.to.is_type(*exp.DataType.TEXT_TYPES, *exp.DataType.NUMERIC_TYPES)
            bare = _cast_literal(inner, node.to) if plain else None
        else:
            bare = None
        if bare is not None:
            tree = bare if node is tree else tree
            node.replace(bare)
    return tree


def _cast_literal(literal: Literal, to: DataType) -> Node | None:
    """The literal as text or as a number; None: it is not one."""
    from sqlglot import exp

    if to.is_type(*exp.DataType.TEXT_TYPES):
        return exp.Literal.string(literal.name)
    return exp.Literal.number(literal.name) if literal.name.isdecimal() or literal.is_number else None


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
            values[one.alias or "?column?"] = str(part.this) if part.is_string else _number(str(part.this))
        elif isinstance(part, exp.CurrentVersion) or (isinstance(part, exp.Func) and part.sql().lower() == "version()"):
            values[one.alias or "version"] = "PostgreSQL 15.0 (crestline)"
        else:
            return None
    columns = tuple(SqlColumn(name, Role.CONSTANT) for name in values)
    return Statement(Kind.NOTHING, QuestionFields(k=1), columns, constants=tuple(values.values()))


def _number(text: str) -> int | float:
    return int(text) if text.isdecimal() else float(text)


def _as_question(groups: Groups, table: SqlTable, calendar: Calendar | None, most_items: int) -> Statement:
    """Groups as the fields of a question."""
    by = groups.rank[0].partition if groups.rank is not None else ()
    items = tuple(label for label in groups.labels if label not in by)
    if not items:
        raise SqlError(NOT_SUPPORTED, "a ranking needs a column that is not in PARTITION BY: it is the item")
    conditions, periods = split_periods(groups.rows.conditions, calendar)
    number = any(isinstance(one, Measure) for one in groups.outputs.values())
    k = groups.k if groups.rank is None else min(groups.rank[1], groups.k or groups.rank[1])
    fields = {
        "k": most_items if k is None else max(1, min(k, most_items)),
        "item": [column for label in items for column in label.columns],
        **({"by": [column for label in by for column in label.columns]} if by else {}),
        **({"where": " AND ".join(conditions)} if conditions else {}),
        **({"counts": True} if number else {}),
        **({} if groups.ordered or groups.rank is not None else {"ordered": False}),
        **_score_fields(groups.measure, table),
        **periods,
    }
    columns = tuple(_column(name, one, items, by) for name, one in groups.outputs.items())
    names = [column.name for column in columns]
    sort = tuple((names.index(name), descends) for name, descends in groups.sort)
    notes = (groups.measure.note,) if groups.measure is not None and groups.measure.note else ()
    return Statement(Kind.ASK, QuestionFields(**fields), columns, sort, groups.limit, notes=notes)  # type: ignore[typeddict-item]


def _score_fields(measure: Measure | None, table: SqlTable) -> dict[str, object]:
    """The sum that items are ranked by, with the owner's clip if there is one."""
    if measure is None or measure.score is None:
        return {}
    clip = table.clips.get(measure.column)
    return {"score": measure.score} if clip is None else {"score": measure.score, "clip": clip}


def _column(
    name: str, output: object, items: tuple[LabelExpression, ...], by: tuple[LabelExpression, ...]
) -> SqlColumn:
    """A column of the result, with the places of its parts in the item or in the group."""
    if isinstance(output, Measure):
        return SqlColumn(name, Role.NUMBER)
    if isinstance(output, Rank):
        return SqlColumn(name, Role.RANK)
    assert isinstance(output, LabelExpression), "outputs are labels, measures and ranks"
    role, labels = (Role.GROUP, by) if output in by else (Role.ITEM, items)
    start = sum(len(label.columns) for label in labels[: labels.index(output)])
    return SqlColumn(name, role, tuple(range(start, start + len(output.columns))), output.truncated_to)
