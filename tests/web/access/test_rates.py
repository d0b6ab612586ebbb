"""Rate limits."""

from __future__ import annotations

from crestline.web.access.rates import Rates


def test_a_bucket_empties_and_fills_again() -> None:
    now = [0.0]
    rates = Rates(60, lambda: now[0])
    assert [rates.wait("ann") for _ in range(60)] == [0.0] * 60
    assert rates.wait("ann") == 1.0
    assert rates.wait("bob") == 0.0
    now[0] = 0.5
    assert rates.wait("ann") == 0.5
    now[0] = 1.0
    assert rates.wait("ann") == 0.0
    now[0] = 10_000.0  # no more than one minute's worth is saved up
    assert [rates.wait("ann") for _ in range(61)].count(0.0) == 60
