"""The relation of a question in this process: one statement sends rows as Arrow columns, and dictionaries number them.

One statement is a snapshot by itself. Nothing is made distinct, numbered or hashed in the engine, which would cost more
than all that follows. Items are numbered in the order of their labels, and hashes are MD5 of the key and of the label's
text, as in `PairCounting`: for every key each view is the very same as when the engine computes it, so that how many
rows there are decides where they are counted, and nothing else.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from crestline.errors import QuestionError
from crestline.histogram.label_order import Label, label_order
from crestline.histogram.relation import Counts, Relation, Rows, changes, distinct_rows, rows_beyond
from crestline.sources.engine.bind_parameters import NOTHING, Values
from crestline.sources.engine.engine_functions import Expression
from crestline.sources.engine.runner import Runner
from crestline.sources.expression.column_keys import Key
from crestline.sources.expression.contribution import hash_digits
from crestline.sources.expression.counting import PERIOD, USER, Counting
from crestline.sources.pairs.counting import ITEM_KEY, PRIME, USER_KEY

if TYPE_CHECKING:
    import pyarrow

MEMORY = 1 << 32
"""Bytes of rows that are read into this process, unless `CRESTLINE_MEMORY` says another number. What takes more is
counted in the engine, with the same result for every key. Public: it depends on no row, and is the same on all
engines."""

_GROUP_BITS = 48  # the digits by which `bound_pairs` tells hashes apart
_TEXT = "_text"  # ends the name of a column with the texts of another
_SMALL_OFFSETS = (1 << 31) - 1  # bytes of texts that Arrow addresses with 32 bits
_Values: TypeAlias = Any  # an Arrow array, which has no types


def memory_limit() -> int:
    """The number of bytes of rows that are read into this process.

    Raises:
        QuestionError: The variable of the environment is not a whole number.
    """
    stated = os.environ.get("CRESTLINE_MEMORY", str(MEMORY))
    if not stated.strip().isdecimal():
        raise QuestionError("CRESTLINE_MEMORY must be a whole number of bytes, such as 4294967296")
    return int(stated)


@dataclass(frozen=True)
class Column:
    """The distinct values of a column of users or items, by their numbers.

    texts   what is hashed of each, where this process does not write it as engines do
    """

    key: Key
    values: _Values
    texts: _Values = None

    def texts_of(self, numbers: Counts) -> list[str]:
        """What is hashed of these values: texts that only equal ones share."""
        if self.key.to_texts is None:
            return _take(self.texts, numbers)
        return self.key.to_texts(_take(self.values, numbers))


@dataclass(frozen=True)
class Labels:
    """Users or items by their numbers: the number of each in every column that it is made of."""

    columns: tuple[Column, ...]
    parts: tuple[Counts, ...] = ()  # none: one column, in which it has the same number

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.parts[0]) if self.parts else len(self.columns[0].values)

    def values(self, numbers: Counts) -> list[tuple[Any, ...]]:
        """What came back of each."""
        return list(zip(*(_take(column.values, own) for column, own in self._by_column(numbers)), strict=True))

    def hash_below(self, numbers: Counts, key: bytes, below: int) -> Counts:
        """The first 32 bits of the MD5 of the key and the text of each, below a bound."""
        begin = hash_digits(key)
        hashes: Counts = _first_bits([begin + text for text in self.texts(numbers)], 32) % below
        return hashes

    def texts(self, numbers: Counts) -> list[str]:
        """The text of each, as `keyed_message` writes it after the key."""
        *others, texts = [column.texts_of(own) for column, own in self._by_column(numbers)]
        if not others:
            return texts
        return ["".join(parts) for parts in zip(*map(_with_sizes, others), texts, strict=True)]

    def _by_column(self, numbers: Counts) -> list[tuple[Column, Counts]]:
        parts = [part[numbers] for part in self.parts] or [numbers]
        return list(zip(self.columns, parts, strict=True))


@dataclass(frozen=True)
class LabelHashing:
    """The hashes of `PairCounting`, of the labels of users and items."""

    users: Labels
    items: Labels

    def buckets(self, key: bytes, buckets: int, items: Counts) -> Counts:
        return self.items.hash_below(items, key, buckets)

    def ranks(self, key: bytes, users: Counts, items: Counts) -> Counts:
        of_user = _hash_distinct(users, lambda some: self.users.hash_below(some, key + USER_KEY, PRIME - 1))
        of_item = _hash_distinct(items, lambda some: self.items.hash_below(some, key + ITEM_KEY, PRIME - 1))
        ranks: Counts = (of_user + 1) * (of_item + 1) % PRIME
        return ranks

    def factors(self, key: bytes) -> tuple[Counts, Counts]:
        """A hash of every user and of every item, from which those of other keys are derived."""
        users, items = np.arange(self.users.size), np.arange(self.items.size)
        return (
            self.users.hash_below(users, key + USER_KEY, PRIME - 1) + 1,
            self.items.hash_below(items, key + ITEM_KEY, PRIME - 1),
        )


@dataclass(frozen=True)
class NumberedRows:
    """Rows that were sent, as numbers, and what the numbers stand for."""

    rows: Rows
    users: Labels
    items: Labels
    groups: Labels | None = None

    @property
    def hashing(self) -> LabelHashing:
        """The hashes of its users and items."""
        return LabelHashing(self.users, self.items)

    def keep_groups(self, cap: int, key: bytes) -> Rows:
        """The distinct rows of at most `cap` groups of each user (over several periods: in each of them): those of
        smallest hash, as `bound_pairs` chooses them with this key in the engine (P15.1)."""
        rows, groups = self.rows, self.groups
        assert rows.groups is not None, "asked only where rows have groups"
        assert groups is not None, "which have labels"
        several = () if rows.periods is None else (rows.periods,)
        users, *periods, group, items = distinct_rows(rows.users, *several, rows.groups, rows.items)
        first = changes(users, *periods, group)
        user, which = users[first], group[first]
        units = np.cumsum(changes(user, *(part[first] for part in periods))) - 1
        over = np.flatnonzero(np.bincount(units)[units] > cap)
        kept = np.ones(len(user), dtype=np.bool_)
        if len(over):
            ranks = self._group_ranks(user[over], which[over], key)
            kept[over[rows_beyond(cap, units[over], ranks, _GROUP_BITS)]] = False
        return Rows(users, items, periods[0] if periods else None, group).take(kept[np.cumsum(first) - 1])

    def _group_ranks(self, users: Counts, groups: Counts, key: bytes) -> Counts:
        assert self.groups is not None, "asked only where rows have groups"
        begin, there = hash_digits(key), np.flatnonzero(np.bincount(users))
        texts = dict(zip(there.tolist(), _with_sizes(self.users.texts(there)), strict=True))
        named = self.groups.texts(np.arange(self.groups.size))
        pairs = zip(users.tolist(), groups.tolist(), strict=True)
        return _first_bits([begin + texts[user] + named[group] for user, group in pairs], _GROUP_BITS)


@dataclass(frozen=True)
class NumberedColumn:
    """A column of a copy of a table that holds the numbers of another column's values."""

    name: str
    values: Column


