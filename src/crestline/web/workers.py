"""Workers of one address: started, told of a changed configuration, and replaced when they have ended.

uvicorn's own supervisor asks each worker every half second whether it is healthy, and kills one that does not answer
within five: a worker that is still importing on a busy machine, or that stalls with the questions it is answering. Here
a worker is replaced only when its process is gone. When workers end before they serve, again and again, while no other
one serves, the parent ends with an error, so that a service manager can act.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from socket import socket

from uvicorn import Config
from uvicorn.supervisors.multiprocess import Multiprocess, Process

from crestline.ledger.receipt import utc_now
from crestline.web.metrics import Metrics
from crestline.web.requests.access_log import AccessLog

MOST_FAILED_STARTS = 3
"""Starts in a row that may fail while no worker serves."""

LONGEST_PAUSE = 60.0
"""Seconds between two starts, at most; the pause doubles with every start that fails."""


def listening_marker(folder: Path, process: int) -> Path:
    """File that exists once a worker follows signals; an earlier signal would end it."""
    return folder / f"listening-{process}"


def serving_marker(folder: Path, process: int) -> Path:
    """File that exists once a worker has opened what it serves."""
    return folder / f"serving-{process}"


class Workers(Multiprocess):  # type: ignore[misc] # uvicorn has no types here
    """The workers of a service.

    Args:
        config: How each worker serves.
        sockets: What they listen at.
        folder: Folder for the markers of workers.

    Attributes:
        failed: Whether no worker could be started.
    """

    def __init__(self, config: Config, sockets: list[socket], folder: Path) -> None:
        super().__init__(config, sockets)
        self.failed = False
        self._folder = folder
        self._failed_starts = 0
        self._next_start = 0.0
        self._log = AccessLog(utc_now)
        self._metrics = Metrics()

    def keep_subprocess_alive(self) -> None:
        """Replace workers that have ended; called twice a second."""
        for place, worker in enumerate(self.processes):
            if self.should_exit.is_set():
                return
            if worker.process.is_alive():
                if self._serves(worker):
                    self._failed_starts = 0
            elif time.monotonic() >= self._next_start:
                self._replace(place, worker)

    def _replace(self, place: int, ended: Process) -> None:
        """Start a worker in place of one that has ended; give up when starts fail and no worker serves."""
        served = self._serves(ended)
        ended.join()
        self._metrics.count_ended_worker(_reason(ended.exitcode))
        when = "" if served else " before it served"
        self._log.write_event("worker", "ended", f"a worker was ended by {_reason(ended.exitcode)}{when}")
        if not served:
            self._failed_starts += 1
            self._next_start = time.monotonic() + min(LONGEST_PAUSE, 0.5 * 2**self._failed_starts)
        if self._failed_starts >= MOST_FAILED_STARTS and not any(
            self._serves(worker) for worker in self.processes if worker.process.is_alive()
        ):
            self._log.write_event("service", "ended", f"{self._failed_starts} workers in a row did not start")
            self.failed = True
            self.should_exit.set()
            return
        self.processes[place] = Process(self.config, self.sockets)
        self.processes[place].start()

    def handle_hup(self) -> None:
        """Each worker follows the configuration by itself."""
        for worker in self.processes:
            if worker.pid is not None and listening_marker(self._folder, worker.pid).exists():
                os.kill(worker.pid, signal.SIGHUP)

    def _serves(self, worker: Process) -> bool:
        """Whether a worker has opened what it serves; of one that has ended, whether it had."""
        return worker.pid is not None and serving_marker(self._folder, worker.pid).exists()


def _reason(exit_code: int | None) -> str:
    """Why a process ended: the signal, or its exit code."""
    if exit_code is not None and exit_code < 0:
        return signal.Signals(-exit_code).name
    return f"exit code {exit_code}"
