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

from crestline.cli.output import make_console
from crestline.errors import CrestlineError

_AGAIN = 2.0  # seconds that a driver has to cancel what its engine does, before it is interrupted again


@contextmanager
def show_progress(what: str) -> Iterator[None]:
    """Show that something is being done, in a terminal; an interrupt stays one, whatever a driver makes of it.

    On Ctrl-C the drivers cancel what the engine is doing: DuckDB is interrupted, psycopg asks the server to cancel
    the statement, PySpark cancels its jobs. Some then report a failure of the engine, which is none.
    """
    pressed = threading.Event()
    with _catch_interrupt(pressed):
        try:
            with _progress_spinner(what):
                yield
        except CrestlineError:
            if not pressed.is_set():
                raise
        else:
            return
    raise KeyboardInterrupt


@contextmanager
def _catch_interrupt(pressed: threading.Event) -> Iterator[None]:
    """Remember that Ctrl-C was pressed: a driver may tell of it in words of its own, or lose it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ending = _InterruptThread()

    def handle_interrupt(number: int, frame: FrameType | None) -> None:
        if ending.reached:
            return
        if not pressed.is_set():
            pressed.set()
            logging.disable(logging.WARNING)  # psycopg warns that it could not end what was interrupted
            ending.start_thread()
        raise KeyboardInterrupt

    before, told = signal.signal(signal.SIGINT, handle_interrupt), sys.unraisablehook
    sys.unraisablehook = lambda lost: ending.interrupt_again() if lost.exc_type is KeyboardInterrupt else told(lost)
    try:
        yield
    finally:
        ending.end()
        logging.disable(logging.NOTSET)
        signal.signal(signal.SIGINT, before)
        sys.unraisablehook = told


class _InterruptThread:
    """From the first Ctrl-C on, interrupt what the engine runs, and the main thread, until that is out of the context.

    Python drops an exception that is raised while an object is finalised, and a driver's code may drop it, too: the
    engine would go on, and nobody would know that Ctrl-C was pressed.
    """

    def __init__(self) -> None:
        self.reached = False
        self._next = threading.Event()
        self._thread = threading.Thread(target=self._interrupt, daemon=True, name="crestline-interrupt")

    def start_thread(self) -> None:
        self._thread.start()

    def interrupt_again(self) -> None:
        """Interrupt again at once: it is known that the last time was in vain."""
        self._next.set()

    def end(self) -> None:
        """The main thread is out."""
        self.reached = True
        self._next.set()
        if self._thread.is_alive():
            self._thread.join()

    def _interrupt(self) -> None:
        from crestline.sources.engine.timeout_thread import interrupt_statements

        main = threading.main_thread().ident
        assert main is not None, "the main thread runs"
        while not self.reached:
            interrupt_statements()
            self._next.wait(_AGAIN)
            self._next.clear()
            if not self.reached:
                signal.pthread_kill(main, signal.SIGINT)


def _progress_spinner(what: str) -> AbstractContextManager[Any]:
    """A spinner with the elapsed time on the error stream, if that is a terminal."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    progress = Progress(*columns, console=make_console(stderr=True), transient=True)
    progress.add_task(what, total=None)
    return progress
