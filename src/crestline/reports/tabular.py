"""A report as rows, as CSV and as JSON (pure). None says more than its answers do."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

from crestline.answer.tabular import cell_text

if TYPE_CHECKING:
    from crestline.reports.report import Edition, Series

FIELDS = ("period", "status", "rank", "item", "noisy_count", "reason")


def rows(series: Series) -> list[dict[str, object]]:
    """One row for each item of each edition; an edition without items has one row that says why."""
    return [row for edition in series.editions for row in _rows(edition)]


def _rows(edition: Edition) -> list[dict[str, object]]:
    whole = {"period": edition.period, "status": edition.status}
    if not edition.items:
        return [{**whole, "rank": None, "item": None, "noisy_count": None, "reason": edition.reason}]
    ordered = edition.answer is not None and isinstance(edition.answer.items, tuple)
    counts = edition.counts or (None,) * len(edition.items)
    return [
        {
            **whole,
            "rank": place if ordered else None,
            "item": item_text(item),
            "noisy_count": None if count is None else float(count) if count.denominator > 1 else int(count),
            "reason": "",
        }
        for place, (item, count) in enumerate(zip(edition.items, counts, strict=True), start=1)
    ]


def item_text(item: object) -> str:
    """An item in words; several columns side by side."""
    return " · ".join(map(cell_text, item)) if isinstance(item, tuple) else cell_text(item)


def to_csv(series: Series) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, FIELDS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows(series))
    return out.getvalue()


def to_json(series: Series) -> str:
    """The rows by edition, with each answer whole."""
    report = series.report
    editions = [
        {
            "period": edition.period,
            "status": edition.status,
            "reason": edition.reason,
            "answer": None if edition.answer is None else _without_bill(edition.answer.to_dict()),
        }
        for edition in series.editions
    ]
    return json.dumps({"report": report.name, "every": report.every, "editions": editions}, indent=2) + "\n"


def _without_bill(answer: dict[str, object]) -> dict[str, object]:
    """Where the ledger is, is not the readers' business."""
    return {name: value for name, value in answer.items() if name not in ("bill", "stored")}
