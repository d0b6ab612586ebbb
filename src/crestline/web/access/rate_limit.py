"""Rate limits: a bucket for each token, in this process alone (n processes let through n times as much).

What a bucket holds is requests, or seconds of the processor.
"""

from __future__ import annotations

import threading
from collections.abc import Callable


class RateLimit:
    """Each name may use `per_minute` a minute, saved up to one minute's worth. `clock` gives seconds."""

    def __init__(self, per_minute: int, clock: Callable[[], float]) -> None:
        self._full = float(per_minute)
        self._clock = clock
        self._turn = threading.Lock()
        self._buckets: dict[str, tuple[float, float]] = {}

    def wait(self, name: str, amount: float = 1.0) -> float:
        """Take an amount; 0 if there was as much, else in how many seconds there will be."""
        with self._turn:
            left = self._amount_left(name)
            missing = max(0.0, amount - left)
            self._buckets[name] = (left if missing else left - amount, self._clock())
        return missing * 60 / self._full

    def take(self, name: str, amount: float) -> None:
        """Take an amount that was used already, although there may be less."""
        with self._turn:
            self._buckets[name] = (self._amount_left(name) - amount, self._clock())

    def _amount_left(self, name: str) -> float:
        left, then = self._buckets.get(name, (self._full, self._clock()))
        return min(self._full, left + (self._clock() - then) * self._full / 60)

    def with_limit(self, per_minute: int) -> RateLimit:
        """The same where the limit is the same, and otherwise a new one, with full buckets."""
        return self if float(per_minute) == self._full else RateLimit(per_minute, self._clock)
