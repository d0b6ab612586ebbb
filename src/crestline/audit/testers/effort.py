"""Effort: how many releases an attack may make, and until when."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter


@dataclass
class Effort:
    """A number of releases and a time limit; the clock is read between samples, and can be replaced in tests."""

    releases: int
    seconds: float
    clock: Callable[[], float] = perf_counter
    made: int = 0
    started: float = field(default=0.0)

    def __post_init__(self) -> None:
        self.started = self.clock()

    @property
    def spent(self) -> float:
        """Seconds since the start."""
        return self.clock() - self.started

    @property
    def over(self) -> bool:
        return self.spent >= self.seconds or self.made >= self.releases

    @property
    def left(self) -> int:
        """How many more releases fit, at the speed seen so far."""
        allowed, spent = max(0, self.releases - self.made), self.spent
        if not self.made or spent <= 0:
            return allowed
        return min(allowed, int(max(0.0, self.seconds - spent) * self.made / spent))

    @property
    def share(self) -> float:
        """How much of the effort is spent, between 0 and 1."""
        return min(1.0, max(self.spent / self.seconds, self.made / self.releases))
