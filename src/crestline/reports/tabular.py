"""Rows, CSV and JSON of a report; they contain nothing that its answers do not."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from crestline.answer.printing import align
from crestline.exact_numbers import int_or_float
from crestline.label_text import json_text, label_text, write_csv

if TYPE_CHECKING:
    from crestline.reports.report import Edition, ReportRun

COVERAGE = ("reached_users", "all_users")  # columns of a report that asks for coverage; equal in all rows of an edition
FIELDS = ("period", "status", "rank", "item", "count", "low", "high", "reason")


def column_names(series: ReportRun) -> tuple[str, ...]:
    """Names of the columns of a report."""
    return (*FIELDS, *COVERAGE) if series.report.question.coverage else FIELDS


def rows(series: ReportRun) -> list[dict[str, object]]:
    """One row for each item of each edition; an edition without items has one row, with the reason."""
    fields = column_names(series)
    return [{name: row[name] for name in fields} for edition in series.editions for row in _edition_rows(edition)]


def _edition_rows(edition: Edition) -> list[dict[str, object]]:
    """Rows of one edition, without the columns that a report leaves out."""
    whole = {"period": edition.period, "status": edition.status}
    reached = _coverage(edition)
    if not edition.items:
        none = dict.fromkeys(("rank", "item", "count", "low", "high"))
        return [{**whole, **none, "reason": edition.reason, **reached}]
    ordered = edition.answer is not None and isinstance(edition.answer.items, tuple)
    counts = edition.counts or (None,) * len(edition.items)
    intervals = edition.intervals or ((None, None),) * len(edition.items)
    return [
        {
            **whole,
            "rank": place if ordered else None,
            "item": label_text(item),
            "count": None if count is None else int_or_float(count),
            "low": low,
            "high": high,
            "reason": "",
            **reached,
        }
        for place, (item, count, (low, high)) in enumerate(zip(edition.items, counts, intervals, strict=True), start=1)
    ]


def _coverage(edition: Edition) -> dict[str, object]:
    """Coverage of the items of an edition; None in both columns where it was not asked for."""
    found = None if edition.answer is None else edition.answer.coverage
    if found is None:
        return dict.fromkeys(COVERAGE)
    return {"reached_users": found.users, "all_users": found.all_users}


def to_text(series: ReportRun) -> str:
    """One line for each edition: its period, its status, and its items or the reason why there are none."""
    lines = [
        (edition.period, edition.status, ", ".join(map(label_text, edition.items)) or edition.reason)
        for edition in series.editions
    ]
    missed = sum(edition.status == "missed" for edition in series.editions)
    heading = f"{series.report.question.words()}, each {series.report.every}: {len(lines)} editions, {missed} missed"
    return "\n".join([heading, "", *align([("period", "status", "items"), *lines], [True, True, True])])


def to_csv(series: ReportRun) -> str:
    """The rows as CSV."""
    out = io.StringIO()
    write_csv(out, column_names(series), ([*row.values()] for row in rows(series)))
    return out.getvalue()


def to_json(series: ReportRun) -> str:
    """The editions as JSON, each with its whole answer."""
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
    return json_text({"report": report.name, "every": report.every, "editions": editions}, indent=2) + "\n"


def _without_bill(answer: dict[str, object]) -> dict[str, object]:
    """An answer without its bill and the address of the ledger, which readers need not know."""
    return {name: value for name, value in answer.items() if name not in ("bill", "stored")}
