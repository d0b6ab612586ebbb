"""Metrics: requests by route and class of status, and defects by the class of an engine's error. Nothing else is
counted, so nothing else can leak."""

from __future__ import annotations

import threading
from collections import Counter

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_NAME = "crestline_requests_total"
_DEFECTS = "crestline_engine_defects_total"


class Metrics:
    """Counts since the process started."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._requests: Counter[tuple[str, str]] = Counter()
        self._defects: Counter[str] = Counter()

    def count(self, route: str, status: int) -> None:
        """One more response. `route` is the pattern of a route, never an address as it was sent."""
        with self._turn:
            self._requests[route, f"{status // 100}xx"] += 1

    def defect(self, kind: str) -> None:
        """One more statement of ours that an engine failed on. `kind` is the class of its error, never its words."""
        with self._turn:
            self._defects[kind] += 1

    def text(self) -> str:
        """All counts, in Prometheus' text format."""
        with self._turn:
            counts, defects = sorted(self._requests.items()), sorted(self._defects.items())
        lines = [f"# HELP {_NAME} Responses by route and class of status.", f"# TYPE {_NAME} counter"]
        lines += [f'{_NAME}{{route="{route}",status="{status}"}} {count}' for (route, status), count in counts]
        lines += [f"# HELP {_DEFECTS} Statements that an engine failed on: report them.", f"# TYPE {_DEFECTS} counter"]
        lines += [f'{_DEFECTS}{{error="{kind}"}} {count}' for kind, count in defects]
        return "\n".join(lines) + "\n"
