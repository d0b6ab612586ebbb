"""Questions with groups answered in plain Python: what every engine must agree with (P15)."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from crestline.histogram.histogram import Histogram
from crestline.histogram.label_order import Label, label_order
from crestline.question import Question
from tests.sources.oracle import Row, bounded, counts, digest, missing, plain

Triple: TypeAlias = tuple[Any, Label, Label]  # a user, a group, an item


def triples(
    rows: Iterable[Row], question: Question, keep: Callable[[Row], bool | None] = lambda row: True
) -> set[Triple]:
    """Every user with every item of every group, once; rows with a null or nan are dropped."""
    found = set()
    for row in rows:
        group, item = (tuple(plain(row[name]) for name in names) for names in (question.by, question.item))
        if keep(row) and not any(missing(value) for value in (row[question.user], *group, *item)):
            found.add((row[question.user], _label(group), _label(item)))
    return found


def families(
    rows: Iterable[Row],
    question: Question,
    key: bytes,
    keep: Callable[[Row], bool | None] = lambda row: True,
    listed: Iterable[Label] | None = None,
) -> dict[Label, Histogram]:
    """The histogram of every group that has one above the floor, and of every listed group."""
    by_group = pairs_of(triples(rows, question, keep), question, key, listed)
    nothing = Histogram.from_counts({}, question.slots)
    result = {group: _histogram(pairs, group, question, key) if pairs else nothing for group, pairs in by_group.items()}
    return {group: histogram for group, histogram in result.items() if histogram.filled or listed is not None}


def pairs_of(
    found: Iterable[Triple], question: Question, key: bytes, listed: Iterable[Label] | None = None
) -> dict[Label, set[tuple[Any, Label]]]:
    """The users and items of every group, once each user keeps a few groups; every listed group is there."""
    known = None if listed is None else set(listed)
    found = {triple for triple in found if known is None or triple[1] in known}
    groups = bounded({(user, group) for user, group, _ in found}, question.groups_per_user, group_key(key))
    result: dict[Label, set[tuple[Any, Label]]] = defaultdict(set, {group: set() for group in known or ()})
    for user, group, item in found:
        if (user, group) in groups:
            result[group].add((user, item))
    return dict(result)


def scores(
    rows: Iterable[Row], question: Question, key: bytes, weights: Sequence[int], listed: Iterable[Label] | None = None
) -> dict[Label, dict[Label, int]]:
    """The score of every item that so many users keep in a group as the floor says, less the full weights of one user
    fewer; every listed group is there."""
    result: dict[Label, dict[Label, int]] = {group: {} for group in listed or ()}
    for label, pairs in pairs_of(triples(rows, question), question, key, listed).items():
        kept = _bounded_in(pairs, label, len(weights), key)
        many = Counter(user for user, _ in kept)
        total: Counter[Label] = Counter()
        for user, item in kept:
            total[item] += weights[many[user] - 1]
        users, hidden = Counter(item for _, item in kept), (question.floor - 1) * weights[0]
        above = {item: score - hidden for item, score in total.items() if users[item] >= question.floor}
        if above:
            result[label] = above
    return result


def group_key(key: bytes) -> bytes:
    return hashlib.sha256(b"groups" + key).digest()


def _histogram(pairs: set[tuple[Any, Label]], group: Label, question: Question, key: bytes) -> Histogram:
    if question.contribution is not None:
        pairs = _bounded_in(pairs, group, question.contribution, key)
    hidden = question.floor - 1
    return Histogram.from_counts(
        {item: count - hidden for item, count in counts(pairs).items() if count > hidden}, question.slots
    )


def _bounded_in(pairs: set[tuple[Any, Label]], group: Label, contribution: int, key: bytes) -> set[tuple[Any, Label]]:
    """At most so many items of each user in this group: those of smallest hash of user, group and item."""
    by_user = defaultdict(list)
    for user, item in pairs:
        parts = (*_parts(group), *_parts(item))
        by_user[user].append((digest(key, user, parts), label_order(item), item))
    return {(user, item) for user, items in by_user.items() for _, _, item in sorted(items)[:contribution]}


def _label(parts: tuple[Any, ...]) -> Label:
    return parts if len(parts) > 1 else parts[0]


def _parts(label: Label) -> tuple[Any, ...]:
    return label if isinstance(label, tuple) else (label,)
