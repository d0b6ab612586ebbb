"""Covered: how many users have one of the named items, and how many have none of them, both with noise."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CoverageCounts:
    """Two noisy numbers of users, which are released together.

    users    with at least one of the named items
    others   with items, but none of those
    spread   95% of the noise in each number stays within so many users; depends on the parameters alone
    """

    users: int
    users_without: int
    spread: float

    @property
    def all_users(self) -> int:
        """How many users have an item at all."""
        return self.users + self.users_without

    @property
    def share(self) -> float | None:
        """Which part of all users has one of the named items; None where noise leaves no users to speak of."""
        return None if self.all_users <= 0 else min(1.0, max(0.0, self.users / self.all_users))

    @property
    def share_spread(self) -> float | None:
        """With 95% probability the share is off by at most this much, by noise (docs/proofs/coverage.md)."""
        return None if self.all_users <= 0 else min(1.0, (self.spread + 1) / self.all_users)
