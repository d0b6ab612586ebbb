"""What the ledger says at the moment, for Prometheus: budgets, reservations, editions of reports, faults."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from crestline.config import ReportConfig
from crestline.errors import CrestlineError
from crestline.ledger.entries import ENDINGS
from crestline.ledger.ledger import Ledger
from crestline.ledger.report import fraction_used
from crestline.web.metrics import GaugeValue
from crestline.web.service_state import ServiceState

_LATEST = 12  # periods of a budget and of a report that are told


def ledger_gauges(state: ServiceState) -> Iterator[GaugeValue]:
    """Every sample; of what cannot be read there is none."""
    fault = state.readiness.find()
    ill = None if fault is None else "witness" if "witness" in fault else "ledger"
    for part in ("ledger", "witness"):
        yield GaugeValue("not_ready", float(part == ill), {"part": part})
    yield GaugeValue("ledger_damaged", float(state.damage.find() is not None), {})
    try:
        for name, served in state.datasets.items():
            yield from _dataset_gauges(name, served.ledger)
        for name, report in state.config.reports.items():
            for kind, number in _editions(report, state.datasets[report.dataset].ledger).items():
                yield GaugeValue("report_editions", number, {"report": name, "state": kind})
    except CrestlineError:  # the ledger is away, which `not_ready` says
        return


def _dataset_gauges(name: str, ledger: Ledger) -> Iterator[GaugeValue]:
    account, own = ledger.account(), {"dataset": name}
    if account.balance.budget.calendar is None:
        yield GaugeValue("budget_left_ratio", 1 - fraction_used(account), own)
    for one in [period for period in ledger.periods() if period.span == 1][-_LATEST:]:
        yield GaugeValue("period_budget_left_ratio", 1 - fraction_used(one), {**own, "period": str(one.period)})
    waiting = [entry for entry in ledger.open_reservations() if not entry.is_reserved_ahead]
    ages = [(ledger.now() - datetime.fromisoformat(entry.time)).total_seconds() for entry in waiting]
    yield GaugeValue("open_reservations", len(waiting), own)
    yield GaugeValue("oldest_reservation_seconds", max(ages, default=0.0), own)


def _editions(report: ReportConfig, ledger: Ledger) -> dict[str, int]:
    """How many of the latest editions are missed, and how many are due."""
    calendar, known = ledger.budget.calendar, ledger.editions()
    assert calendar is not None, "checked when the file was read"
    found = {"missed": 0, "due": 0}
    for label in report.report.due_periods(calendar, ledger.now())[-_LATEST:]:
        entry, following = known.get(report.report.request(ledger, label).key, (None, []))
        kinds = {one.kind for one in following}
        if entry is None or (entry.is_reserved_ahead and not following):
            found["due"] += 1
        elif "settled" not in kinds:
            found["missed"] += not kinds & set(ENDINGS)
    return found