@dataclass(frozen=True)
class RelationQuery:
    """The rows of a question as one expression, and the relation of what it sends.

    numbered   by the columns of the question: those that the table holds as numbers already
    """

    counting: Counting
    numbered: Mapping[str, NumberedColumn] = field(default_factory=dict)

    @cached_property
    def expression(self) -> Expression:
        """The rows of the question, as they are sent."""
        return self.sent_columns(
            self.counting.rows({name: column.name for name, column in self._known_numbers.items()})
        )

    def sent_columns(self, rows: Expression) -> Expression:
        """User, groups, items and, over several periods, the period of every row, as they are sent."""
        columns: dict[str, Expression] = {}
        for name, key in self._keys.items():
            if name in self._known_numbers:
                columns[name] = rows[self._known_numbers[name].name]
                continue
            if key.to_texts is None:
                (columns[name + _TEXT],) = self.counting.texts(rows, (name,))
            if name != USER or key.to_texts is not None:  # users are hashed, and never named
                columns[name] = key.to_plain_values(rows[name])
        period = {PERIOD: rows[PERIOD]} if PERIOD in self.counting.bounded_by else {}
        return rows.select(**columns, **period)

    def read(self, runner: Runner, values: Values = NOTHING) -> Relation | None:
        """The relation; None where its rows take more than `memory_limit`."""
        table = runner.read_arrow(self.expression, memory_limit(), values)
        if table is None:
            return None
        found = self.number_rows(table)
        return Relation.from_rows(found.rows, lambda numbers: self.name_items(found, numbers), found.hashing)

    def number_rows(self, table: pyarrow.Table) -> NumberedRows:
        """The rows that were sent, as numbers."""
        found, counting = {name: self._column(table, name) for name in self._keys}, self.counting
        users, user = Labels((found[USER][1],)), found[USER][0]
        items, item = _labels([found[name] for name in counting.items.names])
        periods = _numbers(table[PERIOD]) if PERIOD in table.column_names else None
        if not counting.groups.names:
            return NumberedRows(Rows(user, item, periods), users, items)
        groups, group = _labels([found[name] for name in counting.groups.names])
        return NumberedRows(Rows(user, item, periods, group), users, items, groups)

    def name_items(self, found: NumberedRows, numbers: Sequence[int]) -> list[Label]:
        """The labels of items by their numbers."""
        return [self.counting.items.label(row) for row in found.items.values(np.array(numbers, dtype=np.int64))]

    @cached_property
    def _keys(self) -> dict[str, Key]:
        """The user first, then the columns of groups and of items."""
        groups, items = self.counting.groups, self.counting.items
        return {
            USER: self.counting.user,
            **dict(zip((*groups.names, *items.names), (*groups.keys, *items.keys), strict=True)),
        }

    @cached_property
    def _known_numbers(self) -> dict[str, NumberedColumn]:
        question = self.counting.question
        columns = zip(self._keys, (question.user, *question.by, *question.item), strict=True)
        return {name: self.numbered[column] for name, column in columns if column in self.numbered}

    def _column(self, table: pyarrow.Table, name: str) -> tuple[Counts, Column]:
        """The numbers of a column, and its values by them."""
        if name in self._known_numbers:
            return _numbers(table[name]), self._known_numbers[name].values
        there, texts = table.column_names, name + _TEXT
        return number_column(
            self._keys[name],
            table[name if name in there else texts],
            table[texts] if texts in there else None,
            in_order=name != USER,
        )


