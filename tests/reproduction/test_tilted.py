from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crestline.mechanisms.numerics.poisson_binomial import count_law
from reproduction.tilted import exactly


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.floats(1e-6, 1 - 1e-6), min_size=1, max_size=12),
    st.lists(st.floats(0, 1), min_size=12, max_size=12),
    st.data(),
)
def test_it_is_the_law_of_the_number_of_events(chances: list[float], rates: list[float], data: st.DataObject) -> None:
    m = data.draw(st.integers(0, len(chances)))
    row = np.array([chances])
    found = exactly(m, np.log(row), np.log1p(-row), np.array([rates[: len(chances)]]))
    assert np.exp(found.log[0]) * found.share[0] == pytest.approx(_number(chances, m), rel=1e-9)
    expected = sum(
        rate * chance * _number(chances[:place] + chances[place + 1 :], m - 1)
        for place, (rate, chance) in enumerate(zip(rates, chances, strict=False))
    )
    assert np.exp(found.log[0]) * found.rates[0] == pytest.approx(expected, rel=1e-9, abs=1e-300)


def _number(chances: list[float], m: int) -> float:
    """The chance of exactly m events, added up one by one."""
    if m < 0:
        return 0.0
    law = count_law(np.array(chances).reshape(-1, 1), m + 1)
    return float(law[m, 0])


def test_certain_events_are_counted() -> None:
    log_in, log_out = np.array([[0.0, np.log(0.25)]]), np.array([[-np.inf, np.log(0.75)]])
    rates = np.array([[0.0, 1.0]])
    for m, expected in ((0, 0.0), (1, 0.75), (2, 0.25), (3, 0.0)):
        found = exactly(m, log_in, log_out, rates)
        assert np.exp(found.log[0]) * found.share[0] == pytest.approx(expected)


def test_many_events_far_from_their_mean() -> None:
    """1,000 events of chance 1/1000, of which 900 happen: about 1e-2560, far below the smallest double."""
    from math import lgamma, log, log1p

    many, m, chance = 1_000, 900, 1e-3
    log_in, log_out = np.full((1, many), log(chance)), np.full((1, many), log1p(-chance))
    found = exactly(m, log_in, log_out, np.ones((1, many)))
    expected = lgamma(many + 1) - lgamma(m + 1) - lgamma(many - m + 1) + m * log(chance) + (many - m) * log1p(-chance)
    assert found.log[0] + np.log(found.share[0]) == pytest.approx(expected, rel=1e-12)
    assert found.rates[0] / found.share[0] == pytest.approx(m)
