"""Counts of independent events, against enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from crestline.mechanisms.numerics.poisson_binomial import count_law


@pytest.mark.parametrize("most", [0, 1, 2, 3, 4, 6])
def test_against_enumeration(most: int) -> None:
    chances = np.array([[0.1, 0.9], [0.5, 0.25], [0.7, 0.0], [1.0, 0.3]])
    wanted = np.zeros((most + 1, 2))
    for happens in product((0, 1), repeat=4):
        each = np.where(np.array(happens)[:, None], chances, 1 - chances)
        wanted[min(most, sum(happens))] += each.prod(axis=0)
    assert np.allclose(count_law(chances, most), wanted, atol=1e-15)


def test_no_events() -> None:
    assert count_law(np.zeros((0, 3)), 2).tolist() == [[1.0] * 3, [0.0] * 3, [0.0] * 3]
