"""How many items have each count, and the names of the few that were picked.

A mechanism sees the first, and picks `(count, index)` pairs; the index is the item's place within its count, in label
order. Both must be asked of the same rows: see `snapshot.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from crestline.errors import SourceError
from crestline.histogram.label_order import Label
from crestline.sources.engine.engine_functions import Expression
from crestline.sources.expression.counting import COUNT, Items

Pick: TypeAlias = tuple[int, int]  # a count, and a place among the items of that count

_HOW_MANY = "how_many"
INDEX = "index"


def count_multiplicities(every: Expression) -> Expression:
    """How many items have each count, of a table of all items with their counts."""
    return every.group_by(COUNT).agg(**{_HOW_MANY: every.count()})


def select_picks(every: Expression, items: Items, picks: Iterable[Pick]) -> Expression:
    """Count, index and label of the picked items, of a table of all items with their counts."""
    found = place_picks(every, items, picks)
    return found.select(COUNT, INDEX, **items.result_columns(found))


def place_picks(every: Expression, items: Items, picks: Iterable[Pick]) -> Expression:
    """The picked items of a table of all items with their counts, with their index."""
    import ibis

    chosen = sorted(set(picks))
    every = every.filter(every[COUNT].isin(sorted({count for count, _ in chosen})))
    order = [every[name] for name in items.names]
    placed = every.mutate(**{INDEX: ibis.row_number().over(group_by=COUNT, order_by=order)})
    place = placed[COUNT].cast("string") + ":" + placed[INDEX].cast("string")  # one flat list for any number of picks
    return placed.filter(place.isin([f"{count}:{index}" for count, index in chosen]))


def labels_in_order(picks: Sequence[Pick], known: dict[Pick, Label]) -> list[Label]:
    """The labels of the picks. In one snapshot every pick has one, unless a public list changed."""
    labels = [known.get((int(count), int(index))) for count, index in picks]
    if any(label is None for label in labels):
        raise SourceError("what was counted changed before it was named; ask again")
    return [label for label in labels if label is not None]
