"""Periods as the rows and columns of a calendar: a row for each year (each month of days, or ten weeks or years)."""

from __future__ import annotations

from collections.abc import Mapping


def calendar_grid(cells: Mapping[str, str]) -> tuple[list[str], list[list[str]]]:
    """Column heads and rows of a table, from a text for the label of each period.

    >>> calendar_grid({"2026-10": "80%", "2026-11": "95%", "2027-02": "100%"})
    (['', '02', '10', '11'], [['2026', '', '80%', '95%'], ['2027', '100%', '', '']])
    """
    placed = {_grid_cell(label): text for label, text in cells.items()}
    rows, columns = sorted({row for row, _ in placed}), sorted({column for _, column in placed})
    return ["", *columns], [[row, *(placed.get((row, column), "") for column in columns)] for row in rows]


def _grid_cell(label: str) -> tuple[str, str]:
    """Row and column of a period; weeks and years are in rows of ten, which fit a screen."""
    if "W" in label or "-" not in label:
        return f"{label[:-1]}…", label[-1]
    row, _, column = label.rpartition("-")
    return row, column
