"""The time now, in UTC, for what is written down."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_now() -> datetime:
    """Now, with its time zone."""
    return datetime.now(UTC)
