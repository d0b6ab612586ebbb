"""The loans of an invented library, generated on the spot."""

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
    """Four hundred invented titles, in a fixed random order."""
    import numpy as np  # imported here because the help of the command line must start quickly

    names = [f"{first} {second}{third}" for third in _THIRD for first in _FIRST for second in _SECOND]
    order: list[str] = np.random.default_rng(7).permutation(names[:TITLES]).tolist()
    return order


def write_loans(path: Path, *, without: str | None = None) -> None:
    """Write `reader,title` rows as CSV, the same every time, without those of one reader if `without` names one."""
    import numpy as np

    generator = np.random.default_rng(2026)  # not a release, so the generator need not be secure
    weights = 1.0 / np.arange(1, TITLES + 1) ** 1.1
    weights /= weights.sum()
    names = titles()
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["reader", "title"])
        for number in range(USERS):
            reader = f"reader-{number:05}"
            loans = np.unique(generator.choice(TITLES, size=1 + generator.poisson(2.0), p=weights))
            if reader == without:
                continue
            rows.writerows([reader, names[loan]] for loan in loans)
            if reader == LONELY_READER:
                rows.writerow([reader, LONELY_TITLE])
