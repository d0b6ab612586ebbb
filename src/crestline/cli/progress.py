"""A progress display while an engine works, and the handling of Ctrl-C.

Elapsed time depends on the rows. It is displayed only in the terminal, whose user could time the command as well; none
of it goes to a pipe, a file or a log.
"""

from __future__ import annotations

import logging
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import FrameType
from typing import Any

from crestline.cli.output import make_console
from crestline.errors import CrestlineError

_AGAIN = 2.0  # seconds after which a driver that has not cancelled its statement is interrupted again


@contextmanager
def show_progress(what: str) -> Iterator[None]:
    """Display progress in a terminal, and end in KeyboardInterrupt after Ctrl-C even if a driver reports another error.

    On Ctrl-C the drivers cancel the statement: DuckDB is interrupted, psycopg asks the server to cancel it, PySpark
    cancels its jobs. Some then report a failure of the engine although it did not fail.
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
def show_share(what: str) -> Iterator[Callable[[str, float], None]]:
    """Display the share of work that is done in a terminal; the function says what is done now, and the share."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = make_console(stderr=True)
    columns = (TextColumn("{task.description:>15}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=1.0)
        yield lambda now, share: bar.update(task, description=now, completed=share)


@contextmanager
def _catch_interrupt(pressed: threading.Event) -> Iterator[None]:
    """Record that Ctrl-C was pressed: a driver may turn the interrupt into an error of its own, or lose it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ending = _InterruptThread()

    def handle_interrupt(number: int, frame: FrameType | None) -> None:
        if ending.reached:
            return
        if not pressed.is_set():
            pressed.set()
            logging.disable(logging.WARNING)  # psycopg warns that it could not end the interrupted statement
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
    """Thread that, from the first Ctrl-C on, interrupts the engine and the main thread until the context ends.

    Python drops an exception that is raised while an object is finalised, and a driver may drop it too: the engine
    would continue, and the interrupt would be lost.
    """

    def __init__(self) -> None:
        self.reached = False
        self._next = threading.Event()
        self._thread = threading.Thread(target=self._interrupt, daemon=True, name="crestline-interrupt")

    def start_thread(self) -> None:
        self._thread.start()

    def interrupt_again(self) -> None:
        """Interrupt again at once, because the last interrupt was lost."""
        self._next.set()

    def end(self) -> None:
        """Stop the thread; call when the main thread has left the context."""
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
