"""A law that the releases do not follow is noticed, and a law that they follow is not."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import crestline as cl
from crestline.audit.neighbours import HistogramShape, NeighbourPair
from crestline.audit.target import prepare_subject
from crestline.audit.testers.stated_law import is_followed
from crestline.mechanisms.limited_domain.gumbel import LimitedDomain
from crestline.randomness.entropy import replay

PAIR = NeighbourPair({"a": 6, "b": 5}, {"a": 5, "b": 5}, HistogramShape(3), "ties")


class Boasting(LimitedDomain):
    """States the law of a twin with 10% more noise."""

    def law(self, histogram: Any) -> Any:
        return cl.mechanisms.LimitedDomain(self.k, self.k_bar, self.epsilon * 9 / 10, self.delta).law(histogram)


def followed(mechanism: Any) -> bool:
    return is_followed(prepare_subject(mechanism, replay("law")), PAIR, 60_000, 1e6, perf_counter, 1e-6)


def test_the_law_of_our_own_is_followed() -> None:
    assert followed(cl.mechanisms.LimitedDomain(2, 3, 1, "0.1"))


def test_another_law_is_noticed() -> None:
    assert not followed(Boasting(2, 3, 1, "0.1"))


def test_little_time_means_few_releases() -> None:
    assert is_followed(prepare_subject(Boasting(2, 3, 1, "0.1"), replay("law")), PAIR, 60_000, 0.0, perf_counter, 1e-6)
