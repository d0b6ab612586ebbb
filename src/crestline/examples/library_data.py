"""Artificial loans of a library; they describe no real person, so they need no protection."""

from __future__ import annotations

import csv
from pathlib import Path

USERS = 20_000
TITLES = 400
LONELY_TITLE = "Living with Fabry disease"
LONELY_READER = "reader-07331"

_FIRST = [
    "A Short History of",
    "The Hidden Life of",
    "Notes on",
    "Walking through",
    "An Atlas of",
    "Letters about",
    "The Trouble with",
    "In Praise of",
    "A Field Guide to",
    "Four Seasons of",
]
_SECOND = [
    "Rivers",
    "Salt",
    "Bridges",
    "Night Trains",
    "Small Islands",
    "Bread",
    "Clouds",
    "Harbours",
    "Old Maps",
    "Honey",
    "Winter",
    "Lighthouses",
    "Glass",
    "Mountains",
    "Gardens",
    "Ink",
    "Tides",
    "Birds",
    "Stone",
    "Music",
]
_THIRD = ("", " in Europe")


def titles() -> list[str]:
    """Four hundred invented titles."""
    import numpy as np  # here: the command line's help must not wait for it

    names = [f"{first} {second}{third}" for third in _THIRD for first in _FIRST for second in _SECOND]
    shuffled: list[str] = np.random.default_rng(7).permutation(names[:TITLES]).tolist()
    return shuffled


def write_loans(path: Path, *, without: str | None = None) -> None:
    """Write `reader,title` rows as CSV; the same ones every time. `without` leaves one reader out."""
    import numpy as np

    made = np.random.default_rng(2026)  # an invented data set, not a release: any generator will do
    weights = 1.0 / np.arange(1, TITLES + 1) ** 1.1
    weights /= weights.sum()
    names = titles()
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["reader", "title"])
        for number in range(USERS):
            reader = f"reader-{number:05}"
            loans = np.unique(made.choice(TITLES, size=1 + made.poisson(2.0), p=weights))
            if reader == without:
                continue
            rows.writerows([reader, names[loan]] for loan in loans)
            if reader == LONELY_READER:
                rows.writerow([reader, LONELY_TITLE])
