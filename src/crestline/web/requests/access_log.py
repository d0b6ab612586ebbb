"""A line of JSON for every request: when, which, who, how long, what came of it. Never an address as it was sent, never
words of an error: they may quote rows."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Mapping
from datetime import datetime

LOGGER = "crestline.requests"


class AccessLog:
    """Writes to the logger `crestline.requests`; `clock` says when."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._logger = logging.getLogger(LOGGER)

    def write(self, request: Mapping[str, object], seconds: float) -> None:
        """One request that has ended."""
        self._line({**request, "seconds": round(seconds, 3)})

    def write_event(self, name: str, result: str, message: str | None = None) -> None:
        """Something that is no request. A message must not depend on rows."""
        self._line({"event": name, "result": result, "message": message})

    def _line(self, told: Mapping[str, object]) -> None:
        if self._logger.isEnabledFor(logging.INFO):
            when = {"time": self._clock().isoformat(timespec="milliseconds")}
            self._logger.info(json.dumps({**when, **told}))


def to_standard_output() -> None:
    """Let the lines appear: what a service manager or a container collects."""
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger = logging.getLogger(LOGGER)
    logger.handlers, logger.propagate = [handler], False
    logger.setLevel(logging.INFO)
