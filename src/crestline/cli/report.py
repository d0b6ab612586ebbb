"""`crestline report`: recurring reports of a configuration; a scheduler (cron, systemd) runs it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crestline.cli.output import Format, FormatOption, print_rows

if TYPE_CHECKING:
    from crestline.config import ReportConfig
    from crestline.serving import OpenDataset

COLUMNS = {"report": "report", "period": "period", "status": "status", "items": "items", "reason": "reason"}

report_app = typer.Typer(help="Recurring reports: ask what is due, and publish it.", no_args_is_help=True)


@report_app.callback()
def _report_commands() -> None:
    """Recurring reports: ask what is due, and publish it."""


@report_app.command()
def due(
    config: Annotated[Path, typer.Argument(help="The configuration, a TOML file with [reports.NAME].")],
    name: Annotated[str | None, typer.Option(help="Only this report.")] = None,
    form: FormatOption = Format.AUTO,
) -> None:
    """Ask each period that has ended, once, and publish every report as CSV, JSON, HTML and SVG.

    Where a report sets `ahead`, for example to 4, the cost of that number of next periods is reserved too.

    It can run at any time: what was asked is not asked again, and a period that was not asked is asked now. Exit code 1
    when an edition was missed.

    Example: crestline report due crestline.toml
    """
    from crestline.config import load_config
    from crestline.errors import ParameterError
    from crestline.serving import open_datasets

    loaded = load_config(config)
    if name is not None and name not in loaded.reports:
        raise ParameterError(f"{config} has no report {name!r}; it has: {', '.join(loaded.reports) or 'none'}")
    with open_datasets(loaded) as datasets:
        chosen = {key: part for key, part in loaded.reports.items() if name in (None, key)}
        lines = [line for key, part in chosen.items() for line in _publish_one(datasets[part.dataset], key, part)]
        lines += [] if name is not None else _give_back_removed(datasets, loaded.reports)
    print_rows(COLUMNS, lines, form)
    raise typer.Exit(1 if any(line["status"] == "missed" for line in lines) else 0)


def _give_back_removed(
    datasets: Mapping[str, OpenDataset], reports: Mapping[str, ReportConfig]
) -> list[dict[str, object]]:
    """Cancel what was reserved ahead for reports that are no longer in the configuration."""
    from crestline.reports.report import give_back_others

    lines: list[dict[str, object]] = []
    for name, served in datasets.items():
        own = {key for key, part in reports.items() if part.dataset == name}
        for version in give_back_others(served.ledger, own):
            report, _, period = version.removeprefix("report ").rpartition(" ")
            reason = "no such report any more"
            lines.append({"report": report, "period": period, "status": "given back", "items": "", "reason": reason})
    return lines


def _publish_one(served: OpenDataset, name: str, part: ReportConfig) -> list[dict[str, object]]:
    from crestline.randomness.entropy import system
    from crestline.reports.publish import publish
    from crestline.reports.report import run_report

    series = run_report(part.report, source=served.source, ledger=served.ledger, entropy=system())
    publish(series, part.folder, served.ledger)
    lines: list[dict[str, object]] = [
        {"report": name, "period": one.period, "status": one.status, "items": len(one.items), "reason": one.reason}
        for one in series.editions
    ]
    for one in series.ahead:
        status = "reserved ahead" if one.reserved else "not reserved"
        lines.append({"report": name, "period": one.period, "status": status, "items": "", "reason": one.reason})
    return lines
