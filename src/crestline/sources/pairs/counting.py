"""Expressions over distinct (user, item) pairs: every view that a threshold or the sieve may ask for (P18.6).

Nothing here runs, and nothing can fail on a row: counts, comparisons and sums of whole numbers from small tables, and
MD5 of texts. Engines never compute a weight. An item is hashed once, and not once for each of its users.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crestline.histogram.pairs import CELLS, Counts
from crestline.sources.engine.engines import Expression, md5, number_of
from crestline.sources.engine.small_tables import small_table
from crestline.sources.expression.contribution import keyed_message
from crestline.sources.expression.counting import COUNT, USER, Counting
from crestline.sources.expression.picks import Pick, picked

NUMBER = "number"
_BUCKET, _MANY, _CELL, _WEIGHT = "bucket", "many", "cell", "weight"
_DIGITS = 8  # 32 bits of the hash, which fit into whole numbers of 64 bits with a sign


def listing_of(counting: Counting, pairs: Expression) -> Expression:
    """Every item of the pairs once."""
    return pairs.select(*counting.items.names).distinct()


def numbered(counting: Counting, pairs: Expression) -> Expression:
    """Every item of the pairs once, with its number in label order."""
    import ibis

    listing = listing_of(counting, pairs)
    order = [listing[name] for name in counting.items.names]
    return listing.mutate(**{NUMBER: ibis.row_number().over(order_by=order)})


def by_number(counting: Counting, pairs: Expression, listing: Expression) -> Expression:
    """Each user with the numbers of their items."""
    return pairs.inner_join(listing, list(counting.items.names)).select(USER, NUMBER)


@dataclass(frozen=True)
class PairCounting:
    """Views of pairs of one question.

    item      the columns by which pairs tell items apart: the items' own columns, or their number
    listing   every item once, with those columns and its own
    """

    counting: Counting
    item: tuple[str, ...]
    listing: Expression

    def ranked(self, pairs: Expression, rank: int) -> Expression:
        """The smallest of the `rank` largest numbers of users of an item, and how many of them there are."""
        import ibis

        counts = pairs.group_by(list(self.item)).agg(**{COUNT: pairs.count()})
        largest = counts.order_by(ibis.desc(COUNT)).select(COUNT).limit(rank)
        return largest.aggregate(**{COUNT: largest[COUNT].min().fill_null(0), _MANY: largest.count()})

    def cells(self, pairs: Expression) -> Expression:
        """How many users have so many items, by cell; cells without users have no row."""
        import ibis

        many = _by_user(pairs)
        # Comparisons of whole numbers only: a logarithm would be rounded differently by every engine.
        branches = [(many[_MANY] <= 1 << cell, cell) for cell in range(CELLS - 1)]
        placed = many.select(**{_CELL: ibis.cases(*branches, else_=CELLS - 1)})
        return placed.group_by(_CELL).agg(**{COUNT: placed.count()})

    def placed(self, pairs: Expression, key: bytes, buckets: int) -> Expression:
        """Each user with each bucket that has an item of theirs, once."""
        return pairs.inner_join(self._hashed(key, buckets), list(self.item)).select(USER, _BUCKET).distinct()

    def loads(self, placed: Expression, weights: Counts) -> Expression:
        """For every bucket the sum of the weights of its users, of `placed` or a table that holds it."""
        weighed = _by_user(placed).inner_join(self._weights(weights), _MANY).select(USER, _WEIGHT)
        joined = placed.inner_join(weighed, USER)
        return joined.group_by(_BUCKET).agg(**{COUNT: joined[_WEIGHT].sum().cast("int64")})

    def within(self, pairs: Expression, key: bytes, kept: Sequence[int], buckets: int) -> Expression:
        """The pairs whose items lie in the buckets that were kept."""
        alive = self._hashed(key, buckets).semi_join(self._table({_BUCKET: kept}), _BUCKET)
        return pairs.semi_join(alive, list(self.item))

    def scores(self, pairs: Expression, key: bytes, weights: Counts) -> Expression:
        """Every item that some user keeps, with its score."""
        import ibis

        cap, same = len(weights), len(set(weights.tolist())) == 1
        counted = pairs.inner_join(_by_user(pairs), USER)
        few = counted.filter(counted[_MANY] <= cap)
        many = self._bounded(counted.filter(counted[_MANY] > cap), cap, key)  # only these users' items are hashed
        kept = few.select(_MANY, *self.item).union(many.select(_MANY, *self.item))
        if same:
            return kept.group_by(list(self.item)).agg(**{COUNT: kept.count() * int(weights[0])})
        capped = kept.mutate(**{_MANY: ibis.least(kept[_MANY], cap)})
        joined = capped.inner_join(self._weights(weights), _MANY)
        return joined.group_by(list(self.item)).agg(**{COUNT: joined[_WEIGHT].sum().cast("int64")})

    def names(self, scores: Expression, picks: Sequence[Pick]) -> Expression:
        """Score, index and label of the picked items, of `scores` or a table that holds it. The index is the item's
        place within its score, in label order."""
        return picked(self._labelled(scores), self.counting.items, picks)

    def _labelled(self, table: Expression) -> Expression:
        """With the items' own columns."""
        return table if self.item == self.counting.items.names else table.inner_join(self.listing, list(self.item))

    def _bounded(self, pairs: Expression, cap: int, key: bytes) -> Expression:
        return self.counting.bounded(self._labelled(pairs), cap, key)

    def _hashed(self, key: bytes, buckets: int) -> Expression:
        """Every item with its bucket: a keyed hash of the item alone, the same for every user."""
        engine, listing = self.counting.engine, self.listing
        message = keyed_message(self.counting.texts(listing, self.counting.items.names), key, engine)
        bucket = (number_of(md5(message, _DIGITS), engine) % buckets).fill_null(0).cast("int64")
        return listing.select(*self.item, **{_BUCKET: bucket})

    def _weights(self, weights: Counts) -> Expression:
        return self._table({_MANY: range(1, len(weights) + 1), _WEIGHT: weights.tolist()})

    def _table(self, columns: dict[str, Sequence[int]]) -> Expression:
        return small_table(columns, self.counting.engine)


def _by_user(pairs: Expression) -> Expression:
    return pairs.group_by(USER).agg(**{_MANY: pairs.count()})
