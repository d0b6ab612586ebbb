"""For how long a statement may run. docs/how-to/databases.md says what is missing on which engine."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from crestline.sources.engine.connection import Engine
from crestline.sources.engine.engine_functions import dialect, name_of
from crestline.sources.engine.timeout_thread import interrupt_after


@contextmanager
def limit_statement(engine: Engine, timeout: float, late: threading.Event) -> Iterator[None]:
    """Interrupt the engine after `timeout` seconds, and set `late` when that was done. Servers that keep the time
    themselves are told to in every transaction."""
    with dialect(name_of(engine)).interrupt_handle(engine) as interrupt:
        if interrupt is None:
            yield
            return
        with interrupt_after(timeout, late, interrupt):
            yield
