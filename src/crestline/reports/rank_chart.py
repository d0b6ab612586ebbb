"""Ranking over time: what `charts` draws of the editions of a report, and the same as a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from crestline.charts.drawing import Column, rank_file
from crestline.label_text import label_text

if TYPE_CHECKING:
    from crestline.reports.report import Edition, ReportRun

GAP = "A dotted line spans editions that did not name an item; it does not mean that no user had it."


def rank_chart(series: ReportRun) -> str:
    """The chart as SVG text, which can be published, mailed, and put into any page."""
    title = f"{series.report.name}: rank for every {series.report.every}"
    return rank_file(columns_of(series.editions), series.report.question.k, title, (GAP,), words_of(series))


def columns_of(editions: Sequence[Edition]) -> list[Column]:
    """The editions as columns of a chart."""
    return [Column(one.period, tuple(map(label_text, one.items)), one.status == "missed") for one in editions]


def words_of(series: ReportRun) -> str:
    """What the chart shows, in words."""
    items = {label_text(item) for one in series.editions for item in one.items}
    return (
        f"Ranking over time of {series.report.name}: {len(series.editions)} editions, {len(items)} items; the table "
        "has all."
    )
