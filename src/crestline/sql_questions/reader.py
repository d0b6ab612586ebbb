"""From the tree of a SELECT to the fields of a question.

A query is read from the inside out into two shapes: rows of the table with a filter, and groups with one measure. Every
query around groups only renames, sorts, cuts or keeps ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from crestline.sql_questions.labels import LabelExpression, Scope, find_name, read_label, write_condition, write_name
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
    from sqlglot.expressions import Expr as Node
    from sqlglot.expressions import Table

_PARTS = {
    "expressions",
    "from_",
    "where",
    "group",
    "having",
    "order",
    "limit",
    "offset",
    "qualify",
    "with_",
    "distinct",
}
COUNTS_USERS = "counts users, not rows"


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


Output: TypeAlias = LabelExpression | Measure | Rank


@dataclass(frozen=True)
class Rows:
    """Rows of the table, and the conditions that they meet."""

    scope: Scope
    conditions: tuple[str, ...] = ()
    never: bool = False


@dataclass(frozen=True)
class Groups:
    """Groups of rows with one measure.

    Attributes:
        rows: What is grouped.
        outputs: The selected columns by name, in order.
        labels: What rows are grouped by.
        measure: The number, if it is used at all.
        rank: Partition of the ranks that are kept, and how many of them; None: there is no such condition.
        ordered: Whether the highest measure comes first.
        sort: Names of outputs to sort by in the end, each with whether it descends.
        k: Most items wanted; None: as many as can be named.
        limit: Most rows of the result.
    """

    rows: Rows
    outputs: Mapping[str, Output]
    labels: tuple[LabelExpression, ...]
    measure: Measure | None
    rank: tuple[Rank, int] | None = None
    ordered: bool = False
    sort: tuple[tuple[str, bool], ...] = ()
    k: int | None = None
    limit: int | None = None
    never: bool = field(default=False)


Shape: TypeAlias = Rows | Groups


def read_query(node: Node, table: SqlTable, known: Mapping[str, Shape] | None = None) -> Shape:
    """The shape of a SELECT.

    Raises:
        SqlError: The query is no question.
    """
    from sqlglot import exp

    if isinstance(node, exp.Subquery) and not node.args.get("joins"):
        return read_query(node.this, table, known)
    if not isinstance(node, exp.Select):
        raise not_supported(node, "a question is one SELECT from one table")
    _refuse_parts(node)
    names = dict(known or {})
    for part in node.ctes:
        names[part.alias.lower()] = read_query(part.this, table, names)
    source = _read_source(node, table, names)
    if isinstance(source, Groups):
        return _read_outer(node, source)
    rows = _filter_rows(node, source)
    if node.args.get("group") is None and not _has_measure(node):
        return _project_rows(node, rows)
    return _read_groups(node, rows)


def _refuse_parts(node: Node) -> None:
    for name, value in node.args.items():
        if not value or name in _PARTS:
            continue
        if name in ("joins", "laterals"):
            part = value[0]
            raise SqlError(
                NOT_SUPPORTED, f"{part.sql()!r}: a join is not read from SQL; ask a view that joins the tables"
            )
        raise SqlError(NOT_SUPPORTED, f"a query with {name.strip('_').upper()} cannot be answered: leave it out")
    if node.args.get("distinct"):
        raise SqlError(
            NOT_PERMITTED,
            "SELECT DISTINCT asks for a list of values, each of which may be one user's own; ask for the most popular "
            "ones: GROUP BY the column ORDER BY COUNT(DISTINCT the user) DESC LIMIT 10",
        )
    offset = node.args.get("offset")
    if offset is not None and whole_number(offset.expression) != 0:
        raise not_supported(offset, "the answer begins with the first item; leave OFFSET out")


def _read_source(node: Node, table: SqlTable, names: Mapping[str, Shape]) -> Shape:
    """The table, the named query or the inner query after FROM."""
    from sqlglot import exp

    source = node.args.get("from_")
    if source is None:
        raise SqlError(NO_SUCH_TABLE, "the query names no table")
    inner, alias = source.this, source.this.alias.lower()
    if isinstance(inner, exp.Subquery):
        shape = read_query(inner, table, names)
    elif isinstance(inner, exp.Table) and not inner.db and inner.name.lower() in names:
        shape = names[inner.name.lower()]
        alias = alias or inner.name.lower()
    elif isinstance(inner, exp.Table) and isinstance(inner.this, exp.Identifier):
        return _table_rows(inner, table)
    else:
        raise not_supported(inner, "a question is about one table")
    _refuse_table_parts(inner)
    if isinstance(shape, Rows):
        return replace(shape, scope=replace(shape.scope, qualifiers=frozenset({alias} if alias else ())))
    return shape


def _refuse_table_parts(node: Node) -> None:
    for name, value in node.args.items():
        if value and name not in ("this", "db", "catalog", "alias"):
            raise not_supported(node, f"leave {name.upper()} out")
    alias = node.args.get("alias")
    if alias is not None and alias.args.get("columns"):
        raise not_supported(node, "name columns with AS in the SELECT")


def _table_rows(node: Table, table: SqlTable) -> Rows:
    _refuse_table_parts(node)
    if node.catalog or (table.name is not None and not _is_named(node, table.name)):
        raise SqlError(NO_SUCH_TABLE, f"there is no table {node.name!r} that you may ask")
    qualifier = (node.alias or node.name).lower()
    scope = Scope(frozenset({qualifier}), {}, table.columns, frozenset({table.user}))
    return Rows(scope)


def _is_named(node: Table, name: str) -> bool:
    written = f"{node.db}.{node.name}" if node.db else node.name
    return name.lower() in (written.lower(), node.name.lower() if node.db in ("", "public") else "")


def _conjuncts(node: Node | None) -> Iterator[Node]:
    """The conditions that AND joins."""
    from sqlglot import exp

    if node is None:
        return
    node = node.unnest()
    if isinstance(node, exp.And):
        yield from _conjuncts(node.this)
        yield from _conjuncts(node.expression)
    else:
        yield node


def _constant(node: Node) -> bool | None:
    """Whether a condition without columns holds; None: it looks at a column."""
    from sqlglot import exp

    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if isinstance(node, exp.EQ | exp.NEQ) and all(isinstance(side, exp.Literal) for side in (node.left, node.right)):
        return bool((node.left == node.right) == isinstance(node, exp.EQ))
    return None


def _filter_rows(node: Node, rows: Rows) -> Rows:
    """The rows that WHERE leaves."""
    from sqlglot import exp

    where = node.args.get("where")
    conditions, never = list(rows.conditions), rows.never
    for part in _conjuncts(None if where is None else where.this):
        known = _constant(part)
        if known is not None:
            never = never or not known
        elif _is_not_null(part) and any(map(rows.scope.is_user, part.find_all(exp.Column))):
            continue  # rows without a user are left out of every question
        else:
            text = write_condition(part, rows.scope)
            conditions.append(f"({text})" if isinstance(part, exp.Or) else text)
    return replace(rows, conditions=tuple(conditions), never=never)


def _is_not_null(node: Node) -> bool:
    """Whether a condition is `column IS NOT NULL`."""
    from sqlglot import exp

    inner = node.this.unnest() if isinstance(node, exp.Not) else node
    negated = isinstance(node, exp.Not) != bool(inner.args.get("negate"))  # older sqlglot wraps it in Not
    return isinstance(inner, exp.Is) and negated and isinstance(inner.expression, exp.Null)


def _operand(node: Node) -> Node:
    """The column of `column IS NOT NULL`."""
    from sqlglot import exp

    inner: Node = (node.this.unnest() if isinstance(node, exp.Not) else node).this
    return inner.unnest()


def _project_rows(node: Node, rows: Rows) -> Rows:
    """A query that names the columns of rows, for one around it."""

    for part in ("having", "qualify"):
        if node.args.get(part) is not None:
            raise not_supported(node.args[part], "it goes with GROUP BY")
    if node.args.get("limit") is not None and _limit(node) == 0:
        rows = replace(rows, never=True)
    elif node.args.get("limit") is not None or node.args.get("order") is not None:
        raise _rows_error()
    if any(one.is_star for one in node.expressions):
        if len(node.expressions) > 1:
            raise not_supported(node.expressions[1], "beside * no other column can be selected")
        return rows
    names, users = dict[str, LabelExpression](), set[str]()
    for one in node.expressions:
        if rows.scope.is_user(one.unalias()):
            users.add(one.alias_or_name)
        else:
            names[one.alias_or_name] = read_label(one.unalias(), rows.scope)
    return replace(rows, scope=Scope(frozenset(), names, (), frozenset(users)))


def _rows_error() -> SqlError:
    return SqlError(
        NOT_PERMITTED,
        "rows are not shown, each of them is one user's own; ask for the most popular values of a column: GROUP BY the "
        "column ORDER BY COUNT(DISTINCT the user) DESC LIMIT 10",
    )


def _has_measure(node: Node) -> bool:
    from sqlglot import exp

    return any(one.find(exp.AggFunc) is not None for one in node.expressions)


def _read_groups(node: Node, rows: Rows) -> Groups:
    """Rows grouped by labels."""
    chosen = {_output_name(one): one.unalias() for one in node.expressions}
    if len(chosen) < len(node.expressions):
        raise SqlError(SYNTAX, "two selected columns have the same name: give one of them another with AS")
    labels = _group_labels(node, chosen, rows)
    read = _OutputReader(rows, chosen)
    outputs = {name: read.read_selected(one) for name, one in chosen.items()}
    for name, output in outputs.items():
        if isinstance(output, LabelExpression) and output not in labels:
            raise SqlError(GROUPING, f"{name!r} is selected and not grouped by: add it to GROUP BY, or leave it out")
    missing = [label for label in labels if label not in outputs.values()]
    if missing:
        raise SqlError(
            NOT_SUPPORTED, f"rows are grouped by {', '.join(missing[0].columns)}: select it, so that numbers have names"
        )
    groups = Groups(rows, outputs, labels, None, never=rows.never)
    return _finish(node, groups, read)


def _group_labels(node: Node, chosen: Mapping[str, Node], rows: Rows) -> tuple[LabelExpression, ...]:
    from sqlglot import exp

    group = node.args.get("group")
    if group is None:
        raise SqlError(
            NOT_SUPPORTED,
            "a total over all rows is no ranking of items: GROUP BY a column (coverage says how many users)",
        )
    if any(value for name, value in group.args.items() if name not in ("expressions", "all")):
        raise not_supported(group, "group by columns alone")
    found = dict[LabelExpression, None]()
    everything = [one for one in chosen.values() if one.find(exp.AggFunc) is None] if group.args.get("all") else []
    for one in [*group.expressions, *everything]:
        place = whole_number(one)
        if place is not None:
            if not 1 <= place <= len(chosen):
                raise SqlError(SYNTAX, f"GROUP BY {place}: there are {len(chosen)} selected columns")
            one = list(chosen.values())[place - 1]
        elif isinstance(one, exp.Column) and not one.table:
            alias = find_name(one.name, chosen)
            if alias is not None and one.name not in (rows.scope.columns or ()) and not rows.scope.is_user(one):
                one = chosen[alias].unnest()
        found[read_label(one, rows.scope)] = None
    return tuple(found)


def _check_rank(node: Node, output: Callable[[Node], Output]) -> None:
    """Refuse every window function but `ROW_NUMBER()` by the measure, the highest first."""
    from sqlglot import exp

    order = node.args.get("order")
    first = order.expressions[0] if order is not None else None
    by_number = first is not None and first.args.get("desc") and isinstance(output(first.this), Measure)
    if not isinstance(node.this, exp.RowNumber) or node.args.get("spec") or not by_number:
        raise not_supported(node, "ranks are ROW_NUMBER() OVER (PARTITION BY … ORDER BY the number DESC)")


@dataclass(frozen=True)
class _OutputReader:
    """Reads what stands in SELECT and ORDER BY over grouped rows."""

    rows: Rows
    chosen: Mapping[str, Node]

    def read_output(self, node: Node) -> Output:
        """A label, a measure or a rank; the name of a selected column means what was selected."""
        return self.read_selected(self._resolve_alias(node.unnest()))

    def read_selected(self, node: Node) -> Output:
        """The same in a SELECT, where such a name means a column of the table."""
        from sqlglot import exp

        node = node.unnest()
        if isinstance(node, exp.Window):
            _check_rank(node, self.read_output)
            return Rank(
                tuple(
                    read_label(self._resolve_alias(one), self.rows.scope) for one in node.args.get("partition_by") or ()
                )
            )
        if isinstance(node, exp.Cast) and node.find(exp.AggFunc) is not None:
            return self.read_selected(node.this)
        if isinstance(node, exp.AggFunc | exp.Filter):
            return self._measure(node)
        return read_label(node, self.rows.scope)

    def _measure(self, node: Node) -> Measure:
        from sqlglot import exp

        is_user = self.rows.scope.is_user
        if isinstance(node, exp.Count):
            inner = node.this.unnest() if node.this else exp.Null()
            if isinstance(inner, exp.Distinct):
                if len(inner.expressions) == 1 and is_user(inner.expressions[0].unnest()):
                    return Measure()
            elif isinstance(inner, exp.Star | exp.Literal) or is_user(inner):
                return Measure(note=COUNTS_USERS)
        elif isinstance(node, exp.ApproxDistinct) and is_user(node.this):
            return Measure()
        elif isinstance(node, exp.Sum):
            if whole_number(node.this) == 1:
                return Measure(note=COUNTS_USERS)
            if isinstance(node.this, exp.Column) and not is_user(node.this):
                column = read_label(node.this, self.rows.scope).columns[0]
                return Measure(score=f"sum({write_name(column)})", column=column)
        elif isinstance(node, exp.Avg):
            raise not_supported(
                node, "no low and high are stated for its values, and without them one user could decide an average; "
                "ask for COUNT(DISTINCT the user) or a sum",
            )  # fmt: skip
        user = ", ".join(sorted(self.rows.scope.users)) or "the user"
        raise not_supported(node, f"items are ranked by COUNT(DISTINCT {user}), or by the SUM of a column with clip")

    def _resolve_alias(self, node: Node) -> Node:
        """What was selected under a name; any other node as it is."""
        from sqlglot import exp

        alias = find_name(node.name, self.chosen) if isinstance(node, exp.Column) and not node.table else None
        return node if alias is None else self.chosen[alias]


def _read_outer(node: Node, groups: Groups) -> Groups:
    """A query around groups: it renames, sorts, cuts or keeps ranks."""
    from sqlglot import exp

    if node.args.get("group") is not None or _has_measure(node):
        raise not_supported(node, "what was grouped is not grouped again")
    read = _OuterReader(groups)
    outputs, renamed = dict[str, Output](), dict[str, str]()
    for one in node.expressions:
        if one.is_star:
            outputs |= groups.outputs
            continue
        outputs[_output_name(one)] = read.read_output(one.unalias())
        if isinstance(one.unalias(), exp.Column):
            renamed[read.name(one.unalias())] = _output_name(one)
    sort = tuple((renamed.get(name, name), descends) for name, descends in groups.sort)
    groups = replace(groups, outputs=outputs, sort=tuple(one for one in sort if one[0] in outputs))
    return _finish(node, groups, read)


@dataclass(frozen=True)
class _OuterReader:
    """Reads columns of an inner query over groups."""

    groups: Groups

    def name(self, node: Node) -> str:
        """The name that the inner query gave to a column."""
        from sqlglot import exp

        found = find_name(node.name, self.groups.outputs) if isinstance(node, exp.Column) else None
        if found is None:
            raise SqlError(
                NO_SUCH_COLUMN, f"{node.sql()!r}: the inner query has {', '.join(self.groups.outputs)}; outside it, "
                "columns are only renamed, sorted and cut",
            )  # fmt: skip
        return found

    def read_output(self, node: Node) -> Output:
        """What that column is."""
        from sqlglot import exp

        node = node.unnest()
        if isinstance(node, exp.Window):
            return self._rank(node)
        return self.groups.outputs[self.name(node)]

    def _rank(self, node: Node) -> Rank:
        _check_rank(node, self.read_output)
        partition = [self.read_output(one) for one in node.args.get("partition_by") or ()]
        return Rank(tuple(one for one in partition if isinstance(one, LabelExpression)))


def _finish(node: Node, groups: Groups, read: _OutputReader | _OuterReader) -> Groups:
    """HAVING, QUALIFY, the outer WHERE, ORDER BY and LIMIT of a query over groups."""
    for part in ("having", "qualify", *(("where",) if isinstance(read, _OuterReader) else ())):
        condition = node.args.get(part)
        for one in _conjuncts(None if condition is None else condition.this):
            groups = _keep(one, groups, read.read_output)
    groups = _order(node, groups, read)
    used = [one for one in groups.outputs.values() if isinstance(one, Measure)]
    measures = [*used, *([groups.measure] if groups.measure is not None else [])]
    if len({one.score for one in measures}) > 1:
        raise SqlError(
            NOT_SUPPORTED, "one question ranks by one number: ask for the other one in a question of its own"
        )
    measure = next((one for one in measures if one.note), measures[0] if measures else None)
    groups = replace(groups, measure=measure, ordered=groups.ordered or bool(used))
    limit = _limit(node)
    if limit is None:
        return groups
    if limit == 0:
        return replace(groups, never=True)
    limit = min(limit, groups.limit or limit)
    if groups.sort or groups.rank is not None:
        return replace(groups, limit=limit)
    return replace(groups, k=min(limit, groups.k or limit), limit=limit)


def _keep(node: Node, groups: Groups, output: Callable[[Node], Output]) -> Groups:
    """One condition on groups: on ranks, or one that every group meets."""
    from sqlglot import exp

    known = _constant(node)
    if known is None and _is_not_null(node) and isinstance(output(_operand(node)), Measure):
        return groups
    if known is not None:
        return groups if known else replace(groups, never=True)
    flipped: dict[type[Node], type[Node]] = {
        exp.GT: exp.LT,
        exp.GTE: exp.LTE,
        exp.LT: exp.GT,
        exp.LTE: exp.GTE,
        exp.EQ: exp.EQ,
    }
    kind: type[Node] = type(node)
    left, right = node.this, node.args.get("expression")
    if kind in flipped and right is not None and whole_number(left) is not None:
        kind, left, right = flipped[kind], right, left
    if isinstance(node, exp.Between) and whole_number(node.args["low"]) in (0, 1):
        kind, right = exp.LTE, node.args["high"]
    number = whole_number(right)
    what = output(left) if number is not None and kind in flipped else None
    if isinstance(what, Measure) and ((kind is exp.GT and number == 0) or (kind is exp.GTE and number in (0, 1))):
        return groups  # an item that is named has users
    limits: dict[type[Node], int | None] = {
        exp.LTE: number,
        exp.LT: (number or 0) - 1,
        exp.EQ: 1 if number == 1 else None,
    }
    most = limits.get(kind)
    if isinstance(what, Rank) and most is not None:
        if groups.rank is not None and groups.rank[0] != what:
            raise not_supported(node, "one question keeps ranks of one kind")
        kept = most if groups.rank is None else min(most, groups.rank[1])
        return replace(groups, rank=(what, kept), never=groups.never or kept < 1)
    raise SqlError(
        NOT_SUPPORTED,
        f"{node.sql()!r}: a condition on numbers or names of groups cannot be answered, because it would be decided by "
        "numbers that are not published; leave HAVING out, and put conditions on columns into WHERE of the inner query",
    )


def _order(node: Node, groups: Groups, read: _OutputReader | _OuterReader) -> Groups:
    order = node.args.get("order")
    if order is None:
        return groups
    sort, names = list[tuple[str, bool]](), list(groups.outputs)
    for one in order.expressions:
        place = whole_number(one.this)
        if place is not None and not 1 <= place <= len(names):
            raise SqlError(SYNTAX, f"ORDER BY {place}: there are {len(names)} selected columns")
        what = groups.outputs[names[place - 1]] if place is not None else read.read_output(one.this)
        descends = bool(one.args.get("desc"))
        if isinstance(what, Measure):
            if sort:
                break  # ties of a label: there are none within a group
            if not descends:
                raise not_supported(one, "the least popular items cannot be named; ORDER BY … DESC")
            return replace(groups, measure=what, ordered=True, sort=())
        name = next((name for name, output in groups.outputs.items() if output == what), None)
        if isinstance(what, Rank) and name is None and not descends:
            sorted_by = [groups.outputs[one] for one, _ in sort]
            if all(label in sorted_by for label in what.partition):
                break  # an answer is in the order of its ranks, and nothing else is equal
        if name is None:
            raise not_supported(one, "order by what is selected")
        sort.append((name, descends))
    return replace(groups, sort=tuple(sort))


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


def _limit(node: Node) -> int | None:
    """The most rows that LIMIT or FETCH leaves; None: all."""
    limit = node.args.get("limit")
    if limit is None:
        return None
    written = limit.args.get("count") or limit.args.get("expression")
    if written is None or str(written).upper() in ("ALL", "NULL"):
        return None
    number = whole_number(written)
    options = limit.args.get("limit_options")
    if number is None or (options is not None and (options.args.get("percent") or options.args.get("with_ties"))):
        raise not_supported(limit, "LIMIT takes a whole number")
    return number


def refuse_rows(shape: Shape) -> Groups:
    """The shape as groups.

    Raises:
        SqlError: It is rows of the table.
    """
    if isinstance(shape, Rows):
        raise _rows_error()
    return shape
