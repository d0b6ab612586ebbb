"""The pages of recurring reports: which there are, and each as a picture over time with its table."""

from __future__ import annotations

from dataclasses import replace

from fastapi import APIRouter
from fastapi.responses import Response

from crestline.config import ReportConfig
from crestline.randomness.entropy import system
from crestline.reports.report import ReportRun, run_report
from crestline.reports.tabular import column_names, rows
from crestline.web.pages.forms import CurrentState, SignedIn, page_response
from crestline.web.pages.parts.html import Html, element, join_html, table, void
from crestline.web.pages.parts.layout import section
from crestline.web.permissions import Caller
from crestline.web.problems import forbidden_problem
from crestline.web.service_state import ServiceState

report_pages = APIRouter(include_in_schema=False)

_GAPS = (
    "A gap means that an edition stopped before this item, on purpose, or was missed. It does not mean that nobody had "
    "the item."
)


@report_pages.get("/reports")
def reports_page(state: CurrentState, caller: SignedIn) -> Response:
    found = _visible_reports(state, caller)
    lines = [
        (
            element("a", name, href=f"/reports/{name}"),
            part.dataset,
            f"every {part.report.every} since {part.report.since}",
        )
        for name, part in found.items()
    ]
    none = element("p", "There are no reports on the data sets that you may ask.")
    body = table("Reports; follow a name to see it", ("Report", "Data set", "When"), lines) if lines else none
    return page_response("Reports", section("Reports", body, name="list"), who=caller, here="/reports")


@report_pages.get("/reports/{name}.svg")
def report_picture(name: str, state: CurrentState, caller: SignedIn) -> Response:
    """The picture by itself: inside the page our own style would change its letters."""
    return Response(_report_series(state, caller, name)[1].svg(), media_type="image/svg+xml")


@report_pages.get("/reports/{name}")
def report_page(name: str, state: CurrentState, caller: SignedIn) -> Response:
    part, series = _report_series(state, caller, name)
    lead = f"On {part.dataset}, every {part.report.every} since {part.report.since}."
    return page_response(f"Report {name}", _series_table(series), who=caller, here="/reports", lead=lead)


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


def _series_table(series: ReportRun) -> Html:
    newest_first = replace(series, editions=series.editions[::-1])
    heads = [name.replace("_", " ").capitalize() for name in column_names(series)]
    lines = [["" if value is None else value for value in row.values()] for row in rows(newest_first)]
    name = series.report.name
    drawn = void(
        "img", src=f"/reports/{name}.svg", alt=f"The ranking of {name} over time; the table below has all of it"
    )
    over_time = element("div", drawn, class_="wide", tabindex="0"), element("p", _GAPS, class_="hint")
    parts = [section("Over time", *over_time, name="picture"), section("Table", table("All", heads, lines), name="all")]
    return join_html(parts) if series.editions else element("p", "No period has ended so far.")
