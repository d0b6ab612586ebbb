"""Noise on every slot and on ⊥: what stays when counts are scaled or shifted, and where nothing is left out."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from tests.mechanisms.conformance import items_law

from crestline.histogram.histogram import Histogram
from crestline.mechanisms.limited_domain.gauss import LimitedDomainGauss
from crestline.mechanisms.limited_domain.laplace import LimitedDomainLaplace
from crestline.mechanisms.selection import Selection
from crestline.randomness.entropy import replay

COUNTS = {"a": 14, "b": 12, "c": 11, "d": 4}
MADE: list[Any] = [
    LimitedDomainLaplace(2, 3, "0.5", "0.3", 2),
    LimitedDomainGauss(2, 3, 3, "0.3", 2, bottom=3),
    LimitedDomainGauss(2, 3, 3, "0.3", 2, bottom=1),
]
COUNTED: list[Any] = [
    LimitedDomainLaplace(2, 3, "0.5", "0.3", 2, counts=True, grid=5),
    LimitedDomainGauss(2, 3, 3, "0.3", 2, counts=True, grid=5, bottom=1),
]


@pytest.mark.parametrize("mechanism", MADE[1:], ids=["gauss", "quiet stop"])
def test_a_step_is_a_unit_of_counts_and_of_all_noise(mechanism: Any) -> None:
    """The same uniforms choose the same items, and the laws are the same, when users count three times as much."""
    plain = Histogram.from_counts(COUNTS, 3)
    scaled = Histogram.from_counts({label: 3 * count for label, count in COUNTS.items()}, 3, unit=3)
    drawn = mechanism.release_many(plain, 500, replay("step"))
    assert mechanism.release_many(scaled, 500, replay("step")) == drawn
    assert {len(selection) for selection in drawn} >= {1, 2}
    assert mechanism.length_law(scaled) == pytest.approx(mechanism.length_law(plain), abs=1e-12)
    assert mechanism.law(scaled) == pytest.approx(mechanism.law(plain), abs=1e-12)


@pytest.mark.parametrize("mechanism", COUNTED, ids=["laplace", "gauss"])
def test_published_counts_move_with_the_counts(mechanism: Any) -> None:
    """A thousand users more for every item, the first left out among them: a thousand more in every number."""
    few = mechanism.release_many(Histogram.from_counts(COUNTS, 3), 200, replay("shift"))
    more = {label: count + 1_000 for label, count in COUNTS.items()}
    many = mechanism.release_many(Histogram.from_counts(more, 3), 200, replay("shift"))
    for before, after in zip(few, many, strict=True):
        assert (after.items, after.stopped) == (before.items, before.stopped)
        assert after.counts == tuple(count + 1_000 for count in before.counts or ())
    assert any(selection.counts for selection in few)


@pytest.mark.parametrize("mechanism", COUNTED, ids=["laplace", "gauss"])
def test_published_counts_lie_on_the_grid(mechanism: Any) -> None:
    """Whether something was left out or not."""
    for histogram in (Histogram.over_domain({"a": 52, "b": 33, "c": 21}), Histogram.from_counts(COUNTS, 3)):
        drawn = mechanism.release_many(histogram, 100, replay("grid"))
        numbers = [count for selection in drawn for count in selection.counts or ()]
        assert numbers
        assert all(isinstance(count, Fraction) and count % 5 == 0 for count in numbers)


@pytest.mark.parametrize("mechanism", MADE, ids=["laplace", "gauss", "quiet stop"])
def test_where_nothing_is_left_out_all_are_named(mechanism: Any) -> None:
    """P0.8: no ⊥; fewer items than wanted are a stop all the same."""
    enough, few = Histogram.over_domain({"a": 5, "b": 1, "c": 0}), Histogram.over_domain({"a": 5})
    assert mechanism.length_law(enough) == [0.0, 0.0, 1.0]
    assert mechanism.length_law(few) == [0.0, 1.0, 0.0]
    assert mechanism.law(few) == {Selection(("a",), True): pytest.approx(1)}
    assert all(len(items) == 2 for items in items_law(mechanism.law(enough)))
    assert mechanism.release_many(enough, 0, replay(0)) == []
