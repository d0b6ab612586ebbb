"""The distinct pairs of every group from an engine, as numbers in this process: what the sieve in groups looks at.

in this process   one statement, whose rows are numbered here as those of any relation
Spark             one statement stores the distinct (user, group, item) of at most so many groups of each user; users,
                  groups and items are numbered in the engine, and the numbers of all pairs are fetched
others            one statement, whose rows are numbered here; PostgreSQL sends some at a time

How many pairs and groups there are is private, so nothing here limits their number (P15.3): memory grows with pairs.
With a public floor only the pairs of groups with at least so many users leave the engine, all of them: the looks of the
sieve see every one.
Every hash is made of keyed hashes of labels, so that for every key it says the same of an item whoever has it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from crestline.histogram.label_order import Label, label_order
from crestline.histogram.relation import Counts, GroupedRelation, SplitMixHashing, distinct_rows
from crestline.histogram.relation import Rows as RelationRows
from crestline.sources.engine.bind_parameters import KEY, NOTHING
from crestline.sources.engine.engine_functions import Expression
from crestline.sources.engine.fetch import Rows
from crestline.sources.engine.inline_tables import inline_int_table
from crestline.sources.engine.runner import Runner
from crestline.sources.expression.counting import PERIOD, USER
from crestline.sources.groups.counting import NUMBER as GROUP_NUMBER
from crestline.sources.groups.counting import GroupCounting, group_key, group_key_values
from crestline.sources.groups.scoring import GroupScoring
from crestline.sources.pairs.counting import ITEM_KEY, NUMBER, OF_ITEM, OF_USER, USER_KEY, PairCounting, number_items
from crestline.sources.pairs.fetched import RelationQuery, memory_limit

_ROWS = 1 << 18  # rows that are fetched at a time, at most, where the engine keeps the rest: memory
_GROUP, _CODE = "of_group", "code"
_DIGEST_BYTES = 7  # 56 bits, which fit into whole numbers of 64 with a sign

Numbers: TypeAlias = Callable[[Sequence[int]], list[Label]]  # from items' numbers to their labels, in their order


@dataclass(frozen=True)
class GroupedPairs:
    """The pairs of all groups, and the way back from their numbers to names."""

    table: GroupedRelation
    labels: Numbers

    def names(self, picks: Sequence[tuple[Label, int]]) -> list[Label]:
        """The labels of picked items, in their order: of groups and items' numbers; all of them asked for at once."""
        return self.labels([number for _, number in picks])


@contextmanager
def open_grouped_pairs(runner: Runner, over: GroupCounting, key: bytes) -> Iterator[GroupedPairs]:
    """The pairs of all groups, in one snapshot that lasts as long as the context; with a public list of groups, of
    every listed one, the empty ones too."""
    every = None if over.public_groups is None else [over.groups.label(row) for row in runner.rows(over.all_groups())]
    with ExitStack() as held:
        if runner.has_batches:
            yield _fetch_relation(runner, over, key, every)
        elif runner.has_tables:
            yield _number_in_engine(runner, over, key, every, held)
        elif runner.has_snapshots:
            held.enter_context(runner.snapshot())
            parts = held.enter_context(runner.row_batches(_pair_columns(over, key), _ROWS))
            yield _number_in_memory(over, key, every, parts)
        else:
            yield _number_in_memory(over, key, every, [runner.rows(_pair_columns(over, key))])


