"""Rate limits: a bucket of requests for each token, in this process alone (n processes let through n times as much)."""

from __future__ import annotations

import threading
from collections.abc import Callable


class RateLimit:
    """Each name may make `per_minute` requests a minute, saved up to one minute's worth. `clock` gives seconds."""

    def __init__(self, per_minute: int, clock: Callable[[], float]) -> None:
        self._full = float(per_minute)
        self._clock = clock
        self._turn = threading.Lock()
        self._buckets: dict[str, tuple[float, float]] = {}

    def wait(self, name: str) -> float:
        """Take one request; 0 if there was one, else in how many seconds there will be."""
        now, per_second = self._clock(), self._full / 60
        with self._turn:
            left, then = self._buckets.get(name, (self._full, now))
            left = min(self._full, left + (now - then) * per_second)
            self._buckets[name] = (left - 1 if left >= 1 else left, now)
        return 0.0 if left >= 1 else (1 - left) / per_second

    def with_limit(self, per_minute: int) -> RateLimit:
        """The same where the limit is the same, and otherwise a new one, with full buckets."""
        return self if float(per_minute) == self._full else RateLimit(per_minute, self._clock)
