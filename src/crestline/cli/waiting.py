"""What a person sees while an engine works, and what Ctrl-C does.

Elapsed time depends on the rows. It is shown to whoever sits at the terminal, who could time the command as well, and
to nobody else: nothing of it goes to a pipe, a file or a log.
"""

from __future__ import annotations

import logging
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import FrameType
from typing import Any

from crestline.cli.output import console
from crestline.errors import CrestlineError


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show that something is being done, in a terminal; an interrupt stays one, whatever a driver makes of it.

    On Ctrl-C the drivers cancel what the engine is doing: DuckDB stops its threads, psycopg asks the server to cancel
    the statement, PySpark cancels its jobs. Some then report a failure of the engine, which is none.
    """
    pressed = threading.Event()
    with _heard(pressed):
        try:
            with _spinner(what):
                yield
        except CrestlineError:
            if not pressed.is_set():
                raise
        else:
            return
    raise KeyboardInterrupt


@contextmanager
def _heard(pressed: threading.Event) -> Iterator[None]:
    """Remember that Ctrl-C was pressed: a driver may tell of it in words of its own."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupted(number: int, frame: FrameType | None) -> None:
        pressed.set()
        logging.disable(logging.WARNING)  # psycopg warns that it could not end what was interrupted
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)
        signal.signal(signal.SIGINT, before)


def _spinner(what: str) -> AbstractContextManager[Any]:
    """A spinner with the elapsed time on the error stream, if that is a terminal."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    progress = Progress(*columns, console=console(stderr=True), transient=True)
    progress.add_task(what, total=None)
    return progress