def _fetch_relation(runner: Runner, over: GroupCounting, key: bytes, every: list[Label] | None) -> GroupedPairs:
    """Rows that one statement sends, bounded here as the engine would; where they take too much memory, by the engine.
    Where values are bound the key is no part of a statement."""
    query, question, bound = RelationQuery(over.counting), over.counting.question, runner.has_bind_parameters
    table = runner.read_arrow(query.sent_columns(over.on_lists(over.counting.rows())), memory_limit())
    if table is None:
        kept = over.in_large_groups(over.bounded_pairs(KEY if bound else key))
        table = runner.read_arrow(query.sent_columns(kept), None, group_key_values(key) if bound else NOTHING)
    assert table is not None, "without a limit there is a table"
    found = query.number_rows(table)
    assert found.groups is not None, "a question with groups reads them"
    rows = found.keep_groups(question.groups_per_user, group_key(key))
    assert rows.groups is not None, "and keeps them"
    users = np.bincount(distinct_rows(rows.groups, rows.users)[0], minlength=found.groups.size)
    there = users >= (question.floor if every is None else 1)  # see `in_large_groups`
    rows = rows.take(there[rows.groups])
    labels = [over.groups.label(values) for values in found.groups.values(np.flatnonzero(there))]
    rows = replace(rows, groups=(np.cumsum(there) - 1)[rows.groups])
    return GroupedPairs(
        _grouped_relation(over, labels, every, rows, SplitMixHashing(*found.hashing.factors(key))),
        lambda numbers: query.name_items(found, numbers),
    )


def _number_in_engine(
    runner: Runner, over: GroupCounting, key: bytes, every: list[Label] | None, stack: ExitStack
) -> GroupedPairs:
    """Numbers from the engine. What was picked is named by the table in which items were numbered."""

    def store(expression: Expression) -> Expression:
        return stack.enter_context(runner.temporary_table(expression))

    counting, scoring = over.counting, GroupScoring(over)
    with runner.temporary_table(over.in_large_groups(over.bounded_pairs(key))) as kept:
        items, users, groups = (
            store(number_items(counting, kept)),
            store(_users(kept)),
            store(scoring.number_groups(kept)),
        )
        place = groups.rename({_GROUP: GROUP_NUMBER})
        joined = kept.inner_join(items, list(counting.items.names)).inner_join(users, USER)
        period = [PERIOD] if PERIOD in counting.bounded_by else []
        codes = joined.inner_join(place, list(over.groups.names)).select(_GROUP, _CODE, NUMBER, *period)
        which, user, item, *periods = _columns(runner, codes)
    hashing = PairCounting(counting, (NUMBER,), items)
    digests = SplitMixHashing(
        _order_by_number(_columns(runner, hashing.user_factors(users, key).select(_CODE, OF_USER))),
        _order_by_number(_columns(runner, hashing.item_factors(key).select(NUMBER, OF_ITEM))),
    )
    found = {int(row[-1]): over.groups.label(row[:-1]) for row in runner.rows(scoring.numbers(groups))}
    labels = [found[number] for number in range(len(found))]

    def fetch_labels(numbers: Sequence[int]) -> list[Label]:
        if not numbers:
            return []
        wanted = items.inner_join(inline_int_table({NUMBER: sorted(set(numbers))}, counting.engine), NUMBER)
        rows = runner.rows(wanted.select(wanted[NUMBER], **counting.items.result_columns(wanted)))
        known = {int(number): counting.items.label(values) for number, *values in rows}
        return [known[number] for number in numbers]

    found_rows = RelationRows(user, item, periods[0] if periods else None, which)
    return GroupedPairs(_grouped_relation(over, labels, every, found_rows, digests), fetch_labels)


def _number_in_memory(
    over: GroupCounting, key: bytes, every: list[Label] | None, parts: Iterable[Rows]
) -> GroupedPairs:
    """Numbers in the order of labels, of rows that hold user, group columns, item columns and the period, if any."""
    several, groups = PERIOD in over.counting.bounded_by, _Numbering(over.groups.label)
    users, items = _Numbering(lambda values: over.counting.user.label(values[0])), _Numbering(over.counting.items.label)
    first = 1 + len(over.groups.names)
    last = first + len(over.counting.items.names)
    numbers = [np.zeros((0, 3 + several), dtype=np.int64)]
    for rows in parts:
        codes = [(groups[row[1:first]], users[row[:1]], items[row[first:last]], *row[last:]) for row in rows]
        numbers.append(np.array(codes, dtype=np.int64).reshape(-1, 3 + several))
    which, user, item, *periods = np.concatenate(numbers).T
    coded = RelationRows(
        users.label_order_numbers(user),
        items.label_order_numbers(item),
        periods[0] if periods else None,
        groups.label_order_numbers(which),
    )
    digests = SplitMixHashing(users.hash_labels(key + USER_KEY), items.hash_labels(key + ITEM_KEY))

    def label_numbers(numbers: Sequence[int]) -> list[Label]:
        return [items.labels[number] for number in numbers]

    return GroupedPairs(_grouped_relation(over, groups.labels, every, coded, digests), label_numbers)


