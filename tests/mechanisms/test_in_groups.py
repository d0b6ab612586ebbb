"""Mechanisms in groups: every row of a table follows the law of its own histogram; costs and totals (P15.1, P15.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.mechanisms.conformance import SIGNIFICANCE, items_law, p_value

from crestline import mechanisms
from crestline.errors import HistogramError, MechanismError
from crestline.guarantees.accountants import per_step_epsilon
from crestline.guarantees.guarantee import ApproxDP
from crestline.histogram.histogram import Histogram
from crestline.histogram.histogram_table import HistogramTable, build_ranked_table
from crestline.histogram.label_order import Padding
from crestline.mechanisms import (
    CanonicalBottom,
    FixedThreshold,
    LimitedDomain,
    LimitedDomainGauss,
    LimitedDomainLaplace,
    RestrictedGumbel,
    RestrictedNormal,
    RestrictedPermuteAndFlip,
    Staircase,
)
from crestline.mechanisms.framework.gap_tests.gap_test import JointTest
from crestline.mechanisms.framework.gap_tests.sparse import ExponentialTest, LaplaceTest
from crestline.mechanisms.in_groups import InGroups
from crestline.mechanisms.privacy_total import PrivacyTotal
from crestline.mechanisms.selection import GroupSelections, Selection
from crestline.randomness.entropy import replay

COUNTS: tuple[dict[str, int], ...] = ({"a": 9, "b": 7, "c": 7, "d": 2}, {"x": 4}, {"p": 12, "q": 3, "r": 3}, {})
ROWS = 8_000  # of each histogram
K_BAR = 3

ARRAYS = {
    "Gumbel": LimitedDomain(2, K_BAR, "0.7", "0.05"),
    "Gumbel, bounded": LimitedDomain(2, K_BAR, "0.7", "0.05", 1, sharp=True),
    "Laplace": LimitedDomainLaplace(2, K_BAR, "0.5", "0.05", 2),
    "Gauss": LimitedDomainGauss(2, K_BAR, "2", "0.05", 2, bottom="1.2"),
    "Restricted Gumbel": RestrictedGumbel(2, K_BAR, "0.7", ExponentialTest("0.8", "0.6", "0.1")),
    "Restricted normal": RestrictedNormal(2, K_BAR, "2", LaplaceTest("1.5", "0.1")),
    "Restricted permute-and-flip": RestrictedPermuteAndFlip(2, K_BAR, "1", JointTest("0.8", "0.1")),
    "Canonical": CanonicalBottom(2, K_BAR, "0.5", "0.1"),
}
ONE_BY_ONE = {
    "strict Gumbel": LimitedDomain(2, K_BAR, "0.7", "0.05", strict=True),
    "Staircase": Staircase(2, K_BAR, "1", "0.05"),
}
TWINS: dict[str, Any] = {
    "Gumbel": LimitedDomain(2, K_BAR, "0.63", "0.05"),
    "Laplace": LimitedDomainLaplace(2, K_BAR, "0.45", "0.05", 2),
    "Gauss": LimitedDomainGauss(2, K_BAR, "2.2", "0.05", 2, bottom="1.2"),
    "Restricted Gumbel": RestrictedGumbel(2, K_BAR, "0.63", ExponentialTest("0.8", "0.6", "0.1")),
    "Canonical": CanonicalBottom(2, K_BAR, "0.55", "0.1"),
}


def histograms(counts: Sequence[dict[str, int]] = COUNTS, k_bar: int = K_BAR, unit: int = 1) -> list[Histogram]:
    return [Histogram.from_counts(part, k_bar, unit=unit) for part in counts]


def repeated(rows: int) -> HistogramTable:
    """Every histogram so many times, one after the other and then again."""
    return HistogramTable.from_histograms(enumerate(histograms())).take(np.tile(np.arange(len(COUNTS)), rows))


def p_values(mechanism: Any, twin: Any, rows: int, key: str) -> list[float]:
    """For each histogram with items: how well a sampler's rows fit the law of the mechanism."""
    drawn = twin.release_each(repeated(rows), replay(key))
    return [
        p_value((selection.items for selection in drawn[place :: len(COUNTS)]), items_law(mechanism.law(part)))
        for place, part in enumerate(histograms()[:-1])
    ]


