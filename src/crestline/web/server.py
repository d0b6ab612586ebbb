"""The server: uvicorn with limits on who is slow and on how many there are, in one process or in several."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from types import FrameType
from typing import ClassVar, TypeAlias

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from crestline.config import Config, load_config
from crestline.errors import CrestlineError
from crestline.ledger.receipt import utc_now
from crestline.web.app import create_app
from crestline.web.metrics import FOLDER
from crestline.web.middleware import SETTLING
from crestline.web.requests.access_log import AccessLog, to_standard_output
from crestline.web.service_state import open_state, reopen_state
from crestline.web.workers import Workers, listening_marker, serving_marker

SECONDS_TO_SEND = 10.0
"""Within this number of seconds the head of a request must be here, and after it the body (`middleware`)."""

CONNECTIONS = 1000
"""More at once are refused with 503."""

IDLE_CONNECTIONS = 500
"""Connections that wait for the head of a request; with one more the oldest is closed."""

Handler: TypeAlias = Callable[[int, FrameType | None], object] | int | None

_CONFIG = "CRESTLINE_SERVICE_CONFIG"


class SlowClientProtocol(H11Protocol):  # type: ignore[misc] # uvicorn has no types here
    """HTTP that closes a connection which sends the head of a request too slowly, or none at all."""

    _waiting: ClassVar[dict[SlowClientProtocol, None]] = {}  # the oldest first
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._start_timer()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._is_waiting_for_head():
            self._stop_timer()
        elif self._deadline is None:
            self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def _is_waiting_for_head(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _start_timer(self) -> None:
        self._deadline = self.loop.call_later(SECONDS_TO_SEND, self._close_if_waiting)
        self._waiting[self] = None
        if len(self._waiting) > IDLE_CONNECTIONS:
            oldest = next(iter(self._waiting))
            oldest._stop_timer()
            oldest._close_if_waiting()

    def _stop_timer(self) -> None:
        self._waiting.pop(self, None)
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _close_if_waiting(self) -> None:
        self._deadline = None
        self._waiting.pop(self, None)
        if self._is_waiting_for_head():
            self.transport.close()


def serve(config: Config, *, host: str, port: int, workers: int = 1) -> bool:
    """Serve until told to end. Several workers share the address and the ledger; each opens its own connections.

    Returns:
        Whether it could be started.
    """
    os.environ[_CONFIG] = str(config.file)
    settings = uvicorn.Config(
        "crestline.web.server:app",
        factory=True,
        host=host,
        port=port,
        workers=workers,
        http=SlowClientProtocol,
        ws="none",
        server_header=False,
        proxy_headers=False,  # who a request comes from is what the connection says
        access_log=False,  # a line of JSON for each request takes its place (`journal`)
        limit_concurrency=CONNECTIONS,
        timeout_graceful_shutdown=config.limits.seconds + SETTLING,
    )
    if workers == 1:
        server = uvicorn.Server(settings)
        with suppress(KeyboardInterrupt):
            server.run()
        return bool(server.started)
    to_standard_output()
    with _metrics_folder() as folder:
        supervisor = Workers(settings, [settings.bind_socket()], folder)
        with suppress(KeyboardInterrupt):
            supervisor.run()
        return not supervisor.failed


@contextmanager
def _metrics_folder() -> Iterator[Path]:
    """A folder in which all workers count, until the last has ended."""
    with TemporaryDirectory(prefix="crestline-metrics-") as folder:
        os.environ[FOLDER] = folder
        try:
            yield Path(folder)
        finally:
            del os.environ[FOLDER]


def app() -> FastAPI:
    """The service of the configuration that this process was started with."""
    to_standard_output()
    path, signals = Path(os.environ[_CONFIG]), SimpleQueue[int]()
    signal.signal(signal.SIGHUP, lambda number, _: signals.put(number))  # before the file is read: no change is missed
    if FOLDER in os.environ:
        listening_marker(Path(os.environ[FOLDER]), os.getpid()).touch()
    served = create_app(open_state(load_config(path), copies=True))

    def reload_on_signal() -> None:
        while signals.get():
            reload_configuration(served, path, AccessLog(utc_now))

    threading.Thread(target=reload_on_signal, daemon=True).start()
    _refuse_waiting_at_the_end(served)
    if FOLDER in os.environ:
        serving_marker(Path(os.environ[FOLDER]), os.getpid()).touch()
    return served


def _refuse_waiting_at_the_end(served: FastAPI) -> None:
    """When the process is told to end, refuse the questions that wait for their turn: they would begin late, and be
    charged and cut off. uvicorn does the rest, whose handlers are in place by now."""

    def close_queues(number: int, frame: FrameType | None, then: Handler) -> None:
        for part in served.state.service.datasets.values():
            part.queue.close()
        if callable(then):
            then(number, frame)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, partial(close_queues, then=signal.getsignal(number)))


def reload_configuration(served: FastAPI, path: Path, journal: AccessLog) -> None:
    """Serve what the file says now. Where it cannot be served, what was served stays, and a line says why."""
    try:
        served.state.service = reopen_state(served.state.service, load_config(path))
    except CrestlineError as error:
        journal.write_event("reload", "kept", f"the configuration is as it was: {error}")
    except Exception as failure:  # its words are not ours
        journal.write_event("reload", "kept", f"the configuration is as it was: {type(failure).__name__}")
    else:
        journal.write_event("reload", "loaded")
