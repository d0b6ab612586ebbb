"""Rate limits."""

from __future__ import annotations

from crestline.web.access.rate_limit import RateLimit


def test_a_bucket_empties_and_fills_again() -> None:
    now = [0.0]
    rate_limit = RateLimit(60, lambda: now[0])
    assert [rate_limit.wait("ann") for _ in range(60)] == [0.0] * 60
    assert rate_limit.wait("ann") == 1.0
    assert rate_limit.wait("bob") == 0.0
    now[0] = 0.5
    assert rate_limit.wait("ann") == 0.5
    now[0] = 1.0
    assert rate_limit.wait("ann") == 0.0
    now[0] = 10_000.0  # no more than one minute's worth is saved up
    assert [rate_limit.wait("ann") for _ in range(61)].count(0.0) == 60
