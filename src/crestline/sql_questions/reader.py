"""From the tree of a SELECT to what it asks for.

A query is read from the inside out: rows of the table with a filter, then groups with one measure. Every query around
groups only renames, sorts, cuts or keeps ranks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from crestline.sql_questions.labels import LabelExpression, find_name, read_label, write_condition, write_name
from crestline.sql_questions.refusals import (
    GROUPING,
    NO_SUCH_COLUMN,
    NO_SUCH_TABLE,
    NOT_PERMITTED,
    NOT_SUPPORTED,
    SYNTAX,
    SqlError,
    not_supported,
    whole_number,
)

if TYPE_CHECKING:
    from sqlglot.expressions import Column, Select, Table, Window
    from sqlglot.expressions import Expr as Node

COUNTS_USERS = "counts users, not rows"
_READ = (
    *("expressions", "from_", "where", "group", "having", "order", "limit", "offset", "qualify", "with_", "distinct"),
)
_POPULAR = (
    "ask for the most popular values of a column: GROUP BY the column ORDER BY COUNT(DISTINCT the user) DESC LIMIT 10"
)


@dataclass(frozen=True)
class SqlTable:
    """What a text may name.

    Attributes:
        user: Column that holds the user.
        name: Name of the table; None: any, because there is only one.
        columns: Its columns; None: they are not known here, and the source checks them.
        clips: The most that one user may add to one item, for columns of which the owner stated it.
    """

    user: str
    name: str | None = None
    columns: Sequence[str] | None = None
    clips: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class User:
    """The column that holds the user, under the name of the table."""

    name: str


@dataclass(frozen=True)
class Measure:
    """The number that groups are ranked by.

    Attributes:
        score: The sum, as a question states it; None: the number of users.
        column: The column that is summed.
        note: What it counts, where the text seems to say something else.
    """

    score: str | None = None
    column: str = ""
    note: str = ""


@dataclass(frozen=True)
class Rank:
    """`ROW_NUMBER()`: the place of a row among those that agree in some labels, the highest measure first."""

    partition: tuple[LabelExpression, ...]


Output: TypeAlias = LabelExpression | User | Measure | Rank


@dataclass(frozen=True)
class Query:
    """What a SELECT has read, with the queries inside it.

    Attributes:
        table: What may be named.
        qualifiers: Lower-case names of the table, or of the inner query.
        names: What its columns are, by name and in order; None: the columns of the table.
        conditions: Filters on rows.
        never: Whether no row can be in the result.
        labels: What rows are grouped by; None: they are not grouped.
        measure: The number, if it is used at all.
        rank: The ranks that are kept, and how many of them.
        ordered: Whether the highest measure comes first.
        sort: Columns to sort by in the end, each with whether it descends.
        k: Most items wanted; None: as many as can be named.
        limit: Most rows of the result.
    """

    table: SqlTable
    qualifiers: frozenset[str] = frozenset()
    names: Mapping[str, Output] | None = None
    conditions: tuple[str, ...] = ()
    never: bool = False
    labels: tuple[LabelExpression, ...] | None = None
    measure: Measure | None = None
    rank: tuple[Rank, int] | None = None
    ordered: bool = False
    sort: tuple[tuple[Output, bool], ...] = ()
    k: int | None = None
    limit: int | None = None

    def find(self, name: str, *, quoted: bool = False) -> str | None:
        """The column that a name means; None where there is none, or it is not known here."""
        known = (*(self.table.columns or ()), self.table.user) if self.names is None else tuple(self.names)
        return find_name(name, dict.fromkeys(known), quoted=quoted)

    def resolve(self, node: Column) -> Output:
        """What a column is."""
        if node.table and node.table.lower() not in self.qualifiers:
            raise SqlError(NO_SUCH_TABLE, f"there is no table {node.table!r} in this query")
        name = self.find(node.name, quoted=bool(node.this.args.get("quoted")))
        if name is None and (self.names is not None or self.table.columns is not None):
            known = ", ".join(self.names or sorted(self.table.columns or ()))
            raise SqlError(NO_SUCH_COLUMN, f"there is no column {node.name!r}; columns are: {known}")
        name = str(node.name) if name is None else name
        if self.names is not None:
            return self.names[name]
        return User(name) if name == self.table.user else LabelExpression((name,))

    def label_of(self, node: Column) -> LabelExpression:
        """The label that a column is."""
        found = self.resolve(node)
        if isinstance(found, User):
            raise _user_error(found.name)
        if not isinstance(found, LabelExpression):
            raise not_supported(node, "it is a number of the inner query, and no label")
        return found

    def is_user(self, node: Node | None) -> bool:
        """Whether a node is the column that holds the user."""
        from sqlglot import exp

        node = None if node is None else node.unnest()
        if not isinstance(node, exp.Column) or self.find(node.name) is None:
            return False
        return isinstance(self.resolve(node), User)

    def read(self, node: Node) -> Output:
        """What stands in a SELECT, an ORDER BY or a condition on groups, over this query."""
        from sqlglot import exp

        node = node.unnest()
        if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
            return self.resolve(node)
        if isinstance(node, exp.Window):
            return self._read_rank(node)
        if self.labels is not None:
            names = ", ".join(self.names or ())
            raise SqlError(
                NO_SUCH_COLUMN, f"{node.sql()!r}: the inner query has {names}; outside it, columns are only renamed, "
                "sorted and cut",
            )  # fmt: skip
        if isinstance(node, exp.Cast) and node.find(exp.AggFunc) is not None:
            return self.read(node.this)
        return (
            self._read_measure(node) if isinstance(node, exp.AggFunc | exp.Filter) else read_label(node, self.label_of)
        )

    def _read_rank(self, node: Window) -> Rank:
        """`ROW_NUMBER()` by the measure, the highest first; other window functions are refused."""
        from sqlglot import exp

        order = node.args.get("order")
        first = order.expressions[0] if order is not None else None
        by_number = first is not None and first.args.get("desc") and isinstance(self.read(first.this), Measure)
        if not isinstance(node.this, exp.RowNumber) or node.args.get("spec") or not by_number:
            raise not_supported(node, "ranks are ROW_NUMBER() OVER (PARTITION BY … ORDER BY the number DESC)")
        return Rank(tuple(read_label(one, self.label_of) for one in node.args.get("partition_by") or ()))

    def _read_measure(self, node: Node) -> Measure:
        """The number of users, or a sum."""
        from sqlglot import exp

        inner = None if node.this is None else node.this.unnest()
        if isinstance(node, exp.Count) and isinstance(inner, exp.Distinct):
            if len(inner.expressions) == 1 and self.is_user(inner.expressions[0]):
                return Measure()
        elif isinstance(node, exp.Count) and (isinstance(inner, exp.Star | exp.Literal) or self.is_user(inner)):
            return Measure(note=COUNTS_USERS)
        elif isinstance(node, exp.ApproxDistinct) and self.is_user(inner):
            return Measure()
        elif isinstance(node, exp.Sum) and whole_number(inner) == 1:
            return Measure(note=COUNTS_USERS)
        elif isinstance(node, exp.Sum) and isinstance(inner, exp.Column) and not self.is_user(inner):
            column = self.label_of(inner).columns[0]
            return Measure(score=f"sum({write_name(column)})", column=column)
        elif isinstance(node, exp.Avg):
            raise not_supported(
                node, "no low and high are stated for its values, and without them one user could decide an average; "
                "ask for COUNT(DISTINCT the user) or a sum",
            )  # fmt: skip
        raise not_supported(
            node, f"items are ranked by COUNT(DISTINCT {self.table.user}), or by the SUM of a column with clip"
        )


def read_query(node: Node, table: SqlTable, known: Mapping[str, Query] | None = None) -> Query:
    """What a SELECT asks for; `known` has the queries of WITH by name.

    Raises:
        SqlError: The query is no question.
    """
    from sqlglot import exp

    if isinstance(node, exp.Subquery) and not node.args.get("joins"):
        return read_query(node.this, table, known)
    if not isinstance(node, exp.Select):
        raise not_supported(node, "a question is one SELECT from one table")
    _refuse_parts(node)
    queries = dict(known or {})
    for part in node.ctes:
        queries[part.alias.lower()] = read_query(part.this, table, queries)
    inner = _read_source(node, table, queries)
    grouped, has_measure = node.args.get("group"), any(one.find(exp.AggFunc) is not None for one in node.expressions)
    if inner.labels is not None and (grouped is not None or has_measure):
        raise not_supported(node, "what was grouped is not grouped again")
    inner = inner if inner.labels is not None else _filter_rows(node, inner)
    if inner.labels is None and (grouped is not None or has_measure):
        return _finish(node, inner, _group(node, inner))
    outer = _project(node, inner)
    return _finish(node, inner, outer) if inner.labels is not None else _refuse_order(node, outer)


def _user_error(name: str) -> SqlError:
    return SqlError(
        NOT_PERMITTED, f"{name!r} holds the user, whose presence is hidden: it is counted with COUNT(DISTINCT {name}) "
        "and cannot be selected, grouped by or filtered",
    )  # fmt: skip


def rows_error() -> SqlError:
    """The error for a query that asks for rows."""
    return SqlError(NOT_PERMITTED, f"rows are not shown, each of them is one user's own; {_POPULAR}")


def _refuse_parts(node: Select) -> None:
    for name in ("joins", "laterals"):
        if node.args.get(name):
            part = node.args[name][0].sql()
            raise SqlError(NOT_SUPPORTED, f"{part!r}: a join is not read from SQL; ask a view that joins the tables")
    for name, value in node.args.items():
        if value and name not in _READ:
            raise SqlError(NOT_SUPPORTED, f"a query with {name.strip('_').upper()} cannot be answered: leave it out")
    if node.args.get("distinct"):
        advice = f"SELECT DISTINCT asks for a list of values, each of which may be one user's own; {_POPULAR}"
        raise SqlError(NOT_PERMITTED, advice)
    offset = node.args.get("offset")
    if offset is not None and whole_number(offset.expression) != 0:
        raise not_supported(offset, "the answer begins with the first item; leave OFFSET out")


def _read_source(node: Select, table: SqlTable, queries: Mapping[str, Query]) -> Query:
    """The table, the named query or the inner query after FROM."""
    from sqlglot import exp

    source = node.args.get("from_")
    if source is None:
        raise SqlError(NO_SUCH_TABLE, "the query names no table")
    inner = source.this
    is_table = isinstance(inner, exp.Table) and isinstance(inner.this, exp.Identifier)
    if not is_table and not isinstance(inner, exp.Subquery):
        raise not_supported(inner, "a question is about one table")
    for name, value in inner.args.items():
        if value and name not in ("this", "db", "catalog", "alias", "with_"):
            raise not_supported(inner, f"leave {name.upper()} out")
    if inner.args.get("alias") is not None and inner.args["alias"].args.get("columns"):
        raise not_supported(inner, "name columns with AS in the SELECT")
    name = inner.name.lower() if is_table else ""
    if not is_table:
        found = read_query(inner, table, queries)
    elif name in queries and not inner.db:
        found = queries[name]
    elif inner.catalog or (table.name is not None and not _is_named(inner, table.name)):
        raise SqlError(NO_SUCH_TABLE, f"there is no table {inner.name!r} that you may ask")
    else:
        found = Query(table)
    return replace(found, qualifiers=frozenset({inner.alias.lower() or name}))


def _is_named(node: Table, name: str) -> bool:
    written = f"{node.db}.{node.name}" if node.db else node.name
    return name.lower() in (written.lower(), node.name.lower() if node.db in ("", "public") else "")


def _conjuncts(node: Node | None) -> Iterator[Node]:
    """The conditions that AND joins."""
    from sqlglot import exp

    node = None if node is None else node.unnest()
    if isinstance(node, exp.And | exp.Where | exp.Having | exp.Qualify):
        yield from _conjuncts(node.this)
        yield from _conjuncts(node.args.get("expression"))
    elif node is not None:
        yield node


def _constant(node: Node) -> bool | None:
    """Whether a condition without columns holds; None: it looks at a column."""
    from sqlglot import exp

    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if isinstance(node, exp.EQ | exp.NEQ) and all(isinstance(side, exp.Literal) for side in (node.left, node.right)):
        return bool((node.left == node.right) == isinstance(node, exp.EQ))
    return None


def _not_null(node: Node) -> Node | None:
    """The operand of `… IS NOT NULL`; None for any other condition."""
    from sqlglot import exp

    inner = node.this.unnest() if isinstance(node, exp.Not) else node
    negated = isinstance(node, exp.Not) != bool(inner.args.get("negate"))  # older sqlglot wraps it in Not
    is_null = isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Null)
    return inner.this.unnest() if is_null and negated else None


def _filter_rows(node: Select, rows: Query) -> Query:
    """The rows that WHERE leaves; those without a user are left out of every question."""
    from sqlglot import exp

    for part in _conjuncts(node.args.get("where")):
        known = _constant(part)
        if known is not None:
            rows = replace(rows, never=rows.never or not known)
        elif not rows.is_user(_not_null(part)):
            text = write_condition(part, rows.label_of)
            rows = replace(rows, conditions=(*rows.conditions, f"({text})" if isinstance(part, exp.Or) else text))
    return rows


def _project(node: Select, inner: Query) -> Query:
    """The query with the columns that a SELECT names."""
    if inner.names is None and len(node.expressions) > 1 and any(one.is_star for one in node.expressions):
        raise not_supported(node, "beside * no other column can be selected")
    names = dict[str, Output]()
    for name, one in _read_select_list(node, inner).items():
        names |= (inner.names or {}) if one.is_star else {name: inner.read(one)}
    return inner if not names and inner.names is None else replace(inner, names=names)


def _refuse_order(node: Select, rows: Query) -> Query:
    """Rows for a query around them, which have no order and are not cut."""
    for part in ("having", "qualify"):
        if node.args.get(part) is not None:
            raise not_supported(node.args[part], "it goes with GROUP BY")
    limit = _limit(node)
    if limit != 0 and (limit is not None or node.args.get("order") is not None):
        raise rows_error()
    return replace(rows, never=rows.never or limit == 0)


def _read_select_list(node: Select, inner: Query) -> dict[str, Node]:
    """The selected expressions by name; windows over them have no names in them any more."""
    from sqlglot import exp

    chosen = {_output_name(one): one.unalias() for one in node.expressions}
    if len(chosen) < len(node.expressions):
        raise SqlError(SYNTAX, "two selected columns have the same name: give one of them another with AS")
    return {name: _expand(one, chosen, inner) if isinstance(one, exp.Window) else one for name, one in chosen.items()}


def _expand(node: Node, chosen: Mapping[str, Node], inner: Query, part: str = "") -> Node:
    """An expression with selected columns in place of their names; after GROUP BY or ORDER BY also of their numbers."""
    from sqlglot import exp

    place = whole_number(node) if part else None
    if place is not None:
        if not 1 <= place <= len(chosen):
            raise SqlError(SYNTAX, f"{part} BY {place}: there are {len(chosen)} selected columns")
        return list(chosen.values())[place - 1]

    whole = isinstance(node, exp.Column)  # within an expression a name means the inner column first

    def replace_name(part: Node) -> Node:
        means = isinstance(part, exp.Column) and not part.table and (whole or inner.find(part.name) is None)
        name = find_name(part.name, chosen) if means else None
        return part if name is None else chosen[name].copy()

    return node.transform(replace_name)


def _group(node: Select, rows: Query) -> Query:
    """Rows grouped by labels."""
    from sqlglot import exp

    chosen, group = _read_select_list(node, rows), node.args.get("group")
    if group is None:
        advice = "a total over all rows is no ranking of items: GROUP BY a column (coverage says how many users)"
        raise SqlError(NOT_SUPPORTED, advice)
    if any(value for name, value in group.args.items() if name not in ("expressions", "all")):
        raise not_supported(group, "group by columns alone")
    parts = [one for one in chosen.values() if group.args.get("all") and one.find(exp.AggFunc) is None]
    for one in group.expressions:
        is_column = isinstance(one, exp.Column) and rows.find(one.name) is not None
        parts.append(one if is_column else _expand(one, chosen, rows, "GROUP"))
    labels = tuple(dict.fromkeys(read_label(one, rows.label_of) for one in parts))
    names = {name: rows.read(one) for name, one in chosen.items()}
    for name, output in names.items():
        if isinstance(output, User):
            raise _user_error(output.name)
        if isinstance(output, LabelExpression) and output not in labels:
            raise SqlError(GROUPING, f"{name!r} is selected and not grouped by: add it to GROUP BY, or leave it out")
    missing = [label for label in labels if label not in names.values()]
    if missing:
        advice = f"rows are grouped by {', '.join(missing[0].columns)}: select it, so that numbers have names"
        raise SqlError(NOT_SUPPORTED, advice)
    return replace(rows, names=names, labels=labels)


def _finish(node: Select, inner: Query, query: Query) -> Query:
    """HAVING, QUALIFY, the outer WHERE, ORDER BY and LIMIT of a query over groups."""
    chosen = _read_select_list(node, inner)
    for part in ("having", "qualify", *(("where",) if inner.labels is not None else ())):
        for one in _conjuncts(node.args.get(part)):
            query = _keep(_expand(one, chosen, inner), inner, query)
    query = _order(node, chosen, inner, query)
    used = [one for one in (query.names or {}).values() if isinstance(one, Measure)]
    measures = used if query.measure is None else [*used, query.measure]
    if len({one.score for one in measures}) > 1:
        raise SqlError(
            NOT_SUPPORTED, "one question ranks by one number: ask for the other one in a question of its own"
        )
    measure = next((one for one in measures if one.note), measures[0] if measures else None)
    query = replace(query, measure=measure, ordered=query.ordered or bool(used))
    limit = _limit(node)
    if limit is None:
        return query
    query = replace(query, limit=min(limit, query.limit or limit), never=query.never or limit == 0)
    cut = query.sort or query.rank is not None  # the answer is cut afterwards
    return query if cut else replace(query, k=min(limit, query.k or limit))


def _keep(node: Node, inner: Query, query: Query) -> Query:
    """One condition on groups: on ranks, or one that every group meets, because an item that is named has users."""
    known, operand = _constant(node), _not_null(node)
    if known is not None:
        return query if known else replace(query, never=True)
    if operand is not None and isinstance(inner.read(operand), Measure):
        return query
    bounds = _bounds(node)
    what = None if bounds is None else inner.read(bounds[0])
    if bounds is not None and (bounds[1] or 0) <= 1:
        if isinstance(what, Measure) and bounds[2] is None:
            return query
        if isinstance(what, Rank) and bounds[2] is not None:
            if query.rank is not None and query.rank[0] != what:
                raise not_supported(node, "one question keeps ranks of one kind")
            kept = bounds[2] if query.rank is None else min(bounds[2], query.rank[1])
            return replace(query, rank=(what, kept), never=query.never or kept < 1)
    raise SqlError(
        NOT_SUPPORTED,
        f"{node.sql()!r}: a condition on numbers or names of groups cannot be answered, because it would be decided by "
        "numbers that are not published; leave HAVING out, and put conditions on columns into WHERE of the inner query",
    )


def _bounds(node: Node) -> tuple[Node, int | None, int | None] | None:
    """What a comparison with whole numbers bounds, its lower and its upper bound; None for any other condition."""
    from sqlglot import exp

    if isinstance(node, exp.Between):
        low, high = whole_number(node.args["low"]), whole_number(node.args["high"])
        return None if low is None or high is None else (node.this, low, high)
    flipped: dict[type[Node], type[Node]] = {exp.GT: exp.LT, exp.GTE: exp.LTE, exp.LT: exp.GT, exp.LTE: exp.GTE}
    if not isinstance(node, exp.GT | exp.GTE | exp.LT | exp.LTE | exp.EQ):
        return None
    kind: type[Node] = type(node)
    left, number = node.left, whole_number(node.right)
    if number is None:
        kind, left, number = flipped.get(kind, exp.EQ), node.right, whole_number(node.left)
    if number is None:
        return None
    lower: dict[type[Node], int] = {exp.GT: number + 1, exp.GTE: number, exp.EQ: number}
    upper: dict[type[Node], int] = {exp.LT: number - 1, exp.LTE: number, exp.EQ: number}
    return left, lower.get(kind), upper.get(kind)


def _order(node: Select, chosen: Mapping[str, Node], inner: Query, query: Query) -> Query:
    """The query sorted by its measure, or later by its labels."""
    sort = list[tuple[Output, bool]]()
    for one in node.args["order"].expressions if node.args.get("order") is not None else ():
        what, descends = inner.read(_expand(one.this, chosen, inner, "ORDER")), bool(one.args.get("desc"))
        if isinstance(what, Measure) and sort:
            break  # ties of a label: there are none within a group
        if isinstance(what, Measure):
            if not descends:
                raise not_supported(one, "the least popular items cannot be named; ORDER BY … DESC")
            return replace(query, measure=what, ordered=True, sort=())
        if what not in (query.names or {}).values():
            sorted_by = [output for output, _ in sort]
            if isinstance(what, Rank) and not descends and all(label in sorted_by for label in what.partition):
                break  # an answer is in the order of its ranks, and nothing else is equal
            raise not_supported(one, "order by what is selected")
        sort.append((what, descends))
    return replace(query, sort=tuple(sort) or query.sort)


def _output_name(node: Node) -> str:
    """The name of a selected column, as PostgreSQL gives it where the text gives none."""
    from sqlglot import exp

    inner = node.unalias().unnest()
    if node.alias or isinstance(inner, exp.Column):
        return str(node.alias or inner.name)
    if isinstance(inner, exp.Cast):
        return _output_name(inner.this)
    if isinstance(inner, exp.TimestampTrunc | exp.DateTrunc):
        return "date_trunc"
    return str(inner.sql_name() if isinstance(inner, exp.Func) else inner.key).lower()


def _limit(node: Select) -> int | None:
    """The most rows that LIMIT or FETCH leaves; None: all."""
    limit = node.args.get("limit")
    written = None if limit is None else limit.args.get("count") or limit.args.get("expression")
    if limit is None or written is None or str(written).upper() in ("ALL", "NULL"):
        return None
    number, options = whole_number(written), limit.args.get("limit_options")
    if number is None or (options is not None and (options.args.get("percent") or options.args.get("with_ties"))):
        raise not_supported(limit, "LIMIT takes a whole number")
    return number