@pytest.mark.statistics
@pytest.mark.parametrize("name", ARRAYS)
def test_every_row_follows_the_law_of_its_own_histogram(name: str) -> None:
    assert min(p_values(ARRAYS[name], ARRAYS[name], ROWS, "rows")) > SIGNIFICANCE


@pytest.mark.long
@pytest.mark.parametrize("name", ONE_BY_ONE)
def test_so_does_a_mechanism_that_releases_them_one_by_one(name: str) -> None:
    assert min(p_values(ONE_BY_ONE[name], ONE_BY_ONE[name], 60, "rows")) > SIGNIFICANCE


@pytest.mark.statistics
@pytest.mark.parametrize("name", TWINS)
def test_a_scale_that_is_a_tenth_off_is_noticed(name: str) -> None:
    assert min(p_values(ARRAYS[name], TWINS[name], 3 * ROWS, "twin")) < SIGNIFICANCE


@pytest.mark.parametrize("name", [*ARRAYS, *ONE_BY_ONE])
def test_an_empty_group_names_nothing_with_certainty(name: str) -> None:
    mechanism = {**ARRAYS, **ONE_BY_ONE}[name]
    table = HistogramTable.from_histograms((place, Histogram.from_counts({}, K_BAR)) for place in range(50))
    assert {len(selection) for selection in mechanism.release_each(table, replay("empty"))} == {0}
    assert sum(chance for selection, chance in mechanism.law(table.histogram(0)).items() if selection.items) < 1e-12


@pytest.mark.parametrize("name", ARRAYS)
def test_decisions_do_not_depend_on_how_many_bits_are_looked_at_first(name: str) -> None:
    table = repeated(20)
    first, again = (ARRAYS[name].release_each(table, replay("bits", first_bits=bits)) for bits in (64, 7))
    assert first == again


PUBLISHED: dict[str, Any] = {
    "Laplace on a grid": LimitedDomainLaplace(2, K_BAR, "0.5", "0.3", 2, counts=True, grid=5),
    "Gauss on a grid": LimitedDomainGauss(2, K_BAR, 3, "0.3", 2, counts=True, grid=5, bottom=1),
}


@pytest.mark.parametrize("name", [*ARRAYS, *ONE_BY_ONE, *PUBLISHED])
def test_a_table_of_one_group_is_released_as_its_histogram_is(name: str) -> None:
    """The same uniforms make the same selection, published counts included, whichever way it is asked for."""
    mechanism = {**ARRAYS, **ONE_BY_ONE, **PUBLISHED}[name]
    for turn, histogram in enumerate(4 * histograms()):
        drawn = mechanism.release_each(HistogramTable.from_histograms([("g", histogram)]), replay(f"one {turn}"))
        assert drawn == [mechanism.release(histogram, replay(f"one {turn}"))]


@pytest.mark.parametrize("public", [False, True])
def test_the_law_of_a_family_is_the_product_of_the_laws_of_its_groups(public: bool) -> None:
    family = dict(zip("xyz", histograms()[:3], strict=True))
    mechanism: Any = ARRAYS["Gumbel"]
    law = InGroups.from_mechanism(mechanism, 2, public=public).law(family)
    assert sum(law.values()) == pytest.approx(1)
    for label, part in family.items():
        alone: dict[Any, float] = {}
        for outcome, chance in law.items():
            found = dict(outcome.groups).get(label)
            key = None if found is None or not found.items else found
            alone[key] = alone.get(key, 0.0) + chance
        own = mechanism.law(part)
        named = {selection: chance for selection, chance in own.items() if selection.items}
        assert alone.pop(None) == pytest.approx(1 - sum(named.values()))
        assert alone == pytest.approx(named)
    together: Any = {label: max(mechanism.law(part), key=lambda one: len(one.items)) for label, part in family.items()}
    chances = [mechanism.law(part)[together[label]] for label, part in family.items()]
    assert law[GroupSelections(tuple(together.items()))] == pytest.approx(np.prod(chances))


@pytest.mark.parametrize("kind", [LimitedDomain, CanonicalBottom, Staircase])
def test_one_group_for_each_user_takes_the_mechanism_of_the_whole_total(kind: Any) -> None:
    """Nothing is searched: ε is spent to its last digit."""
    total = PrivacyTotal(3, Fraction(2, 3), Fraction(1, 10**7))
    assert InGroups.fit_within(kind.fit, total, 1).mechanism == kind.fit(total)


