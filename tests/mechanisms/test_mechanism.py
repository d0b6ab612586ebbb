"""What every mechanism of the catalogue shares."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from crestline.errors import MechanismError
from crestline.guarantees.cost import Cost, repeat_step
from crestline.guarantees.guarantee import ApproxDP, PureDP
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.limited_domain.gumbel import LimitedDomain
from crestline.mechanisms.mechanism import BuiltIn, Mechanism
from crestline.mechanisms.public_list.lipschitz import Lipschitz
from crestline.mechanisms.selection import Selection
from crestline.mechanisms.third_party import release_many_or_none
from crestline.randomness.entropy import Entropy, replay

HISTOGRAM = Histogram.from_counts({"a": 3}, 1)


class Least(BuiltIn):
    """As little as a mechanism of the catalogue may state."""

    theorem = "none"

    def cost(self) -> Cost:
        return repeat_step(PureDP(Fraction(1, 2)), 3)

    def release_many(self, histogram: Histogram, n: int, entropy: Entropy) -> list[Selection]:
        return [Selection((str(trial),), False) for trial in range(n)]


class Redefined(Least):
    def release(self, histogram: Histogram, entropy: Entropy) -> Selection:
        return Selection((), True)


class Both(Redefined):
    def release_many(self, histogram: Histogram, n: int, entropy: Entropy) -> list[Selection]:
        return [Selection((), True)] * n


class Unmade(Redefined):
    release_many: Any = None


def test_steps_are_added_up_unless_slack_is_given() -> None:
    promise = Least().guarantee()
    assert isinstance(promise, ApproxDP)
    assert (promise.epsilon, promise.delta) == (Fraction(3, 2), 0)
    assert Least().settlement_cost(Selection((), True)) == Least().cost()
    assert isinstance(Least(), Mechanism)


def test_one_release_is_the_only_one_of_many() -> None:
    assert Least().release(HISTOGRAM, replay(0)) == Selection(("0",), False)

    class Twice(Least):
        def release_many(self, histogram: Histogram, n: int, entropy: Entropy) -> list[Selection]:
            return super().release_many(histogram, 2 * n, entropy)

    with pytest.raises(ValueError, match="too many values"):
        Twice().release(HISTOGRAM, replay(0))


def test_many_releases_at_once_only_where_they_are_what_one_release_is() -> None:
    for made, fast in ((Least(), True), (Redefined(), False), (Both(), True), (Unmade(), False), (object(), False)):
        assert (release_many_or_none(made) is not None) == fast
    many = release_many_or_none(Least())
    assert many is not None
    assert len(many(HISTOGRAM, 4, replay(0))) == 4


def test_the_earlier_name_of_a_margin_for_all_still_works() -> None:
    mechanism = LimitedDomain(2, 9, 1, "1e-3")
    assert mechanism.full_margin(0.1) == mechanism.margin_for_all(0.9)
    with pytest.raises(MechanismError, match="has no margin_for_all"):
        Lipschitz(2, 1).full_margin()
