"""Report files: CSV and JSON for programs, HTML and SVG for people; each is replaced as a whole."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from crestline.errors import ParameterError
from crestline.label_text import html_text
from crestline.ledger.ledger import Ledger
from crestline.ledger.periods import promise_texts
from crestline.reports.report import ReportRun
from crestline.reports.tabular import column_names, rows, to_csv, to_json


def publish(series: ReportRun, folder: Path, ledger: Ledger) -> list[Path]:
    """Write `NAME.csv`, `NAME.json`, `NAME.svg` and `NAME.html`, and return their paths.

    Raises ParameterError where the folder cannot be written.
    """
    contents = {"csv": to_csv(series), "json": to_json(series), "svg": series.svg(), "html": page(series, ledger)}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [_replace_file(folder / f"{series.report.name}.{kind}", text) for kind, text in contents.items()]
    except OSError as error:
        raise ParameterError(f"{folder} cannot be written: {error.strerror}") from None


def page(series: ReportRun, ledger: Ledger) -> str:
    """HTML page of a report, without other files: the chart, what the budget guarantees, the table."""
    report = series.report
    fields = column_names(series)
    head = "".join(f"<th>{name.replace('_', ' ')}</th>" for name in fields)
    newest_first = replace(series, editions=series.editions[::-1])
    lines = "".join(
        f"<tr>{''.join(f'<td>{html_text(row[name])}</td>' for name in fields)}</tr>" for row in rows(newest_first)
    )
    period_count = sum(account.span == 1 for account in ledger.periods())
    promises = "".join(f"<p>{html_text(line)}</p>" for line in promise_texts(ledger.budget, period_count))
    title = f"{report.name}, every {report.every} since {report.since}"
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"/><title>{html_text(title)}</title></head><body>'
        f"<h1>{html_text(title)}</h1>{series.svg()}{promises}<p>A gap means that an edition stopped before this item, "
        "on purpose, or was missed; it does not mean that no user had it.</p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></body></html>\n"
    )


def _replace_file(path: Path, text: str) -> Path:
    """Replace a file as a whole, so that a reader sees the old content or the new, never a part."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)
    return path
