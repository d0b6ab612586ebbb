"""Known domains: the public list stays in the engine (D9).

Two queries per release, whatever the size of the domain: how many items have each count, and, once the mechanism has
chosen `(count, index)` pairs, the names of those items. The index is the item's place within its count, in label order.
Both must see the same rows, or somebody who arrives in between would decide the outcome: see `snapshot.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from crestline.errors import QuestionError
from crestline.histogram.label_order import Label
from crestline.sources.engine.engine_functions import Expression, readable_table
from crestline.sources.engine.inline_tables import inline_table
from crestline.sources.engine.runner import replace_errors
from crestline.sources.expression.column_functions import column_expression
from crestline.sources.expression.column_keys import column_key
from crestline.sources.expression.counting import COUNT, Counting, Items
from crestline.sources.expression.item_names import Pick, count_multiplicities, select_picks

if TYPE_CHECKING:
    from ibis.expr.datatypes import DataType
    from pyarrow import Table

Domain: TypeAlias = Any  # labels, the name of a table or table.column, an Ibis table or column, a table in memory
Lookup: TypeAlias = Callable[[str], Expression]

_HOW_MANY = "how_many"
_PLACE = "place_in_list"
_MOST_DIGITS = 38


@dataclass(frozen=True)
class DomainCounting:
    """One question over one public list.

    counting   the question as it is put to the table
    domain     the items of the list, each once, as keys
    """

    counting: Counting
    domain: Expression

    @property
    def items(self) -> Items:
        return self.counting.items

    def every_count(self, key: bytes) -> Expression:
        """Every item of the public list with its count, zeros included."""
        names, counts = self.items.names, self._counts(key)
        found = counts.rename({f"found_{name}": name for name in names})
        joined = self.domain.left_join(found, [self.domain[name] == found[f"found_{name}"] for name in names])
        return joined.select(*(self.domain[name] for name in names), **{COUNT: joined[COUNT].fill_null(0)})

    def _counts(self, key: bytes) -> Expression:
        pairs = self.counting.pairs
        if self.counting.question.contribution is not None:
            # Items outside the public list are never released, so they must not use up a user's contribution.
            pairs = pairs.semi_join(self.domain, list(self.items.names))
        return self.counting.counts(pairs, key)

    def multiplicities(self, every: Expression) -> Expression:
        """How many items have each count, of `every_count` or a table that holds it."""
        return count_multiplicities(every)

    def names(self, every: Expression, picks: Iterable[Pick]) -> Expression:
        """Count, index and label of the picked items, of `every_count` or a table that holds it."""
        return select_picks(every, self.items, picks)

    @cached_property
    def _numbered_list(self) -> Expression:
        """The public list alone, each item with its place in label order."""
        import ibis

        order = [self.domain[name] for name in self.items.names]
        return self.domain.mutate(**{_PLACE: ibis.row_number().over(order_by=order)})

    def size(self) -> Expression:
        """How many items the public list has, as one row."""
        return self.domain.aggregate(**{_HOW_MANY: self.domain.count()})

    def counted_items(self, key: bytes) -> Expression:
        """Place, count and label of every item that somebody has."""
        placed, counts = self._numbered_list, self._counts(key)
        names = self.items.names
        renamed = counts.rename({f"found_{name}": name for name in names})
        joined = placed.inner_join(renamed, [placed[name] == renamed[f"found_{name}"] for name in names])
        return joined.select(_PLACE, COUNT, **self.items.result_columns(joined))

    def items_at(self, places: Iterable[int]) -> Expression:
        """Place and label of the items at these places of the public list; no private row is read."""
        placed = self._numbered_list.filter(self._numbered_list[_PLACE].isin(sorted(set(places))))
        return placed.select(_PLACE, **self.items.result_columns(placed))


def domain_counting(counting: Counting, domain: Domain, lookup: Lookup) -> DomainCounting:
    """The question over a domain, whatever way the domain was given."""
    return DomainCounting(counting, public_list(counting, counting.question.item, counting.items, domain, lookup))


def listed_items(counting: Counting, labels: Sequence[Label]) -> Expression:
    """Some items by their labels, each once, as keys."""
    return public_list(counting, counting.question.item, counting.items, list(labels), _refuse_lookup)


def _refuse_lookup(name: str) -> Expression:
    raise AssertionError("labels are no name of a table")


def public_list(counting: Counting, wanted: Sequence[str], items: Items, domain: Domain, lookup: Lookup) -> Expression:
    """A public list of values of some columns, each once, as keys: of all items, or of all groups."""
    table = _domain_table(counting, wanted, domain, lookup)
    columns = _columns(wanted, table.columns)
    keys = tuple(column_key(table[name], name, counting.engine) for name in columns)
    for name, ours, theirs in zip(wanted, items.keys, keys, strict=True):
        if not _are_comparable(ours.value.type(), theirs.value.type()):
            raise QuestionError(
                f"the domain of {name!r} is of type {theirs.value.type()}, the column {ours.value.type()}"
            )
    listed = Items(keys, items.kind)
    return table.filter(*listed.usable_conditions).select(**listed.columns).distinct()


def _columns(wanted: Sequence[str], there: Sequence[str]) -> Sequence[str]:
    """The item's columns by name, or all the columns of a domain that has as many."""
    if set(wanted) <= set(there):
        return wanted
    if len(wanted) != len(there):
        raise QuestionError(
            f"the public list must have the columns {', '.join(wanted)}, or as many columns; it has: {', '.join(there)}"
        )
    return there


