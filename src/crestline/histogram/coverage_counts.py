"""Coverage: noisy numbers of users with one of the named items, and without."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CoverageCounts:
    """Two noisy numbers of users, released together.

    Attributes:
        users: Users with at least one of the named items.
        users_without: Users with items, but none of those.
        spread: 95% of the noise of each number is at most this; depends on the parameters alone.
    """

    users: int
    users_without: int
    spread: float

    @property
    def all_users(self) -> int:
        """Noisy number of users with any item."""
        return self.users + self.users_without

    @property
    def share(self) -> float | None:
        """Share of all users who have one of the named items; None if the noisy number of all users is not positive."""
        return None if self.all_users <= 0 else min(1.0, max(0.0, self.users / self.all_users))

    @property
    def share_spread(self) -> float | None:
        """Error of the share by noise, which is not exceeded with 95% probability (docs/proofs/coverage.md)."""
        return None if self.all_users <= 0 else min(1.0, (self.spread + 1) / self.all_users)
