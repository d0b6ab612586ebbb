"""Run what is not finished: on all cores, in any order, with what is done kept when it is interrupted."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from reproduction.catalogue import experiment
from reproduction.data import Shelf
from reproduction.experiment import Cell, Experiment, Numbers
from reproduction.store import Store

Watch = Callable[[str, int, int], None]
_WRITE_EVERY = 2.0  # seconds: what a killed run may lose
_AHEAD = 4  # cells that wait in line for each worker


@dataclass(frozen=True)
class Job:
    """One cell to run. Workers find the experiment by its name, so that nothing but data crosses the border."""

    experiment: Experiment
    cell: Cell


def unfinished(experiments: Iterable[Experiment], store: Store, *, quick: bool) -> list[Job]:
    """What is left to do; with `quick`, of the quick cells alone."""
    jobs: list[Job] = []
    for one in experiments:
        done = store.finished(one)
        jobs += [Job(one, cell) for cell in one.cells if cell.key not in done and (one.quick(cell) or not quick)]
    return jobs


def run(jobs: Sequence[Job], store: Store, data: Path, *, workers: int, watch: Watch) -> None:
    """Measure every job and store it. An interrupt keeps what is finished."""
    work = _here(jobs, data) if workers == 1 else _in_processes(jobs, data, workers)
    unwritten: dict[str, Experiment] = {}
    last = time.monotonic()
    try:
        for done, (job, numbers) in enumerate(work, start=1):
            store.add(job.experiment, job.cell, numbers)
            unwritten[job.experiment.name] = job.experiment
            watch(job.experiment.name, done, len(jobs))
            if time.monotonic() - last > _WRITE_EVERY:
                _write(store, unwritten)
                last = time.monotonic()
    finally:
        _write(store, unwritten)


def _write(store: Store, unwritten: dict[str, Experiment]) -> None:
    for one in unwritten.values():
        store.write(one)
    unwritten.clear()


def _here(jobs: Sequence[Job], data: Path) -> Iterator[tuple[Job, Numbers]]:
    shelf = Shelf(data)
    for job in jobs:
        yield job, job.experiment.measure(job.cell, shelf)


def _in_processes(jobs: Sequence[Job], data: Path, workers: int) -> Iterator[tuple[Job, Numbers]]:
    """New processes, not forks: the progress bar runs a thread. Few cells wait in line: an interrupt is quick."""
    line = iter(jobs)
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_quiet)
    running: dict[Future[Numbers], Job] = {}

    def fill() -> None:
        while len(running) < _AHEAD * workers and (job := next(line, None)) is not None:
            running[pool.submit(_measured, job.experiment.name, job.cell, data)] = job

    try:
        fill()
        while running:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()
            fill()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _measured(name: str, cell: Cell, data: Path) -> Numbers:
    return experiment(name).measure(cell, Shelf(data))


def _quiet() -> None:
    """An interrupt is for the parent, which stores what is finished and ends its workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
