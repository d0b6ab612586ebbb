"""Few pairs: users and items are fetched as they are, from the table in which one statement stored them.

Numbering, hashing and naming then happen in this process, where they take less time than the statements that would do
them. Every view is the very same as when the engine computes it: items are numbered in the order of their labels, and
hashes are MD5 of the key and of the label's text, as in `PairCounting`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crestline.histogram.label_order import Label
from crestline.histogram.pairs import Counts
from crestline.sources.engine.engine_functions import Expression
from crestline.sources.engine.runner import Runner
from crestline.sources.expression.column_keys import Key
from crestline.sources.expression.contribution import hash_digits
from crestline.sources.expression.counting import USER, Counting
from crestline.sources.pairs.counting import ITEM_KEY, PRIME, USER_KEY
from crestline.sources.pairs.numbered import NumberedPairs

FEW = 1 << 16
"""Up to so many pairs are fetched with their texts: with more, the engine is faster at numbers and hashes."""

Column: TypeAlias = NDArray[Any]  # as an engine sends it back: whole numbers, or bytes
Value: TypeAlias = Any  # of a column, or a tuple of them for an item of several columns


def may_be_fetched(counting: Counting) -> bool:
    """Whether this process can write the texts of users and items as the engine does."""
    return all(key.to_texts is not None for key in (counting.user, *counting.items.keys))


def result_columns(counting: Counting, pairs: Expression) -> Expression:
    """The user and the item of every pair, as they are sent back."""
    return pairs.select(**{USER: counting.user.to_plain_values(pairs[USER])}, **counting.items.result_columns(pairs))


def fetch_pairs(counting: Counting, runner: Runner, expression: Expression) -> FetchedPairs:
    """Pairs that are read by one statement, that of `result_columns`."""
    users, *items = runner.fetch_arrays(expression)
    named_users, of_users = _number_values([users])
    named_items, of_items = _number_values(items)
    labels = _Labels(counting, named_users, named_items)
    return FetchedPairs.from_distinct(of_users, of_items, labels, labels)


class FetchedPairs(NumberedPairs):
    """Pairs whose items are hashed only as long as some pair has them: after a round of the sieve few are left."""

    _hashing: _Labels

    def _buckets(self, key: bytes, buckets: int) -> Counts:
        """Asked twice for each key: to add the loads up, and to leave out what is in light buckets."""
        if (key, buckets) not in self._bucket_cache:
            there = np.flatnonzero(np.bincount(self._items))
            found = np.zeros(int(self._items.max(initial=-1)) + 1, dtype=np.int64)
            found[there] = self._hashing.hash_item_numbers(there, key, buckets)
            self._bucket_cache[key, buckets] = found
        return self._bucket_cache[key, buckets]

    @cached_property
    def _bucket_cache(self) -> dict[tuple[bytes, int], Counts]:
        return {}


@dataclass(frozen=True)
class _Labels:
    """Users and items by their numbers: the names of items, and the engine's hashes."""

    counting: Counting
    users: list[Value]
    items: list[Value]

    def __call__(self, numbers: list[int]) -> list[Label]:
        items = self.counting.items
        several = len(items.keys) > 1
        return [items.label(self.items[number] if several else (self.items[number],)) for number in numbers]

    def buckets(self, key: bytes, buckets: int, items: int) -> Counts:
        return self.hash_item_numbers(np.arange(items), key, buckets)

    def pair_ranks(self, key: bytes, users: Counts, items: Counts) -> Counts:
        of_user = _hash_distinct(users, lambda some: self._hash_user_numbers(some, key + USER_KEY, PRIME - 1) + 1)
        of_item = _hash_distinct(items, lambda some: self.hash_item_numbers(some, key + ITEM_KEY, PRIME - 1) + 1)
        places: Counts = of_user * of_item % PRIME
        return places

    def hash_item_numbers(self, numbers: Counts, key: bytes, below: int) -> Counts:
        """A keyed hash of each of these items."""
        return _hash_below(
            _hash_texts(self.counting.items.keys, [self.items[one] for one in numbers.tolist()]), key, below
        )

    def _hash_user_numbers(self, numbers: Counts, key: bytes, below: int) -> Counts:
        return _hash_below(
            _hash_texts((self.counting.user,), [self.users[one] for one in numbers.tolist()]), key, below
        )


def _number_values(columns: Sequence[Column]) -> tuple[list[Value], Counts]:
    """Every value once, in order, and for each row the number of its own."""
    if len(columns) == 1 and columns[0].dtype != object:
        found, numbers = np.unique(columns[0], return_inverse=True)
        return found.tolist(), numbers.astype(np.int64)
    parts = [_plain_values(column) for column in columns]
    rows = parts[0] if len(parts) == 1 else list(zip(*parts, strict=True))
    values = sorted(set(rows))
    number = dict(zip(values, range(len(values)), strict=True))
    return values, np.fromiter(map(number.__getitem__, rows), dtype=np.int64, count=len(rows))


def _plain_values(column: Column) -> list[Value]:
    """Values that can be looked up: bytes come as arrays of them."""
    return column.tolist() if column.dtype != object else list(map(bytes, column.tolist()))


def _hash_distinct(numbers: Counts, hashed: Callable[[Counts], Counts]) -> Counts:
    """A hash for each number, computed once for equal ones."""
    some, place = np.unique(numbers, return_inverse=True)
    return hashed(some)[place]


def _hash_texts(keys: Sequence[Key], values: Sequence[Value]) -> list[str]:
    """The texts of users or items, each in one as `keyed_message` writes it after the key."""
    columns = [values] if len(keys) == 1 else list(zip(*values, strict=True)) or [()] * len(keys)  # no row, no columns
    *others, last = [
        key.to_texts(column) for key, column in zip(keys, columns, strict=True) if key.to_texts is not None
    ]
    if not others:
        return last
    sized = [[f"{len(text)}:{text}" for text in texts] for texts in others]
    return ["".join(parts) for parts in zip(*sized, last, strict=True)]


def _hash_below(texts: Sequence[str], key: bytes, below: int) -> Counts:
    """The first 32 bits of the MD5 of the key and a text, below a bound."""
    begin = hash_digits(key)
    digests = [hashlib.md5((begin + text).encode(), usedforsecurity=False).digest() for text in texts]
    first = np.frombuffer(b"".join(digests), dtype=">u4")[::4]
    hashes: Counts = first.astype(np.int64) % below
    return hashes
