"""How many users have one of some items, and how many have none of them: what coverage is made of (P3.7).

A user counts once, whatever they have, over all periods that are read; a bound on a user's items plays no part. Users
without an item, after the filter, are in neither number.

The counts that items were selected by and these numbers are asked of one state of the table where the engine allows it:
of pairs that were stored (DuckDB, Spark), or in one transaction (PostgreSQL). Elsewhere the table is asked twice. That
is no matter of privacy, since each of the two releases is private by itself, whatever the table has become.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from crestline.errors import QuestionError
from crestline.histogram.label_order import Label
from crestline.sources.engine.engine_functions import Expression
from crestline.sources.engine.runner import Runner
from crestline.sources.expression.counting import COUNT, USER, Counting
from crestline.sources.expression.public_list import listed_items

_NAMED = "named"


@contextmanager
def with_stable_pairs(runner: Runner, counting: Counting) -> Iterator[Counting]:
    """The same question over pairs that stay as they are, where the engine can hold them."""
    if runner.has_tables:
        with runner.temporary_table(counting.pairs) as pairs:
            yield counting.over_stored_pairs(pairs)
    elif runner.has_snapshots:
        with runner.snapshot():
            yield counting
    else:
        yield counting


def count_coverage(runner: Runner, counting: Counting, labels: Sequence[Label]) -> tuple[int, int]:
    """The two numbers. Without labels it is the same statement, over an empty list."""
    ((named, everybody),) = runner.rows(count_users_expression(counting, labels))
    return int(named), int(everybody) - int(named)


def count_users_expression(counting: Counting, labels: Sequence[Label]) -> Expression:
    """One row: how many users have one of the items, and how many there are."""
    import ibis

    pairs, names = counting.pairs, counting.items.names
    listed = listed_items(counting, labels).mutate(**{_NAMED: ibis.literal(1, "int64")})
    found = listed.rename({f"listed_{name}": name for name in names})
    joined = pairs.left_join(found, [pairs[name] == found[f"listed_{name}"] for name in names])
    by_user = joined.group_by(USER).agg(**{_NAMED: joined[_NAMED].fill_null(0).max()})
    some = by_user[_NAMED].sum().fill_null(0).cast("int64")
    return by_user.aggregate(**{_NAMED: some, COUNT: by_user.count()})


def check(counting: Counting) -> None:
    """Refuse items that could not be sent back to the engine: decimals whose number of digits nobody knows."""
    for name, key in zip(counting.question.item, counting.items.keys, strict=True):
        kind = key.value.type()
        if kind.is_decimal() and (kind.precision is None or kind.scale is None):
            raise QuestionError(
                f"column {name!r} holds decimals of any length, which coverage cannot look up again: cast it to "
                "decimals of so many digits, or leave coverage out"
            )
    count_users_expression(counting, ())
