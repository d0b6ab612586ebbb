"""The pages of recurring reports: which there are, and each as a picture over time with its table."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fastapi import APIRouter
from fastapi.responses import Response

from crestline.config import ReportConfig
from crestline.randomness.entropy import system
from crestline.reports.rank_chart import columns_of, words_of
from crestline.reports.report import ReportRun, run_report
from crestline.reports.tabular import column_names, rows
from crestline.web.pages.balances import title_of
from crestline.web.pages.forms import CurrentState, SignedIn
from crestline.web.pages.rendering import page_response
from crestline.web.permissions import Caller
from crestline.web.problems import forbidden_problem
from crestline.web.service_state import ServiceState

report_pages = APIRouter(include_in_schema=False)

SHOWN_EDITIONS = 12
# A file holds a `<style>` of its own, and nothing else.
_FILE_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


@dataclass(frozen=True)
class _Report:
    """A report in words."""

    name: str
    title: str
    dataset: str
    every: str
    since: str


@report_pages.get("/reports")
def reports_page(state: CurrentState, caller: SignedIn) -> Response:
    found = [_in_words(state, part) for part in _visible_reports(state, caller).values()]
    return page_response("reports.html", who=caller, here="/reports", reports=found)


@report_pages.get("/reports/{name}.svg")
def report_picture(name: str, state: CurrentState, caller: SignedIn) -> Response:
    """The picture by itself, with its colours inside."""
    text = _report_series(state, caller, name)[1].svg()
    return Response(text, media_type="image/svg+xml", headers={"Content-Security-Policy": _FILE_POLICY})


@report_pages.get("/reports/{name}")
def report_page(name: str, state: CurrentState, caller: SignedIn) -> Response:
    part, series = _report_series(state, caller, name)
    newest_first = replace(series, editions=series.editions[::-1])
    columns = columns_of(series.editions[-SHOWN_EDITIONS:])
    return page_response(
        "report.html",
        who=caller,
        here="/reports",
        report=_in_words(state, part),
        columns=columns,
        wanted=series.report.question.k,
        words=words_of(series),
        shown=len(columns),
        editions=len(series.editions),
        heads=[head.replace("_", " ").capitalize() for head in column_names(series)],
        rows=[[*row.values()] for row in rows(newest_first)],
    )


def _in_words(state: ServiceState, part: ReportConfig) -> _Report:
    dataset, report = state.datasets[part.dataset].config, part.report
    return _Report(
        report.name, report.question.words(dataset.words), title_of(dataset), report.every, str(report.since)
    )


def _report_series(state: ServiceState, caller: Caller, name: str) -> tuple[ReportConfig, ReportRun]:
    """A report so far; looking at it asks nothing."""
    part = _visible_reports(state, caller).get(name)
    if part is None:
        raise forbidden_problem()
    served = state.datasets[part.dataset]
    series = run_report(part.report, source=served.source, ledger=served.ledger, entropy=system(), asking=False)
    return part, series


def _visible_reports(state: ServiceState, caller: Caller) -> dict[str, ReportConfig]:
    """The reports on data sets that the caller may ask."""
    datasets = {part.config.name for part in caller.visible_datasets(state)}
    return {name: part for name, part in state.config.reports.items() if part.dataset in datasets}
