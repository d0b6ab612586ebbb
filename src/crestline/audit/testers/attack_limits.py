"""Limits of an attack: its releases and its time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter


@dataclass
class AttackLimits:
    """A number of releases and a time limit; `clock` returns the time in seconds, and is read between samples."""

    releases: int
    seconds: float
    clock: Callable[[], float] = perf_counter
    releases_made: int = 0
    start_time: float = field(default=0.0)

    def __post_init__(self) -> None:
        self.start_time = self.clock()

    @property
    def seconds_used(self) -> float:
        """Seconds since the start."""
        return self.clock() - self.start_time

    @property
    def is_exhausted(self) -> bool:
        """Whether a limit is reached."""
        return self.seconds_used >= self.seconds or self.releases_made >= self.releases

    @property
    def releases_left(self) -> int:
        """Releases that still fit within both limits, at the speed so far."""
        allowed, spent = max(0, self.releases - self.releases_made), self.seconds_used
        if not self.releases_made or spent <= 0:
            return allowed
        return min(allowed, int(max(0.0, self.seconds - spent) * self.releases_made / spent))

    @property
    def share(self) -> float:
        """Share of the scarcer limit that is used, between 0 and 1."""
        return min(1.0, max(self.seconds_used / self.seconds, self.releases_made / self.releases))
