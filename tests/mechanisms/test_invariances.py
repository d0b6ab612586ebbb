"""What no mechanism over slots depends on: the unit of counts, and how many users all items have in common."""

from __future__ import annotations

from typing import Any

import pytest

from crestline.histogram.histogram import Histogram
from crestline.histogram.histogram_table import HistogramTable
from crestline.mechanisms.canonical.canonical_bottom import CanonicalBottom
from crestline.mechanisms.canonical.staircase import Staircase
from crestline.mechanisms.framework.canonical import RestrictedCanonical
from crestline.mechanisms.framework.gap_tests.gap_test import JointTest
from crestline.mechanisms.framework.gap_tests.sparse import ExponentialTest, LaplaceTest
from crestline.mechanisms.framework.gumbel import RestrictedGumbel
from crestline.mechanisms.framework.normal import RestrictedNormal
from crestline.mechanisms.framework.one_shot import RestrictedLaplace
from crestline.mechanisms.limited_domain.gauss import LimitedDomainGauss
from crestline.mechanisms.limited_domain.gumbel import LimitedDomain
from crestline.mechanisms.limited_domain.laplace import LimitedDomainLaplace
from crestline.mechanisms.limited_domain.optimal_threshold import OptimalThreshold
from crestline.mechanisms.routes.ordered_staircase import OrderedStaircase
from crestline.mechanisms.stability.top_stable import TopStable
from crestline.randomness.entropy import replay

COUNTS = {"a": 14, "b": 12, "c": 11, "d": 10, "e": 4}
TEST = ExponentialTest("0.7", "0.3", "0.1")
MADE: list[Any] = [
    LimitedDomain(3, 4, "0.5", "0.1"),
    LimitedDomain(3, 4, "0.5", "0.1", 1, sharp=True),
    LimitedDomain(3, 4, "0.5", "0.1", strict=True),
    OptimalThreshold(3, 4, "0.5", "0.1"),
    LimitedDomainGauss(3, 4, 3, "0.1", 2, bottom=2),
    TopStable(3, 4, "0.9", "0.1"),
    CanonicalBottom(3, 4, "0.5", "0.1"),
    Staircase(3, 4, "1", "0.1"),
    OrderedStaircase(Staircase(3, 4, "1", "0.1"), "0.4"),
    RestrictedGumbel(3, 4, "0.5", TEST),
    RestrictedCanonical(3, 4, "0.5", "0.4", TEST),
    RestrictedNormal(3, 4, 3, LaplaceTest("0.7", "0.1")),
    RestrictedLaplace(3, 4, 1, JointTest("0.7", "0.1")),
]


OF_USERS = LimitedDomainLaplace(3, 4, "0.5", "0.1", 2)  # it takes no sums


def seen(counts: dict[str, int], unit: int = 1) -> Histogram:
    return Histogram.from_counts(counts, 4, unit=unit)


def same(mechanism: Any, other: Histogram) -> None:
    """The same uniforms choose the same items, and every selection is as likely."""
    plain = seen(COUNTS)
    drawn = mechanism.release_many(plain, 40, replay("same"))
    assert mechanism.release_many(other, 40, replay("same")) == drawn
    assert len({len(selection) for selection in drawn}) > 1, "some stop early"
    assert mechanism.law(other) == pytest.approx(mechanism.law(plain), abs=1e-9)
    assert sum(mechanism.law(plain).values()) == pytest.approx(1)


def ids(mechanism: Any) -> str:
    return type(mechanism).__name__


@pytest.mark.parametrize("mechanism", MADE, ids=ids)
def test_the_unit_of_counts_is_the_unit_of_noise(mechanism: Any) -> None:
    """Sums of which one user moves seven are counts of users, times seven."""
    same(mechanism, seen({item: 7 * count for item, count in COUNTS.items()}, unit=7))


@pytest.mark.parametrize("mechanism", MADE, ids=ids)
def test_the_unit_of_counts_is_the_unit_of_noise_in_every_group(mechanism: Any) -> None:
    sums = {item: 7 * count for item, count in COUNTS.items()}
    drawn, other = (
        mechanism.release_each(HistogramTable.from_histograms([(group, one) for group in range(40)]), replay("groups"))
        for one in (seen(COUNTS), seen(sums, unit=7))
    )
    assert other == drawn
    assert len({len(selection) for selection in drawn}) > 1, "some stop early"


@pytest.mark.parametrize("mechanism", [*MADE, OF_USERS], ids=ids)
def test_users_whom_all_items_have_in_common_change_nothing(mechanism: Any) -> None:
    same(mechanism, seen({item: count + 10**6 for item, count in COUNTS.items()}))


SUMMED = (LimitedDomain, OptimalThreshold, CanonicalBottom, Staircase, RestrictedGumbel, RestrictedCanonical)


@pytest.mark.parametrize("mechanism", [one for one in MADE if isinstance(one, SUMMED)], ids=ids)
def test_a_law_is_whole_where_some_items_lead_by_far(mechanism: Any) -> None:
    """Weights that no double can hold are of no account, however far the best lead and wherever the gap is. (Laws that
    are integrals take as long as the lead is.)"""
    for gap in (1, 2, 3):
        counts = {item: 10 - place + (4_000 if place < gap else 0) for place, item in enumerate("abcde")}
        law, drawn = mechanism.law(seen(counts)), mechanism.release_many(seen(counts), 40, replay("far"))
        assert sum(law.values()) == pytest.approx(1)
        assert all(law[selection] > 0 for selection in drawn)
