"""Neighbouring data sets: the pairs an attacker would like to tell apart (P0.2)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

Counts = dict[str, int]


def small_pairs(
    labels: str = "abcd", most: int = 3, contribution: int | None = None
) -> Iterator[tuple[Counts, Counts]]:
    """Every pair of histograms with counts up to `most` that differ by one user: `(with the user, without)`.

    Includes every tie pattern, the empty histogram, and fewer rows than any `k_bar`; with a contribution bound, only
    users who have at most so many items.
    """
    moves = [(count, up) for count in range(most + 1) for up in (0, 1) if count + up <= most]
    for rows in product(moves, repeat=len(labels)):
        moved = sum(up for _, up in rows)
        if moved and (contribution is None or moved <= contribution):
            without = {label: count for label, (count, _) in zip(labels, rows, strict=True)}
            with_user = {label: count + up for label, (count, up) in zip(labels, rows, strict=True)}
            yield with_user, without