def test_noisy_counts_are_the_keys_that_were_ranked() -> None:
    for mechanism in (
        LimitedDomainGauss(3, K_BAR, "0.01", "0.05", 2, counts=True),
        LimitedDomainLaplace(3, K_BAR, "400", "0.05", 2, counts=True),
    ):
        table = HistogramTable.from_histograms(
            [("g", Histogram.from_counts({"a": 90, "b": 70, "c": 50, "d": 2}, K_BAR))]
        )
        (selection,) = mechanism.release_each(table, replay("counts"))
        assert selection == Selection(("a", "b", "c"), False, (Fraction(90), Fraction(70), Fraction(50)))


def test_sums_are_scaled_by_what_one_user_adds() -> None:
    counts = [{"a": 3 * n, "b": n} for n in range(1, 40)]
    thousands = [{item: 1000 * count for item, count in part.items()} for part in counts]
    plain = HistogramTable.from_histograms(enumerate(histograms(counts)))
    table = HistogramTable.from_histograms(enumerate(histograms(thousands, unit=1000)))
    for name in ("Gumbel", "Gauss", "Restricted Gumbel", "Canonical"):
        drawn = ARRAYS[name].release_each(plain, replay(1))
        assert ARRAYS[name].release_each(table, replay(1)) == drawn, name
        assert {len(selection) for selection in drawn} >= {0, 2}
    with pytest.raises(HistogramError, match="count distinct users"):
        ARRAYS["Laplace"].release_each(table, replay(1))


@pytest.mark.parametrize("name", ARRAYS)
def test_histograms_of_another_width_are_refused(name: str) -> None:
    table = HistogramTable.from_histograms([("g", Histogram.from_counts({"a": 3}, K_BAR + 1))])
    with pytest.raises(HistogramError, match="k_bar"):
        ARRAYS[name].release_each(table, replay(1))


def test_a_table_is_its_histograms() -> None:
    table = repeated(2)
    assert [part.counts for part in table.histograms()] == [part.counts for part in histograms() * 2]
    assert [part.next_count for part in table.histograms()] == [2, 0, 0, 0] * 2
    assert table.histogram(1).items == ("x", Padding(0), Padding(1))
    assert table.rows(2, 5).groups == [2, 3, 0]
    assert table.rows(2, 4).name(0, 1) == "q"
    assert str(table) == "HistogramTable(k_bar=3)"
    with pytest.raises(HistogramError, match="same k_bar"):
        HistogramTable.from_histograms([(1, Histogram.from_counts({}, 2)), (2, Histogram.from_counts({}, 3))])


def test_ranked_rows_become_a_table() -> None:
    rows = [("a", 9), ("b", 5), ("c", 5), ("d", 1), ("x", 2)]
    counts = np.array([count for _, count in rows])
    table = build_ranked_table(["g", "nobody", "h"], np.array([0, 4, 4, 5]), counts, 3, lambda row: rows[row][0])
    assert [part.counts for part in table.histograms()] == [(9, 5, 5), (0, 0, 0), (2, 0, 0)]
    assert [part.next_count for part in table.histograms()] == [1, 0, 0]
    assert [part.items[:1] for part in table.histograms()] == [("a",), (Padding(0),), ("x",)]


def released(public: bool) -> GroupSelections:
    sure = LimitedDomain(1, 1, 50, "0.001")
    tables = [
        HistogramTable.from_histograms(
            [("b", Histogram.from_counts({"x": 90}, 1)), ("é", Histogram.from_counts({"y": 1}, 1))]
        ),
        HistogramTable.from_histograms([("B", Histogram.from_counts({"z": 90}, 1))]),
    ]
    return InGroups.from_mechanism(sure, 1, public=public).release(iter(tables), replay("family"))


def test_of_unknown_groups_exactly_those_with_a_named_item_are_published_in_label_order() -> None:
    assert released(public=False) == GroupSelections((("B", Selection(("z",), False)), ("b", Selection(("x",), False))))


def test_of_public_groups_every_one_is_published() -> None:
    assert [label for label, _ in released(public=True).groups] == ["B", "b", "é"]
    assert released(public=True).groups[-1] == ("é", Selection((), True))


