"""The papers' own numbers, read from the folder that holds them; the package carries none."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from reproduction.data import PUBLISHED, folder

_NOTES = "published_results.md"
_POINTS = "rg_ld_figures.csv"


class Published:
    """What others printed. Without a folder every table is empty, and pages leave the column out."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    @cached_property
    def stable(self) -> Mapping[tuple[str, str, int, str], tuple[float, float]]:
        """[TS] notebooks, 2,000 trials: (data set, ε, k, mechanism) to (P, S)."""
        rows = _tables(self._text(_NOTES))
        head = next((row for row in rows if row[:2] == ["eps", "k"] and "Gowalla TS" in row), None)
        if head is None:
            return {}
        found: dict[tuple[str, str, int, str], tuple[float, float]] = {}
        for row in rows[rows.index(head) + 1 :]:
            if len(row) != len(head):
                break
            for name, pair in zip(head[2:], row[2:], strict=True):
                data, mechanism = name.split()
                first, second = (float(number) for number in pair.split("/"))
                found[data, row[0], int(row[1]), mechanism] = (first, second)
        return found

    @cached_property
    def framework(self) -> Mapping[tuple[str, str, int, int, str, str], float]:
        """[FW] figures, 100 trials: (data set, metric, k, k_bar, mechanism, ε) to the mean."""
        found: dict[tuple[str, str, int, int, str, str], float] = {}
        for row in csv.DictReader(self._text(_POINTS).splitlines()):
            k = int(row["k"])
            slots = k * int(row["kbar"].removesuffix("k") or 1)
            place = (row["dataset"], row["metric"], k, slots, row["mechanism"], f"{float(row['epsilon_total']):g}")
            found[place] = float(row["mean"])
        return found

    def _text(self, name: str) -> str:
        file = None if self._path is None else self._path / name
        return file.read_text() if file is not None and file.is_file() else ""


def published(given: str | None, environment: Mapping[str, str] = os.environ) -> Published:
    """The published numbers of a folder: what the call says, CRESTLINE_PUBLISHED, or `shared/published`."""
    return Published(folder(given, PUBLISHED, "published", environment))


def _tables(text: str) -> list[list[str]]:
    """The rows of every Markdown table, rules left out."""
    lines = [line.strip().strip("|").split("|") for line in text.splitlines() if line.startswith("|")]
    return [[part.strip() for part in row] for row in lines if not all(re.fullmatch(r"\s*-+\s*", part) for part in row)]
