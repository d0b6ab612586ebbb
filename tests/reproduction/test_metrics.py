"""The metrics, by hand and by property."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reproduction.metrics import METRICS, by_release, score

COUNTS = np.array([10, 6, 4, 2, 1], dtype=np.int64)


def test_by_hand() -> None:
    found = by_release([(0, 3), (), (1, 0)], COUNTS, 2)
    assert set(found) == set(METRICS)
    assert found["returned"].tolist() == [2, 0, 2]
    assert found["score_ratio"].tolist() == [12 / 16, 0, 1]
    assert found["proportion"].tolist() == [0.5, 0, 1]
    assert found["relative_sum"].tolist() == [10 / 16, 0, 1]
    assert found["f1"].tolist() == [0.5, 0, 1]


def test_mean_and_standard_error() -> None:
    found = score([(0,), (0, 1)], COUNTS, 2)["returned"]
    assert found.value == 1.5
    assert found.error == pytest.approx(0.5)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sets(st.integers(0, 4), max_size=3), min_size=1, max_size=6))
def test_every_share_lies_between_none_and_all(drawn: list[set[int]]) -> None:
    found = by_release([sorted(ranks) for ranks in drawn], COUNTS, 3)
    for name in METRICS[1:]:
        assert (found[name] >= 0).all()
        assert (found[name] <= 1).all()
    assert (found["relative_sum"] <= found["score_ratio"]).all()
    for place, ranks in enumerate(drawn):
        assert found["proportion"][place] * 3 == pytest.approx(len(ranks & {0, 1, 2}))