def test_one_user_pays_for_as_many_releases_as_they_have_groups() -> None:
    mechanism = LimitedDomain(4, 8, "0.1", "1e-9", slack="1e-9")
    for many in (1, 2, 7):
        family = InGroups.from_mechanism(mechanism, many)
        assert family.cost().rho == many * mechanism.cost().rho
        assert family.cost().delta == many * mechanism.delta
        assert family.slack == many * mechanism.slack
    assert InGroups.from_mechanism(mechanism, 1).guarantee() == mechanism.guarantee()


@pytest.mark.long
@pytest.mark.parametrize("many", [2, 5])
def test_all_draws_of_one_user_are_composed_at_once(many: int) -> None:
    """As tight as the accountant is for k·c draws, and not c times what it says of k."""
    delta = Fraction(1, 10**8)
    family = InGroups.fit_within(LimitedDomain.fit, PrivacyTotal(5, 1, delta), many)
    mechanism: Any = family.mechanism
    best = per_step_epsilon(5 * many, 1, delta / 2)
    assert Fraction(999, 1000) * best < mechanism.epsilon <= best
    assert mechanism.epsilon > Fraction(11, 10) * per_step_epsilon(5, Fraction(1, many), delta / 2 / many)


@pytest.mark.long
@pytest.mark.parametrize("many", [1, 3])
@pytest.mark.parametrize(
    "kind", [LimitedDomainGauss, LimitedDomainLaplace, RestrictedGumbel, CanonicalBottom, Staircase, FixedThreshold]
)
def test_a_total_is_kept_and_nearly_used_up(kind: Any, many: int) -> None:
    epsilon, delta = Fraction(1), Fraction(1, 10**7)
    family = InGroups.fit_within(kind.fit, PrivacyTotal(3, epsilon, delta, contribution=2), many)
    promise = family.guarantee()
    assert isinstance(promise, ApproxDP)
    assert Fraction(999, 1000) * epsilon < promise.epsilon <= epsilon
    assert delta / 2 < promise.delta <= delta


def test_a_mechanism_without_slack_gets_some_where_that_pays() -> None:
    family = InGroups.fit_within(CanonicalBottom.fit, PrivacyTotal(3, 1, Fraction(1, 10**7)), 20)
    assert family.slack == Fraction(1, 2 * 10**7)
    plain = CanonicalBottom.for_budget(k=3, epsilon=Fraction(1, 20), delta=Fraction(1, 20 * 10**7))
    margin: Callable[..., float] | None = family.mechanism.margin
    assert margin is not None
    assert margin() < plain.margin()


DRAWN = LimitedDomain(3, 6, "0.5", "0.01")


@pytest.mark.parametrize(
    ("lengths", "many", "draws"),
    [([], 1, 1), ([], 3, 3), ([1], 1, 2), ([1, 3, 2], 1, 3), ([1, 3, 2], 2, 6), ([1], 3, 4), ([3, 3, 3, 3], 2, 6)],
)
def test_the_largest_bills_are_charged_and_unnamed_groups_pay_one_draw(
    lengths: list[int], many: int, draws: int
) -> None:
    groups = tuple((place, Selection(tuple("abc"[:size]), size < 3)) for place, size in enumerate(lengths))
    charged = InGroups.from_mechanism(DRAWN, many).settlement_cost(GroupSelections(groups))
    assert charged.number_of_steps == draws
    assert charged.delta == many * DRAWN.delta


def test_where_two_measures_disagree_about_the_largest_bill_nothing_is_given_back() -> None:
    class Odd(LimitedDomain):
        def settlement_cost(self, selection: Selection) -> Any:
            from crestline.guarantees.cost import repeat_step
            from crestline.guarantees.guarantee import BoundedRange, PureDP

            return repeat_step(PureDP(Fraction(1, 2))) if selection.items else repeat_step(BoundedRange(Fraction(3, 5)))

    family = InGroups(Odd(3, 6, "0.5", "0.01"), 1, Fraction(0))
    assert family.settlement_cost(GroupSelections((("g", Selection(("a",), True)),))) == family.cost()


def test_a_law_is_needed_for_the_law_of_a_family() -> None:
    lawless = replace(InGroups.from_mechanism(DRAWN, 1), mechanism=mechanisms.NoisyCounts(DRAWN, 2))
    with pytest.raises(MechanismError, match="does not state its law"):
        lawless.law({"g": Histogram.from_counts({}, 6)})
