"""Metrics: requests by route and class of status. Nothing else is counted, so nothing else can leak."""

from __future__ import annotations

import threading
from collections import Counter

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_NAME = "crestline_requests_total"


class Metrics:
    """Counts since the process started."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._requests: Counter[tuple[str, str]] = Counter()

    def count(self, route: str, status: int) -> None:
        """One more response. `route` is the pattern of a route, never an address as it was sent."""
        with self._turn:
            self._requests[route, f"{status // 100}xx"] += 1

    def text(self) -> str:
        """All counts, in Prometheus' text format."""
        with self._turn:
            counts = sorted(self._requests.items())
        lines = [f"# HELP {_NAME} Responses by route and class of status.", f"# TYPE {_NAME} counter"]
        lines += [f'{_NAME}{{route="{route}",status="{status}"}} {count}' for (route, status), count in counts]
        return "\n".join(lines) + "\n"
