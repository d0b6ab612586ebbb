"""Thresholds in groups: each follows its own law, in one array operation; the promise covers all of a user (P15.1)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.mechanisms.conformance import SIGNIFICANCE, items_law, p_value

from crestline.errors import HistogramError, ParameterError
from crestline.guarantees.guarantee import ZCDP, ApproxDP
from crestline.histogram.histogram import Histogram
from crestline.histogram.histogram_table import HistogramTable
from crestline.histogram.observed_items import ObservedItems
from crestline.histogram.observed_table import ObservedTable
from crestline.mechanisms import Observed
from crestline.mechanisms.in_groups import InGroups
from crestline.mechanisms.observed.observed import delta_in_all, delta_in_each
from crestline.mechanisms.observed.release import ThresholdRule
from crestline.mechanisms.observed.release_groups import _least_word
from crestline.mechanisms.observed.weights import UNIT
from crestline.mechanisms.privacy_total import PrivacyTotal
from crestline.randomness.entropy import replay
from crestline.randomness.laws import GAUSSIAN, Law
from crestline.randomness.laws import LAPLACE as LAPLACE_LAW

# Ties, more and fewer classes than are wanted, one item alone, so many classes that they set a bar of their own, a
# group in which nothing can pass, and an empty one.
COUNTS: tuple[dict[str, int], ...] = (
    {"a": 9, "b": 7, "c": 7, "d": 2},
    {"x": 6},
    {"p": 7, "q": 7, "r": 7},
    {"l": 10, "m": 9, "n": 6, "o": 6},
    {"u": 9, "v": 8, "w": 7, "x": 6, "y": 5, "z": 3},
    {"s": 1, "t": 1},
    {},
)
ROWS = 4_000  # of each group
GAUSS = Observed(2, 2, 2, "0.05")
LAPLACE = Observed(3, 1, 1, "0.01", "laplace")


def groups() -> list[ObservedItems]:
    return [ObservedItems.from_scores(counts) for counts in COUNTS]


def repeated(times: int) -> ObservedTable:
    return ObservedTable.from_histograms([(place, part) for _ in range(times) for place, part in enumerate(groups())])


def p_values(mechanism: Observed, twin: Observed, times: int, key: str) -> list[float]:
    drawn = twin.release_each(repeated(times), replay(key))
    return [
        p_value((selection.items for selection in drawn[place :: len(COUNTS)]), items_law(mechanism.law(part)))
        for place, part in enumerate(groups()[:-1])
    ]


@pytest.mark.statistics
@pytest.mark.parametrize("mechanism", [GAUSS, LAPLACE], ids=["Gaussian", "Laplace"])
def test_every_group_follows_the_law_of_its_own_items(mechanism: Observed) -> None:
    assert min(p_values(mechanism, mechanism, ROWS, "each")) > SIGNIFICANCE


@pytest.mark.statistics
@pytest.mark.parametrize(
    ("mechanism", "twin"),
    [(GAUSS, Observed(2, 2, "2.2", "0.05")), (LAPLACE, Observed(3, 1, "1.1", "0.01", "laplace"))],
    ids=["Gaussian", "Laplace"],
)
def test_a_scale_that_is_a_tenth_off_is_noticed(mechanism: Observed, twin: Observed) -> None:
    assert min(p_values(mechanism, twin, 2 * ROWS, "twin")) < SIGNIFICANCE


@pytest.mark.parametrize("mechanism", [GAUSS, LAPLACE], ids=["Gaussian", "Laplace"])
def test_decisions_do_not_depend_on_how_many_bits_are_looked_at_first(mechanism: Observed) -> None:
    table = repeated(6)
    first, again = (mechanism.release_each(table, replay("bits", first_bits=bits)) for bits in (64, 7))
    assert first == again
    assert any(len(selection) for selection in first)


@pytest.mark.statistics
def test_groups_whose_scores_are_negative_follow_their_law() -> None:
    """Weights above a floor of six: what is left of some items is less than nothing, and they may pass all the same."""
    mechanism = Observed(2, 1, 2, "0.2", cap=4)
    family = [
        {"a": 4 * UNIT, "b": 0, "c": 0, "d": -UNIT},
        {"x": -3 * UNIT // 2, "y": -3 * UNIT // 2},
        {"p": 3 * UNIT, "q": 2 * UNIT, "r": 1, "s": -1, "t": -UNIT, "u": -2 * UNIT},
    ]
    parts = [ObservedItems.from_scores(scores, unit=UNIT, floor=6) for scores in family]
    table = ObservedTable.from_histograms([(place, part) for _ in range(ROWS) for place, part in enumerate(parts)])
    assert table.floor == 6
    assert [part.scores.tolist() for part in list(table.histograms())[:3]] == [part.scores.tolist() for part in parts]
    drawn = mechanism.release_each(table, replay("negative"))
    for place, part in enumerate(parts):
        named = [selection.items for selection in drawn[place :: len(parts)]]
        assert p_value(named, items_law(mechanism.law(part))) > SIGNIFICANCE
        assert any(named)
    assert drawn == mechanism.release_each(table, replay("negative", first_bits=7))


def test_no_item_is_named_twice_and_all_of_a_class_are_named_alike() -> None:
    """A class of ten equal scores far above the threshold: every order of three of its items is as likely."""
    table = ObservedTable.from_histograms([(0, ObservedItems.from_scores(dict.fromkeys("abcde", 50)))] * 6_000)
    drawn = [selection.items for selection in Observed(3, 1, 1, "0.01").release_each(table, replay("alike"))]
    assert {len(set(items)) for items in drawn} == {3}
    orders = [(a, b, c) for a in "abcde" for b in "abcde" for c in "abcde" if len({a, b, c}) == 3]
    assert p_value(drawn, dict.fromkeys(orders, 1 / 60)) > SIGNIFICANCE


def test_counts_are_the_keys_that_were_ranked() -> None:
    table = ObservedTable.from_histograms(
        [("g", ObservedItems.from_scores({"a": 90, "b": 70, "c": 1})), ("h", ObservedItems.from_scores({"a": 40}))]
    )
    first, second = Observed(3, 1, "0.01", "0.05", counts=True).release_each(table, replay("counts"))
    assert (first.items, first.counts) == (("a", "b"), (Fraction(90), Fraction(70)))
    assert (second.items, second.counts) == (("a",), (Fraction(40),))
    assert first.bounds is not None
    assert [(bound.low, bound.high) for bound in first.bounds] == [(89, 91), (69, 71)]


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_counts_are_rounded_to_the_grid_in_a_group_and_alone(noise: str) -> None:
    """So little noise that only rounding is seen."""
    items = ObservedItems.from_scores({"a": 93, "b": 71, "c": 1})
    mechanism = Observed(3, 1, "0.001", "0.05", noise, counts=True, grid=5)
    alone = mechanism.release(items, replay("grid"))
    assert (alone.items, alone.counts) == (("a", "b"), (Fraction(95), Fraction(70)))
    assert mechanism.release_each(ObservedTable.from_histograms([("g", items)]), replay("grid")) == [alone]


@pytest.mark.parametrize("place", range(5))
def test_what_is_named_is_named_in_its_own_group(place: int) -> None:
    """Only one group has an item that can pass, wherever it stands among the others."""
    table = ObservedTable.from_histograms(
        [(other, ObservedItems.from_scores({"a": 90} if other == place else {"b": 1})) for other in range(5)]
    )
    drawn = Observed(3, 1, "0.01", "0.05").release_each(table, replay("own"))
    assert [selection.items for selection in drawn] == [("a",) if other == place else () for other in range(5)]


@pytest.mark.parametrize("law", [GAUSSIAN, LAPLACE_LAW], ids=["Gaussian", "Laplace"])
@pytest.mark.parametrize("size", [1, 2, 60])
def test_the_least_word_of_a_class_is_a_little_below_what_can_pass(law: Law, size: int) -> None:
    """`F^m` of the distance to the bar, a part in a million and m last digits less for each of m equal scores; far
    below it, as if it were twelve scales away: what may pass is never left out, and little else is kept."""
    items = [ObservedItems.from_scores(dict.fromkeys(range(size), score)) for score in (41, 33, 30, 21, 9, 1)]
    table = ObservedTable.from_histograms(list(enumerate(items)))
    rule = ThresholdRule(1, law, Fraction(2), Fraction(25), Fraction(1))
    found = _least_word(table, rule, np.full(len(items), 25.0)).astype(np.float64) / 2.0**64
    away = np.minimum((25 - np.array([41, 33, 30, 21, 9, 1])) / 2, 12)
    exact = law.cdf(away) ** size
    assert found == pytest.approx(exact * (0.999999 - size * 1e-14) ** size, rel=1e-12, abs=2.0**-63)
    assert (found <= exact).all()


def test_an_empty_table_has_no_selections() -> None:
    assert GAUSS.release_each(ObservedTable.from_histograms([]), replay(1)) == []
    assert str(ObservedTable.from_histograms([])) == "ObservedTable()"


def test_a_table_is_its_groups() -> None:
    table = repeated(1)
    parts = list(table.histograms())
    assert [part.scores.tolist() for part in parts] == [part.scores.tolist() for part in groups()]
    assert parts[0].names([0, 1, 3]) == ("a", "b", "d")


def test_slots_and_scores_of_another_unit_are_refused() -> None:
    slots = HistogramTable.from_histograms([("g", Histogram.from_counts({"a": 3}, 2))])
    with pytest.raises(HistogramError, match="every observed item"):
        GAUSS.release_each(slots, replay(1))
    with pytest.raises(HistogramError, match="sums of weights"):
        Observed(2, 1, 2, "0.05", cap=2).release_each(repeated(1), replay(1))
    weighed = ObservedTable.from_histograms([("g", ObservedItems.from_scores({"a": 90 * UNIT}, unit=UNIT))])
    assert Observed(2, 1, 2, "0.05", cap=2).release_each(weighed, replay(1))[0].items == ("a",)


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("many", [2, 3, 40])
def test_a_total_is_for_all_groups_of_a_user(noise: str, many: int) -> None:
    total = PrivacyTotal(5, 1, "1e-8", contribution=2)
    made = Observed.fit(total, groups=many, noise=noise)
    family = InGroups.from_mechanism(made, many, delta=total.delta)
    assert family.guarantee() == ApproxDP(1, "1e-8", theorem="P15.1, P17.3")
    assert many * made.delta == pytest.approx(1e-8, rel=2e-6)
    one, wide = (
        Observed.fit(total, noise=noise),
        Observed.fit(PrivacyTotal(5, 1, "1e-8", contribution=2 * many), noise=noise),
    )
    assert one.threshold < made.threshold
    assert float(made.scale) == pytest.approx(float(wide.scale), rel=1e-9)  # as many items as all groups have together
    # In a ledger the two failures are kept apart: c steps of Δ/(2σ²), or of Δ/scale, and c times δ.
    cost, step = family.cost(), made.cost()
    assert (cost.rho, cost.delta) == (many * step.rho, many * made.delta)
    settled = family.settlement_cost(family.release([repeated(1)], replay(1)))
    assert (settled.rho, settled.delta) == (cost.rho, cost.delta)


def test_few_items_in_all_groups_take_laplace_noise() -> None:
    kinds = {(bound, many): Observed.fit(PrivacyTotal(5, 1, "1e-8", contribution=bound), groups=many).noise
             for bound, many in [(1, 2), (2, 1), (1, 3), (3, 1), (2, 2)]}  # fmt: skip
    assert [bound * many for (bound, many), noise in kinds.items() if noise == "laplace"] == [2, 2]
    for bound, many in kinds:
        total = PrivacyTotal(5, 1, "1e-8", contribution=bound)
        laplace, gauss = (Observed.fit(total, groups=many, noise=noise).threshold for noise in ("laplace", "gaussian"))
        assert (laplace < gauss) == (kinds[bound, many] == "laplace")


def test_a_promise_for_fewer_groups_is_not_that_of_more() -> None:
    made = Observed.fit(PrivacyTotal(5, 1, "1e-8", contribution=2), groups=2, noise="gaussian")
    assert made.guarantee_in_groups(1) == made.guarantee_in_groups(2)
    assert made.guarantee_in_groups(3) is None
    assert isinstance(InGroups.from_mechanism(made, 3).guarantee(), ApproxDP | ZCDP)  # added up step by step
    assert InGroups.from_mechanism(made, 3).guarantee() != made.guarantee_in_groups(2)
    assert Observed(2, 2, 2, "0.05").guarantee_in_groups(1) is None


@pytest.mark.long
@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_a_promise_that_is_not_kept_to_users_of_more_groups_is_refused(noise: str) -> None:
    made = Observed.fit(PrivacyTotal(5, 1, "1e-8", contribution=1), groups=2, noise=noise)
    parts: dict[str, Any] = {"promise": made.promise, "noise": noise}
    Observed(5, 1, made.scale, made.delta, groups=2, **parts)
    with pytest.raises(ParameterError, match="not kept"):
        Observed(5, 1, made.scale, made.delta, groups=3, **parts)
    with pytest.raises(ParameterError, match="not kept"):
        Observed(5, 1, made.scale, 2 * made.delta, groups=2, **parts)
    with pytest.raises(ParameterError, match="not kept"):  # enough noise for the items of one group, not of two
        Observed(5, 1, made.scale * Fraction(7, 10), made.delta, groups=2, **parts)
    Observed(5, 1, made.scale * Fraction(72, 100), made.delta, groups=1, **parts)


def test_the_share_of_each_group_and_back() -> None:
    for many in (1, 2, 7, 1000):
        each = delta_in_each(Fraction(1, 20), many)
        assert 1 - (1 - float(each)) ** many == pytest.approx(0.05, rel=1e-9)
        assert each <= Fraction(1, 20)
        assert delta_in_all(each, many) == pytest.approx(0.05, rel=1e-9)
    assert delta_in_each(Fraction(1, 20), 2) > Fraction(1, 40)
    assert delta_in_all(Fraction(1, 2), 2) >= Fraction(3, 4)
