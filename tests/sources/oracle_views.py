"""The views of distinct pairs in plain Python: what every engine must agree with (P17.1, P18.1, P18.3)."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from crestline.histogram.label_order import Label, label_order
from tests.sources import oracle

Pairs = set[tuple[Any, Label]]
CELLS = 13
PRIME = 2**31 - 1


def users_with(pairs: Pairs, rank: int) -> int:
    counts = sorted(oracle.counts(pairs).values(), reverse=True)
    return counts[rank - 1] if rank <= len(counts) else 0


def slots(pairs: Pairs, k_bar: int) -> tuple[list[tuple[int, list[Any]]], int]:
    """Count and label of the first `k_bar` items, and the next count."""
    ranked = in_order(oracle.counts(pairs))
    return ranked[:k_bar], ranked[k_bar][0] if k_bar < len(ranked) else 0


def users_by_items(pairs: Pairs) -> list[int]:
    cells = [0] * CELLS
    for many in Counter(user for user, _ in pairs).values():
        cells[next((cell for cell in range(CELLS - 1) if many <= 2**cell), CELLS - 1)] += 1
    return cells


def bucket(item: Label, key: bytes, buckets: int) -> int:
    """A keyed hash of an item, or of a user, below a bound."""
    *texts, last = [oracle.text(part) for part in (item if isinstance(item, tuple) else (item,))]
    message = hashlib.sha256(key).hexdigest()[:32] + "".join(f"{len(text)}:{text}" for text in texts) + last
    return int(hashlib.md5(message.encode()).hexdigest()[:8], 16) % buckets


def loads(pairs: Pairs, key: bytes, buckets: int, weights: Sequence[int]) -> list[int]:
    placed = {(user, bucket(item, key, buckets)) for user, item in pairs}
    different = Counter(user for user, _ in placed)
    result = [0] * buckets
    for user, place in placed:
        result[place] += weights[different[user] - 1]
    return result


def within(pairs: Pairs, key: bytes, kept: Sequence[bool]) -> Pairs:
    return {(user, item) for user, item in pairs if kept[bucket(item, key, len(kept))]}


def bounded(pairs: Pairs, most: int, key: bytes) -> Pairs:
    """For every user the items of smallest product of two hashes, modulo a prime; equal ones in label order."""
    by_user = defaultdict(list)
    for user, item in pairs:
        product = (bucket(user, key + b"user", PRIME - 1) + 1) * (bucket(item, key + b"item", PRIME - 1) + 1)
        by_user[user].append((product % PRIME, label_order(item), item))
    return {(user, item) for user, items in by_user.items() for _, _, item in sorted(items)[:most]}


def observed(pairs: Pairs, key: bytes, weights: Sequence[int]) -> dict[Label, int]:
    kept = bounded(pairs, len(weights), key)
    many = Counter(user for user, _ in kept)
    scores: Counter[Label] = Counter()
    for user, item in kept:
        scores[item] += weights[many[user] - 1]
    return dict(scores)


def in_order(scores: dict[Label, int]) -> list[tuple[int, list[Any]]]:
    """Score and label of every item as a source ranks them: largest score first, ties in label order."""
    by_score = defaultdict(list)
    for label, score in scores.items():
        by_score[score].append(label)
    return [
        (score, oracle.typed(label))
        for score in sorted(by_score, reverse=True)
        for label in sorted(by_score[score], key=label_order)
    ]