def _are_comparable(ours: DataType, theirs: DataType) -> bool:
    """Whether a value of one type can be held against every value of the other. Engines bring decimals to a common
    type of at most 38 digits first, and fail on a row that does not fit it."""
    if not (ours.is_decimal() and theirs.is_decimal()):
        return _comparison_type(ours) == _comparison_type(theirs)
    if ours.precision is None or theirs.precision is None:
        return True
    before = max(ours.precision - ours.scale, theirs.precision - theirs.scale)
    fits = before + max(ours.scale, theirs.scale) <= _MOST_DIGITS
    return fits and bool(ours.castable(theirs) or theirs.castable(ours))


def _comparison_type(kind: DataType) -> str:
    return "integer" if kind.is_integer() else str(kind.copy(nullable=True))


def _domain_table(counting: Counting, names: Sequence[str], domain: Domain, lookup: Lookup) -> Expression:
    library = type(domain).__module__.partition(".")[0]
    if isinstance(domain, str):
        return readable_table(lookup(domain), counting.engine)
    if library == "ibis":
        return readable_table(domain.as_table(), counting.engine)
    if library in ("pandas", "polars", "pyarrow"):
        from crestline.sources.arrow.tables import arrow_table

        return _inline_domain(counting, names, arrow_table(domain, library))
    if isinstance(domain, Sequence | set | frozenset):
        return _labels_table(counting, names, list(domain))
    raise QuestionError(
        "a domain is a list of items, the name of a table or table.column, a table in memory, an Ibis table or column"
    )


def _labels_table(counting: Counting, names: Sequence[str], labels: list[Any]) -> Expression:
    """A list of labels (tuples where there are several columns), typed like those columns."""
    import pyarrow

    if not labels:
        return counting.table.select(**{name: _item_expression(counting, name) for name in names}).limit(0)
    rows = labels if len(names) > 1 else [(label,) for label in labels]
    kinds = {name: _item_expression(counting, name).type().to_pyarrow() for name in names}
    advice = f"the domain's items must be of the types of {', '.join(names)}: {', '.join(map(str, kinds.values()))}"

    def typed_table() -> Table:
        pairs = zip(kinds.items(), zip(*rows, strict=True), strict=True)
        return pyarrow.table({name: pyarrow.array(column, kind) for (name, kind), column in pairs})

    return _inline_domain(counting, names, replace_errors(advice, typed_table))


def _item_expression(counting: Counting, name: str) -> Expression:
    return column_expression(counting.table, name, counting.engine)


def _inline_domain(counting: Counting, names: Sequence[str], table: Table) -> Expression:
    """A table in memory as an expression of the engine, without writing to the engine."""
    columns = _columns(names, table.column_names)
    table = table.select(list(columns)).drop_null()  # on its way to Spark a null would become the text "nan"
    return inline_table(table, counting.engine)