def number_column(
    key: Key, column: pyarrow.ChunkedArray, texts: pyarrow.ChunkedArray | None, *, in_order: bool
) -> tuple[Counts, Column]:
    """Numbers of the values of a column, where asked for in the order of their labels, and the values by number."""
    import pyarrow as pa

    column = _with_large_offsets(column)
    coded = column.dictionary_encode()  # all chunks share one dictionary
    numbers = np.concatenate(
        [np.zeros(0, dtype=np.int32), *(np.asarray(chunk.indices.fill_null(0)) for chunk in coded.chunks)]
    )
    values = coded.chunk(coded.num_chunks - 1).dictionary if coded.num_chunks else pa.array([], column.type)
    if in_order:
        order = _label_order(key, values)
        place = np.empty(len(order), dtype=np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        numbers, values = place[numbers], values.take(pa.array(order))
    if texts is not None:
        first = np.empty(len(values), dtype=np.int64)
        first[numbers[::-1]] = np.arange(len(numbers))[::-1]
        texts = _with_large_offsets(texts).take(pa.array(first))
    return numbers, Column(key, values, texts)


def _with_large_offsets(column: pyarrow.ChunkedArray) -> pyarrow.ChunkedArray:
    """A column whose texts or bytes may be taken by their places, however many they are."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_string_view(kind) or (pa.types.is_string(kind) and column.nbytes > _SMALL_OFFSETS):
        return column.cast(pa.large_string())
    if pa.types.is_binary_view(kind) or (pa.types.is_binary(kind) and column.nbytes > _SMALL_OFFSETS):
        return column.cast(pa.large_binary())
    return column


def _label_order(key: Key, values: _Values) -> Counts:
    """The order of values by their labels; decimals come as texts, whose order is another."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type) or pa.types.is_boolean(values.type):
        order = [label_order(key.label(value)) for value in values.to_pylist()]
        return np.array(sorted(range(len(order)), key=order.__getitem__), dtype=np.int64)
    return np.asarray(pc.array_sort_indices(values)).astype(np.int64)


def _labels(columns: Sequence[tuple[Counts, Column]]) -> tuple[Labels, Counts]:
    """What is made of one or several columns, numbered in order, and its number in every row."""
    values = tuple(column for _, column in columns)
    if len(columns) == 1:
        return Labels(values), columns[0][0]
    rows = columns[0][0].astype(np.int64)
    for column, _ in columns[1:]:
        _, rows = np.unique(rows * (int(column.max(initial=0)) + 1) + column, return_inverse=True)
    first = np.empty(int(rows.max(initial=-1)) + 1, dtype=np.int64)
    first[rows[::-1]] = np.arange(len(rows))[::-1]
    return Labels(values, tuple(column[first] for column, _ in columns)), rows


def _first_bits(texts: Sequence[str], bits: int) -> Counts:
    """The first bits of the MD5 of each text, at most 63 of them."""
    digests = [hashlib.md5(text.encode(), usedforsecurity=False).digest() for text in texts]
    found: Counts = (np.frombuffer(b"".join(digests), dtype=">u8")[::2] >> np.uint64(64 - bits)).astype(np.int64)
    return found


def _with_sizes(texts: Sequence[str]) -> list[str]:
    """Each text after its length, so that another one may follow it."""
    return [f"{len(text)}:{text}" for text in texts]


def _hash_distinct(numbers: Counts, hashed: Callable[[Counts], Counts]) -> Counts:
    """A hash for each number, computed once for equal ones."""
    there = np.flatnonzero(np.bincount(numbers))
    found = np.zeros(int(numbers.max(initial=-1)) + 1, dtype=np.int64)
    found[there] = hashed(there)
    return found[numbers]


def _numbers(column: pyarrow.ChunkedArray) -> Counts:
    numbers: Counts = np.asarray(column).astype(np.int64)
    return numbers


def _take(values: _Values, numbers: Counts) -> list[Any]:
    import pyarrow as pa

    found: list[Any] = values.take(pa.array(numbers)).to_pylist()
    return found
