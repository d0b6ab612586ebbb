"""Metrics for Prometheus: how many requests, how long questions took and waited, what is in use, what is left.

Labels are patterns of routes, classes of outcomes, names of data sets and classes of errors: never a value of a
question, never anything of a row. How long a question takes may depend on the data, and what is left tells what others
spent, so only the owner and the machine itself may read them (`app`).

Several workers write their counts into files of one folder (`PROMETHEUS_MULTIPROC_DIR`, which `server` makes), and each
tells those of all.
"""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from crestline import __version__
from crestline.web.problems import Problem

if TYPE_CHECKING:  # with the web server's packages, which a configuration can be checked without
    from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
    from prometheus_client.core import GaugeMetricFamily

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
FOLDER = "PROMETHEUS_MULTIPROC_DIR"
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_LIVE = re.compile(r"gauge_live[a-z]+_([0-9]+)\.db")


@dataclass(frozen=True)
class GaugeValue:
    """A sample: its name without the prefix, its value and its labels."""

    name: str
    value: float
    labels: dict[str, str]


HELP = {
    "build_info": "Version of crestline and of Python.",
    "budget_left_ratio": "The share of a data set's own budget that is left.",
    "period_budget_left_ratio": "The same of a budget by period, for the latest periods.",
    "open_reservations": "Questions that were charged and have not ended.",
    "oldest_reservation_seconds": "Age of the oldest of them.",
    "report_editions": "Latest editions of a report that are missed (charged, without an answer) or due (not asked).",
    "not_ready": "1 while writing to the ledger, or to its witness, fails.",
    "ledger_damaged": "1 while the ledger does not hold: run `crestline ledger verify`.",
}


@dataclass(frozen=True)
class DatasetMetrics:
    """What is counted of one data set."""

    name: str
    _all: Metrics

    @contextmanager
    def question(self) -> Iterator[list[Mapping[str, object]]]:
        """Time a question, with the wait for its turn. The answer is put into the list that this gives."""
        begun, answers = time.perf_counter(), list[Mapping[str, object]]()
        outcome = "failed"
        try:
            yield answers
            outcome = "stored" if answers[0].get("stored") else "answered"
        except Problem as problem:
            outcome = _outcome_of(problem)
            raise
        finally:
            self._all.metric_families.seconds.labels(self.name, outcome).observe(time.perf_counter() - begun)

    @contextmanager
    def track_wait(self) -> Iterator[None]:
        """A place in the queue, until its turn has come."""
        begun, waiting = time.perf_counter(), self._all.metric_families.waiting.labels(self.name)
        waiting.inc()
        try:
            yield
        finally:
            waiting.dec()
            self._all.metric_families.queue_seconds.labels(self.name).observe(time.perf_counter() - begun)

    @contextmanager
    def track_connection(self) -> Iterator[None]:
        """A connection to the database, while it is used."""
        used = self._all.metric_families.connections.labels(self.name)
        used.inc()
        try:
            yield
        finally:
            used.dec()


@dataclass(frozen=True)
class _Families:
    registry: CollectorRegistry
    requests: Counter
    defects: Counter
    seconds: Histogram
    queue_seconds: Histogram
    waiting: Gauge
    connections: Gauge
    ended_workers: Counter


class Metrics:
    """Everything that is counted; of this process, or of all workers where they share a folder."""

    @cached_property
    def metric_families(self) -> _Families:
        """Made with the first count, not before the folder is known."""
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics

        disable_created_metrics()  # type: ignore[no-untyped-call]
        registry, every = CollectorRegistry(), ("dataset",)
        took = "Seconds from a question to its answer or refusal, with the wait for its turn, by outcome."
        count, measure = partial(Counter, registry=registry), partial(Histogram, buckets=_SECONDS, registry=registry)
        now = partial(Gauge, multiprocess_mode="livesum", registry=registry)
        return _Families(
            registry,
            count("crestline_requests", "Responses by route and class of status.", ("route", "status")),
            count("crestline_engine_defects", "Statements that an engine failed on: report them.", ("error",)),
            measure("crestline_question_seconds", took, ("dataset", "outcome")),
            measure("crestline_queue_wait_seconds", "Seconds that questions waited for their turn.", every),
            now("crestline_queue_length", "Questions that wait for their turn.", every),
            now("crestline_connections_in_use", "Connections that questions use.", every),
            count("crestline_ended_workers", "Workers that ended by themselves, and were replaced.", ("reason",)),
        )

    def dataset(self, name: str) -> DatasetMetrics:
        """What is counted of one data set."""
        return DatasetMetrics(name, self)

    def count_response(self, route: str, status: int) -> None:
        """One more response. `route` is the pattern of a route, never an address as it was sent."""
        self.metric_families.requests.labels(route, f"{status // 100}xx").inc()

    def count_defect(self, kind: str) -> None:
        """One more statement of ours that an engine failed on. `kind` is the class of its error, never its words."""
        self.metric_families.defects.labels(kind).inc()

    def count_ended_worker(self, reason: str) -> None:
        """One more worker that has ended by itself, with the name of the signal or its exit code."""
        self.metric_families.ended_workers.labels(reason).inc()

    def text(self, gauges: Iterable[GaugeValue] = ()) -> str:
        """All counts, in Prometheus' text format, with what the ledger says."""
        from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
        from prometheus_client.multiprocess import MultiProcessCollector

        counted, now = self.metric_families.registry, CollectorRegistry()
        if FOLDER in os.environ:
            _remove_dead_workers(Path(os.environ[FOLDER]))
            counted = CollectorRegistry()
            MultiProcessCollector(counted)  # type: ignore[no-untyped-call]
        now.register(_CurrentGauges(tuple(gauges)))  # of the ledger, not of a process
        ProcessCollector(registry=now)  # of this process
        return (generate_latest(counted) + generate_latest(now)).decode()


@dataclass(frozen=True, eq=False)
class _CurrentGauges:
    """What the ledger says and what runs, as Prometheus collects it."""

    values: tuple[GaugeValue, ...]

    def collect(self) -> Iterator[GaugeMetricFamily]:
        from prometheus_client.core import GaugeMetricFamily

        build = {"version": __version__, "python": platform.python_version()}
        samples = [*self.values, GaugeValue("build_info", 1.0, build)]
        for name in dict.fromkeys(one.name for one in samples):
            own = [one for one in samples if one.name == name]
            family = GaugeMetricFamily(f"crestline_{name}", HELP[name], labels=tuple(own[0].labels))
            for one in own:
                family.add_metric(tuple(one.labels.values()), one.value)
            yield family


def _outcome_of(problem: Problem) -> str:
    """The class of a refusal: what the asker did wrong or cannot pay, what was not to be had, what was ours."""
    if problem.status < 500:
        return "refused"
    return "unavailable" if problem.status == 503 else "failed"


def _remove_dead_workers(folder: Path) -> None:
    """A worker that has ended uses nothing any more."""
    from prometheus_client.multiprocess import mark_process_dead

    for path in folder.iterdir():
        live = _LIVE.fullmatch(path.name)
        if live is not None and not _is_running(int(live[1])):
            mark_process_dead(int(live[1]), str(folder))  # type: ignore[no-untyped-call]


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # of another user of the machine
        return True
    return True
