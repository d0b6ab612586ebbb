"""The smaller of two compositions."""

from __future__ import annotations

from fractions import Fraction

from crestline.guarantees.guarantee import ZCDP, ApproxDP, PureDP
from crestline.mechanisms.two_stage import tighter_guarantee

FIRST, SECOND = PureDP("0.5", "A"), ApproxDP("0.25", "1e-6", "B")


def test_the_sum_where_it_is_smaller() -> None:
    assert tighter_guarantee(ApproxDP(1, "1e-6"), FIRST, SECOND) == ApproxDP("0.75", "1e-6", "A; B")


def test_the_composition_where_it_is_smaller() -> None:
    together = ApproxDP(Fraction(3, 5), "1e-6", "C")
    assert tighter_guarantee(together, FIRST, SECOND) is together
    equal = ApproxDP(Fraction(3, 4), "1e-6", "C")
    assert tighter_guarantee(equal, FIRST, SECOND) is equal


def test_only_the_composition_where_a_stage_has_no_epsilon() -> None:
    together = ApproxDP(9, "1e-6")
    assert tighter_guarantee(together, ZCDP("0.1"), SECOND) is together
    concentrated = ZCDP("0.1", "1e-6")
    assert tighter_guarantee(concentrated, FIRST, SECOND) is concentrated
