"""Expressions over distinct (user, item) pairs: every view that a threshold or the sieve may ask for (P18.6).

Nothing here runs, and nothing can fail on a row: counts, comparisons and sums of whole numbers from small tables, and
MD5 of texts. Engines never compute a weight. Items and users are hashed once each, and never pair by pair: texts are
what costs time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crestline.histogram.relation import CELLS, Counts
from crestline.sources.engine.engine_functions import Expression, md5, number_of, remainder
from crestline.sources.engine.inline_tables import inline_int_table
from crestline.sources.expression.contribution import keyed_message
from crestline.sources.expression.counting import COUNT, PERIOD, USER, Counting
from crestline.sources.expression.item_names import INDEX, Pick, place_picks, select_picks

NUMBER = "number"
_USERS = "users"
_BUCKET, _MANY, _CELL, _WEIGHT = "bucket", "many", "cell", "weight"
_PLACE, OF_USER, OF_ITEM = "place", "of_user", "of_item"
_DIGITS = 8  # 32 bits of the hash, which fit into whole numbers of 64 bits with a sign
USER_KEY, ITEM_KEY = b"user", b"item"
PRIME = (1 << 31) - 1  # a product of two numbers below it fits as well


def distinct_items(counting: Counting, pairs: Expression) -> Expression:
    """Every item of the pairs once."""
    return pairs.select(*counting.items.names).distinct()


def number_items(counting: Counting, pairs: Expression) -> Expression:
    """Every item of the pairs once, with its number in label order and its number of users."""
    import ibis

    listing = count_users(pairs, counting.items.names)
    order = [listing[name] for name in counting.items.names]
    return listing.mutate(**{NUMBER: ibis.row_number().over(order_by=order)})


def count_users(pairs: Expression, item: Sequence[str]) -> Expression:
    """Every item of the pairs once, with its number of users; a user counts once over all periods."""
    pairs = distinct_over_periods(pairs, item)
    return pairs.group_by(list(item)).agg(**{_USERS: pairs.count()})


def distinct_over_periods(pairs: Expression, item: Sequence[str]) -> Expression:
    """Each user with each item once, whatever the periods."""
    return pairs.select(USER, *item).distinct() if PERIOD in pairs.columns else pairs


def pairs_by_number(counting: Counting, pairs: Expression, listing: Expression) -> Expression:
    """Each user (and, over several periods, each of them) with the numbers of their items."""
    return pairs.inner_join(listing, list(counting.items.names)).select(*counting.bounded_by, NUMBER)


def rank_threshold(items: Expression, rank: int) -> Expression:
    """Of items with their numbers of users: the smallest of the `rank` largest numbers, and how many there are."""
    import ibis

    largest = items.order_by(ibis.desc(_USERS)).select(_USERS).limit(rank)
    return largest.aggregate(**{_USERS: largest[_USERS].min().fill_null(0), _MANY: largest.count()})


@dataclass(frozen=True)
class PairCounting:
    """Views of pairs of one question.

    item      the columns by which pairs tell items apart: the items' own columns, or their number
    listing   every item once, with those columns and its own
    """

    counting: Counting
    item: tuple[str, ...]
    listing: Expression

    def users_by_cell(self, pairs: Expression) -> Expression:
        """How many users have so many items, by cell; cells without users have no row. Over several periods a user is
        in the cell of the period in which they have the most."""
        import ibis

        many = _count_items_by(self.counting.bounded_by, pairs)
        if self._has_periods:
            many = many.group_by(USER).agg(**{_MANY: many[_MANY].max()})
        # Comparisons of whole numbers only: a logarithm would be rounded differently by every engine.
        branches = [(many[_MANY] <= 1 << cell, cell) for cell in range(CELLS - 1)]
        placed = many.select(**{_CELL: ibis.cases(*branches, else_=CELLS - 1)})
        return placed.group_by(_CELL).agg(**{COUNT: placed.count()})

    def users_in_buckets(self, pairs: Expression, key: bytes, buckets: int) -> Expression:
        """Each user (over several periods: in each of them) with each bucket that has an item of theirs, once."""
        joined = pairs.inner_join(self._hash_items(key, buckets), list(self.item))
        return joined.select(*self.counting.bounded_by, _BUCKET).distinct()

    def bucket_loads(self, placed: Expression, weights: Counts) -> Expression:
        """For every bucket the sum of the weights of its users, of `users_in_buckets` or a table that holds it; over
        several
        periods the largest of the weights that a user has there (P16.2)."""
        whose = list(self.counting.bounded_by)
        weighed = _count_items_by(whose, placed).inner_join(self._weights_table(weights), _MANY).select(*whose, _WEIGHT)
        joined = placed.inner_join(weighed, whose)
        if self._has_periods:
            joined = joined.group_by([USER, _BUCKET]).agg(**{_WEIGHT: joined[_WEIGHT].max()})
        return joined.group_by(_BUCKET).agg(**{COUNT: joined[_WEIGHT].sum().cast("int64")})

    def pairs_in_buckets(self, pairs: Expression, key: bytes, kept: Sequence[int], buckets: int) -> Expression:
        """The pairs whose items lie in the buckets that were kept."""
        # Every item and every bucket is there once, so that no pair is joined twice.
        alive = (
            self._hash_items(key, buckets).inner_join(self._inline_table({_BUCKET: kept}), _BUCKET).select(*self.item)
        )
        return pairs.inner_join(alive, list(self.item)).select(*self.counting.bounded_by, *self.item)

    def item_scores(self, pairs: Expression, key: bytes, weights: Counts) -> Expression:
        """Every item that some user keeps, with its score."""
        import ibis

        cap, same, whose = len(weights), len(set(weights.tolist())) == 1, list(self.counting.bounded_by)
        several = PERIOD in whose
        users = _count_items_by(whose, pairs)
        few = pairs.inner_join(users.filter(users[_MANY] <= cap), whose)
        many = self._bound_pairs(pairs, users.filter(users[_MANY] > cap), cap, key)
        columns = (USER, _MANY, *self.item) if several else (_MANY, *self.item)
        kept = few.select(*columns).union(many.select(*columns))
        if same and several:
            kept = kept.select(USER, *self.item).distinct()
        if same:
            return kept.group_by(list(self.item)).agg(**{COUNT: kept.count() * int(weights[0])})
        capped = kept.mutate(**{_MANY: ibis.least(kept[_MANY], cap)})
        joined = capped.inner_join(self._weights_table(weights), _MANY)
        if several:  # of a user who has the item in several periods, the largest weight (P16.2)
            joined = joined.group_by([USER, *self.item]).agg(**{_WEIGHT: joined[_WEIGHT].max()})
        return joined.group_by(list(self.item)).agg(**{COUNT: joined[_WEIGHT].sum().cast("int64")})

    def top_counts(self, pairs: Expression, k_bar: int) -> Expression:
        """The first `k_bar + 1` items by number of users descending, then by label ascending (P0.5)."""
        import ibis

        order = [ibis.desc(COUNT), *(ibis.asc(name) for name in self.item)]  # numbers are in label order
        pairs = distinct_over_periods(pairs, self.item)
        counts = pairs.group_by(list(self.item)).agg(**{COUNT: pairs.count()})
        ranked = self._add_item_columns(counts.order_by(order).limit(k_bar + 1)).order_by(order)
        return ranked.select(**self.counting.items.result_columns(ranked), **{COUNT: ranked[COUNT]})

    def pick_labels(self, scores: Expression, picks: Sequence[Pick]) -> Expression:
        """Score, index and label of the picked items, of `item_scores` or a table that holds it. The index is the
        item's
        place within its score, in label order."""
        return select_picks(self._add_item_columns(scores), self.counting.items, picks)

    def pick_users(self, scores: Expression, listing: Expression, picks: Sequence[Pick]) -> Expression:
        """Score, index and number of users of the picked items; `listing` has every item with its number of users."""
        every = self._add_item_columns(scores)
        counted = every if _USERS in every.columns else every.inner_join(listing, list(self.item))
        return place_picks(counted, self.counting.items, picks).select(COUNT, INDEX, _USERS)

    @property
    def _has_periods(self) -> bool:
        """Whether bounds and weights are for a user and a period."""
        return PERIOD in self.counting.bounded_by

    def _add_item_columns(self, table: Expression) -> Expression:
        """With the items' own columns."""
        return table if self.item == self.counting.items.names else table.inner_join(self.listing, list(self.item))

    def _bound_pairs(self, pairs: Expression, users: Expression, cap: int, key: bytes) -> Expression:
        """Of the pairs of these users those that are kept: for every user (and period) the `cap` items of smallest
        product, modulo a prime, of a hash of the user and a hash of the item.

        Over the keys every item of a user is as likely to be kept as every other. Among equal products the label
        decides, so that the choice is a function of the key and of the user's own items even then.
        """
        import ibis

        whose = list(self.counting.bounded_by)
        joined = pairs.inner_join(self.user_factors(users, key), whose).inner_join(
            self.item_factors(key), list(self.item)
        )
        product = joined[OF_USER] * (joined[OF_ITEM] + 1)
        order = [remainder(product, PRIME, self.counting.engine), *(joined[name] for name in self.item)]
        placed = joined.mutate(**{_PLACE: ibis.row_number().over(group_by=whose, order_by=order)})
        return placed.filter(placed[_PLACE] < cap)

    def user_factors(self, users: Expression, key: bytes) -> Expression:
        """Users with their factor in the products. From 1 on: zero would put all items of a user, or one item of all
        users, at the same place."""
        texts = self.counting.texts(users, (USER,))
        return users.mutate(**{OF_USER: self._hash(texts, key + USER_KEY, PRIME - 1) + 1})

    def item_factors(self, key: bytes) -> Expression:
        """Every item with its factor in the products, less one."""
        return self._hash_items(key + ITEM_KEY, PRIME - 1, OF_ITEM)

    def _hash_items(self, key: bytes, below: int, name: str = _BUCKET) -> Expression:
        """Every item with a number below a bound: a keyed hash of the item alone, the same for every user."""
        texts = self.counting.texts(self.listing, self.counting.items.names)
        return self.listing.select(*self.item, **{name: self._hash(texts, key, below)})

    def _hash(self, texts: Sequence[Expression], key: bytes, below: int) -> Expression:
        engine = self.counting.engine
        digits = md5(keyed_message(texts, key, engine), _DIGITS, engine)
        return remainder(number_of(digits, engine), below, engine).fill_null(0).cast("int64")

    def _weights_table(self, weights: Counts) -> Expression:
        return self._inline_table({_MANY: range(1, len(weights) + 1), _WEIGHT: weights.tolist()})

    def _inline_table(self, columns: dict[str, Sequence[int]]) -> Expression:
        return inline_int_table(columns, self.counting.engine)


def _count_items_by(bounded_by: Sequence[str], pairs: Expression) -> Expression:
    """How many items each user has, or each user in each period."""
    return pairs.group_by(list(bounded_by)).agg(**{_MANY: pairs.count()})