class _Numbering:
    """Numbers for values as they first come, and afterwards in the order of their labels."""

    def __init__(self, label: Callable[[Sequence[Any]], Label]) -> None:
        self._label, self._numbers = label, dict[tuple[object, ...], int]()

    def __getitem__(self, values: Sequence[object]) -> int:
        return self._numbers.setdefault(tuple(values), len(self._numbers))

    @cached_property
    def _sorted_labels(self) -> list[tuple[tuple[Any, ...], int, Label]]:
        labelled = ((self._label(values), number) for values, number in self._numbers.items())
        return sorted(((label_order(label), number, label) for label, number in labelled), key=lambda part: part[0])

    @property
    def labels(self) -> list[Label]:
        """All labels, in their order."""
        return [label for *_, label in self._sorted_labels]

    def label_order_numbers(self, numbers: Counts) -> Counts:
        """From numbers as values first came to numbers in the order of labels."""
        order = np.empty(len(self._sorted_labels), dtype=np.int64)
        order[[number for _, number, _ in self._sorted_labels]] = np.arange(len(order))
        return order[numbers]

    def hash_labels(self, key: bytes) -> Counts:
        """A keyed hash of every label, in their order."""
        hidden = hashlib.sha256(key).digest()
        texts = (repr(place).encode() for place, *_ in self._sorted_labels)
        hashes = (hashlib.blake2b(text, digest_size=_DIGEST_BYTES, key=hidden).digest() for text in texts)
        return np.array([int.from_bytes(part, "big") for part in hashes], dtype=np.int64)


def _pair_columns(over: GroupCounting, key: bytes) -> Expression:
    """User, group and item of every pair, as they are sent back; over several periods the period as well."""
    kept, counting = over.in_large_groups(over.bounded_pairs(key)), over.counting
    columns = {
        USER: counting.user.to_plain_values(kept[USER]),
        **over.groups.result_columns(kept),
        **counting.items.result_columns(kept),
    }
    return kept.select(**columns, **({PERIOD: kept[PERIOD]} if PERIOD in counting.bounded_by else {}))


def _users(kept: Expression) -> Expression:
    """Every user once, with a number."""
    import ibis

    users = kept.select(USER).distinct()
    return users.mutate(**{_CODE: ibis.row_number().over(order_by=users[USER])})


def _columns(runner: Runner, expression: Expression) -> list[Counts]:
    """The columns of an expression of whole numbers."""
    return list(np.array(runner.rows(expression), dtype=np.int64).reshape(-1, len(expression.columns)).T)


def _order_by_number(columns: Sequence[Counts]) -> Counts:
    """Values in the order of their numbers, which have no gaps."""
    numbers, values = columns
    ordered = np.empty_like(values)
    ordered[numbers] = values
    return ordered


def _grouped_relation(
    over: GroupCounting,
    found_groups: list[Label],
    every: list[Label] | None,
    coded: RelationRows,
    digests: SplitMixHashing,
) -> GroupedRelation:
    """The pairs of the groups that were found; of a public list, of every listed group and of no other."""
    floor = over.counting.question.floor
    if every is None:
        return GroupedRelation.from_rows(found_groups, coded, digests, floor)
    places = {label: place for place, label in enumerate(every)}
    listed = np.array([places.get(label, -1) for label in found_groups], dtype=np.int64)[coded.groups]
    there = listed >= 0  # of a list that changed meanwhile
    return GroupedRelation.from_rows(every, replace(coded, groups=listed).take(there), digests, floor)
