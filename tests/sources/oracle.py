"""The same questions answered in plain Python: what every engine must agree with."""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from crestline.histogram.histogram import Histogram
from crestline.histogram.label_order import Label, label_order
from crestline.question import Question

Row = Mapping[str, Any]


def pairs(
    rows: Iterable[Row], question: Question, keep: Callable[[Row], bool | None] = lambda row: True
) -> set[tuple[Any, Label]]:
    """Every user with every item, once; rows with a null or nan are dropped."""
    found = set()
    for row in rows:
        user, parts = row[question.user], tuple(plain(row[name]) for name in question.item)
        if keep(row) and not any(missing(value) for value in (user, *parts)):
            found.add((user, parts if len(parts) > 1 else parts[0]))
    return found


def plain(value: Any) -> Any:
    """Decimals without the zeros that a column's scale adds."""
    if not isinstance(value, Decimal):
        return value
    text = format(value, "f")
    return Decimal(text.rstrip("0").rstrip(".") if "." in text else text)


def missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def bounded(pairs: set[tuple[Any, Label]], contribution: int | None, key: bytes) -> set[tuple[Any, Label]]:
    """At most `contribution` items of each user: those of smallest hash."""
    if contribution is None:
        return pairs
    by_user = defaultdict(list)
    for user, item in pairs:
        by_user[user].append((digest(key, user, item), label_order(item), item))
    return {(user, item) for user, items in by_user.items() for _, _, item in sorted(items)[:contribution]}


def digest(key: bytes, user: Any, item: Label) -> str:
    parts = [user, *(item if isinstance(item, tuple) else (item,))]
    *texts, last = [text(part) for part in parts]
    message = hashlib.sha256(key).hexdigest()[:32] + "".join(f"{len(text)}:{text}" for text in texts) + last
    return hashlib.md5(message.encode()).hexdigest()[:12]


def text(value: Any) -> str:
    """How a part of the message is written: as most engines write it, and bytes in hexadecimal."""
    if isinstance(value, bytes):
        return value.hex()
    return str(value).lower() if isinstance(value, bool) else str(value)


def counts(pairs: Iterable[tuple[Any, Label]]) -> Counter[Label]:
    return Counter(item for _, item in pairs)


def top(
    rows: Iterable[Row],
    question: Question,
    key: bytes = b"",
    keep: Callable[[Row], bool | None] = lambda row: True,
) -> Histogram:
    """The whole question."""
    kept = bounded(pairs(rows, question, keep), question.contribution, key)
    assert question.k_bar is not None
    return Histogram.from_counts(counts(kept), question.k_bar)


def places(counted: Mapping[Label, int], domain: Iterable[Label]) -> dict[tuple[int, int], Label]:
    """`(count, index)` of every item of a domain."""
    groups = defaultdict(list)
    for label in set(domain):
        groups[counted.get(label, 0)].append(label)
    return {
        (count, index): label
        for count, labels in groups.items()
        for index, label in enumerate(sorted(labels, key=label_order))
    }


def same(left: Histogram, right: Histogram) -> bool:
    """Equal in everything a mechanism sees, the types of the labels included."""
    return view(left) == view(right)


def view(histogram: Histogram) -> tuple[Any, ...]:
    return ([typed(label) for label in histogram.items], histogram.counts, histogram.next_count, histogram.unit)


def typed(label: Label) -> Any:
    parts: Sequence[Any] = label if isinstance(label, tuple) else (label,)
    return [(type(part).__name__, repr(part)) for part in parts]
