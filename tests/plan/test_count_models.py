"""Shapes: what is published comes out again, and nothing is read."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crestline.errors import ParameterError
from crestline.plan.count_models import (
    Percentiles,
    PowerLaw,
    bound_counts,
    count_histogram,
    ranked_histogram,
    read_shape,
)


def test_a_power_law_has_its_exponent_and_its_pairs() -> None:
    counts = PowerLaw(1.1, users=500_000, items=20_000, per_user=10.0).counts()
    # Where few users hold an item twice, counts follow the law: rank 100 against rank 1000.
    assert np.log10(counts[99] / counts[999]) == pytest.approx(1.1, abs=0.03)
    assert 0.7 * 5_000_000 < counts.sum() <= 5_000_000


def test_no_count_exceeds_the_users() -> None:
    assert PowerLaw(3.0, users=1000, items=50, per_user=1000.0).counts().max() <= 1000
    assert Percentiles(((50.0, 1), (100.0, 5000)), items=100, users=700).counts()[0] == 700


@given(
    exponent=st.floats(0.1, 60.0),
    users=st.integers(1, 10**6),
    items=st.integers(1, 500),
    per_user=st.floats(0.1, 200.0),
)
def test_power_laws_are_ranked_and_finite(exponent: float, users: int, items: int, per_user: float) -> None:
    counts = PowerLaw(exponent, users, items, per_user).counts()
    assert len(counts) == items
    assert (np.diff(counts) <= 0).all()
    assert 0 <= counts[-1] <= counts[0] <= users


def test_published_percentiles_come_out_again() -> None:
    shape = Percentiles(((50.0, 2), (99.0, 24), (100.0, 2931)), items=1_280_968)
    counts = shape.counts()
    assert counts[0] == 2931
    assert np.percentile(counts, 99, method="lower") == 24
    assert np.percentile(counts, 50, method="lower") == 2
    assert counts[-1] == 1
    assert (np.diff(counts) <= 0).all()


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("power:1.1", PowerLaw(1.1, 1000, 1000)),
        ("power", PowerLaw(1.0, 1000, 1000)),
        ("percentiles:100:2931,50:2", Percentiles(((50.0, 2), (100.0, 2931)), 1000, 1000)),
    ],
)
def test_shapes_are_read(text: str, shape: object) -> None:
    assert read_shape(text, users=1000) == shape


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("zipf:1", "a shape is power:EXPONENT or percentiles"),
        ("power:none", "the exponent must be a number"),
        ("power:-1", "the exponent must be larger than zero"),
        ("percentiles:50", "is not such a pair"),
        ("percentiles:150:2", "between 0 and 100"),
        ("percentiles:50:2,99:24", "as percentile 100"),
        ("percentiles:50:20,100:3", "must grow with their percentages"),
        ("percentiles:100:3,100:4", "no percentage may be given twice"),
    ],
)
def test_other_shapes_are_refused(text: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        read_shape(text, users=1000)


def test_too_many_items_are_refused() -> None:
    with pytest.raises(ParameterError, match="only the largest counts matter"):
        read_shape("power:1", users=1000, items=10**9)


def test_a_contribution_bound_cuts_what_it_must() -> None:
    counts = np.array([600, 300, 100], dtype=np.int64)
    assert bound_counts(counts, users=1000, contribution=None) is counts
    assert bound_counts(counts, users=1000, contribution=1) is counts
    assert bound_counts(counts, users=100, contribution=5).tolist() == [300, 150, 50]


def test_a_short_shape_is_padded() -> None:
    histogram = ranked_histogram(np.array([5, 3, 0, 0], dtype=np.int64), 3)
    assert histogram.counts == (5, 3, 0)
    assert histogram.next_count == 0
    assert histogram.items[:2] == (1, 2)


def test_a_public_list_is_known_by_its_multiplicities() -> None:
    histogram = count_histogram(np.array([5, 3, 3, 0, 0, 0], dtype=np.int64))
    values, sizes = histogram.distinct_counts
    assert (values.tolist(), sizes) == ([5, 3, 0], (1, 2, 3))
    assert histogram.domain_size == 6
