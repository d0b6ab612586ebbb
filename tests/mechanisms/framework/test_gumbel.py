"""RestrictedGumbel against its vectors, its law, its lazy form, its neighbours, and its broken twins (P1.6)."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from tests.mechanisms.conformance import (
    VECTORS,
    assert_law,
    follows_its_law,
    is_equivariant,
    items_law,
    notices,
    promised_epsilon,
    stays_within,
)

from crestline.audit.testers.exact import hockey_stick_divergence
from crestline.errors import HistogramError, MechanismError, ParameterError
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.framework.framework import SlotLaw
from crestline.mechanisms.framework.gap_tests.gap_test import GapTest, JointTest
from crestline.mechanisms.framework.gap_tests.sparse import ExponentialTest, LaplaceTest
from crestline.mechanisms.framework.gumbel import RestrictedGumbel
from crestline.mechanisms.selection import Selection
from crestline.randomness.compare import largest_columns
from crestline.randomness.entropy import replay

LAPLACE = LaplaceTest(1, "0.05")
ONE_SIDED = ExponentialTest("0.7", "0.3", "0.05")
TESTS: dict[str, GapTest] = {"TV-5.1": LAPLACE, "TV-5.3": ONE_SIDED, "TV-5.4": LAPLACE}


def from_vector(
    name: str, stretch: Fraction = Fraction(1), *, lazy: bool = False
) -> tuple[RestrictedGumbel, Histogram]:
    given = VECTORS[name]["params"]
    epsilon = Fraction(str(given["eps_step"])) * stretch
    mechanism = RestrictedGumbel(given["k"], given["kbar"], epsilon, TESTS[name], lazy=lazy)
    return mechanism, Histogram.from_counts(given["h"], given["kbar"])


@pytest.mark.parametrize("name", TESTS)
def test_the_law_is_the_vector(name: str) -> None:
    mechanism, histogram = from_vector(name)
    assert_law(mechanism.law(histogram), VECTORS[name]["probabilities"])


class PrintedTest(LaplaceTest):
    """The threshold that was printed, 6.956 at ε_R = 1 and δ_R = 0.05: larger than it must be, so also private."""

    @property
    def threshold_height(self) -> Fraction:
        return Fraction("6.95564460355") * self.epsilon / 2


def test_the_law_with_the_printed_threshold_is_the_vector() -> None:
    mechanism = RestrictedGumbel(2, 3, "0.4", PrintedTest(1, "0.05"))
    histogram = Histogram.from_counts(VECTORS["TV-5.2"]["params"]["h"], 3)
    assert_law(mechanism.law(histogram), VECTORS["TV-5.2"]["probabilities"])
    assert PrintedTest(1, "0.05").threshold_height > LAPLACE.threshold_height


@pytest.mark.statistics
@pytest.mark.parametrize("name", TESTS)
@pytest.mark.parametrize("lazy", [False, True])
def test_the_sampler_follows_the_law(name: str, lazy: bool) -> None:
    """One-shot and lazy are two samplers of one law."""
    follows_its_law(*from_vector(name, lazy=lazy))


@pytest.mark.parametrize("lazy", [False, True])
def test_a_selection_ten_percent_off_is_noticed(lazy: bool) -> None:
    mechanism, histogram = from_vector("TV-5.3")
    for stretch in (Fraction(11, 10), Fraction(9, 10)):
        notices(mechanism, from_vector("TV-5.3", stretch, lazy=lazy)[0], histogram)


@pytest.mark.parametrize("lazy", [False, True])
def test_a_test_ten_percent_off_is_noticed(lazy: bool) -> None:
    mechanism, histogram = from_vector("TV-5.3")
    for test in (ExponentialTest("0.77", "0.3", "0.05"), ExponentialTest("0.7", "0.33", "0.05")):
        notices(mechanism, replace(mechanism, test=test, lazy=lazy), histogram)


def test_the_lazy_law_step_by_step_is_the_law() -> None:
    """Draw, test, stop, as a chain given the threshold's noise, which is integrated out last: the one-shot law."""
    mechanism, histogram = from_vector("TV-5.3")
    counts, slots = np.array(histogram.counts), range(3)
    gaps, height = counts - histogram.next_count - 1, float(ONE_SIDED.threshold(1, replay(0)).scores.approx[0])

    def chain(order: tuple[int, ...], passes: int, z: float) -> float:
        chance, left = 1.0, list(slots)
        for place, slot in enumerate(order):
            weights = {s: np.exp(0.4 * counts[s]) for s in left}
            chance *= weights[slot] / sum(weights.values())  # draw
            left.remove(slot)
            ok = max(0.0, 1 - np.exp(-0.3 * (gaps[slot] - height + z)))  # test
            if place == passes:
                return float(chance * (1 - ok))  # stop
            chance *= ok
        return float(chance)

    law = items_law(mechanism.law(histogram))
    outcomes: dict[tuple[str, ...], float] = {}
    for passes in range(3):
        for order in permutations(slots, min(2, passes + 1)):
            points = sorted({0.0, *(max(0.0, height - gap) for gap in gaps)})
            mass = sum(
                quad(lambda z, o=order, p=passes: 0.7 * np.exp(-0.7 * z) * chain(o, p, z), a, b, epsabs=1e-13)[0]
                for a, b in zip(points, [*points[1:], 60.0], strict=True)
            )
            items = tuple(histogram.items[slot] for slot in order[:passes])
            outcomes[items] = outcomes.get(items, 0.0) + mass
    assert outcomes.keys() == law.keys()
    for items, chance in outcomes.items():
        assert law[items] == pytest.approx(chance, abs=1e-10)


def test_all_or_nothing_with_the_joint_test() -> None:
    mechanism = RestrictedGumbel(2, 3, "0.4", JointTest("0.5", "0.05"))
    histogram = Histogram.from_counts({"a": 14, "b": 9, "c": 2, "d": 1}, 3)
    weights, gaps = np.exp(0.4 * np.array([14, 9, 2])), [12, 7, 0]
    law = items_law(mechanism.law(histogram))
    for i, j in permutations(range(3), 2):
        order = weights[i] / weights.sum() * weights[j] / (weights.sum() - weights[i])
        passing = 1 / (1 + 19 * np.exp(-0.5 * min(gaps[i], gaps[j])))  # P9.3
        assert law[("abc"[i], "abc"[j])] == pytest.approx(order * passing, abs=1e-12)
    follows_its_law(mechanism, histogram)


@pytest.mark.parametrize("lazy", [False, True])
def test_one_bit_at_first_gives_the_same_selections(lazy: bool) -> None:
    mechanism, histogram = from_vector("TV-5.3", lazy=lazy)
    reference = mechanism.release_many(histogram, 100, replay("bits"))
    for bits in (1, 7):
        assert mechanism.release_many(histogram, 100, replay("bits", first_bits=bits)) == reference


def test_permuting_labels_permutes_the_law() -> None:
    mechanism = RestrictedGumbel(2, 3, "0.5", ONE_SIDED)
    renaming = {"a": "d", "b": "a", "c": "b", "d": "c"}
    is_equivariant(mechanism, lambda c: Histogram.from_counts(c, 3), {"a": 9, "b": 5, "c": 3, "d": 1}, renaming)


@pytest.mark.parametrize(
    "test", [LaplaceTest("0.6", "0.2"), ExponentialTest("0.4", "0.3", "0.2"), JointTest("0.6", "0.2")], ids=repr
)
@pytest.mark.parametrize(("k", "k_bar"), [(1, 2), (2, 2), (2, 3)])
def test_neighbours_stay_within_the_promise(test: GapTest, k: int, k_bar: int) -> None:
    mechanism = RestrictedGumbel(k, k_bar, "0.5", test)
    stays_within(mechanism, lambda counts: Histogram.from_counts(counts, k_bar))


@pytest.mark.long
def test_neighbours_stay_within_the_promise_with_slack() -> None:
    mechanism = RestrictedGumbel(2, 3, "0.5", ExponentialTest("0.4", "0.3", "0.1"), slack="0.02")
    assert promised_epsilon(mechanism) < float(mechanism.cost().epsilon or 0)
    stays_within(mechanism, lambda counts: Histogram.from_counts(counts, 3))


@pytest.mark.parametrize("k_bar", [2, 4])
def test_neighbours_in_a_public_list_stay_within_the_promise(k_bar: int) -> None:
    mechanism = RestrictedGumbel(2, k_bar, "0.5", ExponentialTest("0.4", "0.3", "0.1"))
    stays_within(mechanism, lambda counts: Histogram.over_domain(counts, k_bar))


def test_the_promise_is_nearly_needed() -> None:
    """Some pair needs almost the whole δ: a test that let unstable items pass more often would be noticed."""
    mechanism = RestrictedGumbel(1, 1, "0.5", ExponentialTest("0.4", "0.3", "0.1"))
    first = mechanism.law(Histogram.from_counts({"a": 3, "b": 4}, 1))
    second = mechanism.law(Histogram.from_counts({"a": 3, "b": 3}, 1))
    assert 0.099 < hockey_stick_divergence(first, second, promised_epsilon(mechanism)) <= 0.1


class Alphabetical(RestrictedGumbel):
    """P1.6 b as a program: the chosen set is tested in the order of its labels."""

    def law(self, histogram: Histogram) -> Any:
        twin = _Sorted(self.k, self.k_bar, self.epsilon, self.test)
        twin.by = [histogram.name(slot) for slot in range(histogram.k_bar)]
        return twin.law(histogram)


class _Sorted(RestrictedGumbel):
    by: list[str]
    __setattr__ = object.__setattr__  # a twin need not be frozen

    def slot_law(self, view: Histogram) -> SlotLaw:
        given = super().slot_law(view)
        orders = np.array([sorted(order, key=lambda slot: self.by[slot]) for order in given.orders.tolist()])
        return replace(given, orders=orders)


class ByTrueCount(RestrictedGumbel):
    """P1.6 e as a program: the chosen set is tested in the order of the true counts."""

    def slot_law(self, view: Histogram) -> SlotLaw:
        given = super().slot_law(view)
        return replace(given, orders=np.sort(given.orders, axis=1))  # slots are numbered by rank


CLOSE_CALL = LaplaceTest(1, "1e-3")
BROKEN = [
    (Alphabetical, {"b": 100, "c": 6, "a": 6}, {"b": 100, "c": 6, "a": 5}, 0.99),
    (ByTrueCount, {"a": 18, "b": 19}, {"a": 18, "b": 18}, 0.18),
]


@pytest.mark.parametrize(("twin", "more", "less", "at_least"), BROKEN, ids=lambda case: getattr(case, "__name__", ""))
def test_a_test_order_that_is_not_the_noisy_one_is_caught(
    twin: type[RestrictedGumbel], more: dict[str, int], less: dict[str, int], at_least: float
) -> None:
    """k = k_bar = 2: the choice is everything there is, and costs nothing; only the order and the test count."""

    def needed(kind: type[RestrictedGumbel]) -> float:
        mechanism = kind(2, 2, "1e-6", CLOSE_CALL)
        first, second = (mechanism.law(Histogram.from_counts(counts, 2)) for counts in (more, less))
        epsilon = promised_epsilon(mechanism)
        return max(hockey_stick_divergence(first, second, epsilon), hockey_stick_divergence(second, first, epsilon))

    assert needed(twin) > at_least
    assert needed(RestrictedGumbel) <= 1e-3


def test_a_missing_padding_is_caught() -> None:
    """P1.6 c: {a: 14, u: 1} against {a: 14}."""
    mechanism = RestrictedGumbel(2, 2, "0.4", LAPLACE)

    def needed(law_of: Any) -> float:
        first, second = (law_of(Histogram.from_counts(counts, 2)) for counts in ({"a": 14, "u": 1}, {"a": 14}))
        epsilon = promised_epsilon(mechanism)
        return max(hockey_stick_divergence(first, second, epsilon), hockey_stick_divergence(second, first, epsilon))

    assert needed(mechanism.law) <= 0.05
    assert needed(lambda histogram: unpadded_law(mechanism, histogram)) > 0.9
    with pytest.raises(HistogramError, match="padding"):
        mechanism.release(Histogram.from_counts({"a": 14}, 2, pad=False), replay(0))


def unpadded_law(mechanism: RestrictedGumbel, histogram: Histogram) -> Any:
    """P1.6 c as a program: no empty slots; as many items are wanted as there are rows."""
    rows = [item for item in histogram.items if isinstance(item, str)]
    raw = Histogram(rows, histogram.array[: len(rows)].copy(), histogram.next_count)
    return RestrictedGumbel(min(mechanism.k, len(rows)), len(rows), mechanism.epsilon, mechanism.test).law(raw)


def test_lazy_charges_only_what_was_drawn() -> None:
    eager = RestrictedGumbel(5, 10, "0.1", ONE_SIDED)
    lazy = RestrictedGumbel(5, 10, "0.1", ONE_SIDED, lazy=True)
    stopped, full = Selection(("a", "b"), True), Selection(tuple("abcde"), False)
    assert eager.cost() == lazy.cost() == eager.settlement_cost(stopped) == lazy.settlement_cost(full)
    assert lazy.settlement_cost(stopped).number_of_steps == 3 + 1  # two items, the one that failed, and the test
    assert lazy.settlement_cost(Selection((), True)).number_of_steps == 1 + 1
    assert lazy.settlement_cost(stopped).delta == lazy.test.delta
    assert lazy.settlement_cost(stopped).steps[-1] == lazy.cost().steps[-1]
    assert eager.guarantee() == lazy.guarantee()


@pytest.mark.parametrize("lazy", [False, True])
def test_an_empty_histogram_is_a_stop(lazy: bool) -> None:
    mechanism = RestrictedGumbel(2, 3, 1, LAPLACE, lazy=lazy)
    assert set(mechanism.release_many(Histogram.from_counts({}, 3), 50, replay("empty"))) == {Selection((), True)}


@pytest.mark.parametrize("lazy", [False, True])
def test_nothing_is_tested_when_nothing_was_left_out(lazy: bool) -> None:
    mechanism = RestrictedGumbel(2, 2, 1, ExponentialTest("0.7", "0.3", "1e-12"), lazy=lazy)
    domain = Histogram.over_domain({"a": 1, "b": 0})
    assert {frozenset(s.items) for s in mechanism.release_many(domain, 50, replay("all"))} == {frozenset("ab")}
    assert sum(mechanism.law(domain).values()) == pytest.approx(1, abs=1e-12)
    small = Histogram.over_domain({"a": 3})
    assert mechanism.release(small, replay(0)) == Selection(("a",), True)


def test_a_step_scales_counts_away() -> None:
    """Counts in hundredths with a step of 100 are the same data."""
    mechanism = RestrictedGumbel(2, 3, "0.4", ONE_SIDED)
    counts = {"a": 14, "b": 9, "c": 2, "d": 1}
    plain = items_law(mechanism.law(Histogram.from_counts(counts, 3)))
    scaled = Histogram.from_counts({label: 100 * count for label, count in counts.items()}, 3, unit=100)
    for items, chance in items_law(mechanism.law(scaled)).items():
        assert chance == pytest.approx(plain[items], abs=1e-12)
    follows_its_law(mechanism, scaled, trials=50_000)


def test_no_more_keys_are_ranked_than_may_have_been_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """When lazy: of the first item one, of the second two, and so on; those drawn before are passed over."""
    asked: list[int] = []

    def noted(table: Any, many: int) -> Any:
        asked.append(many)
        return largest_columns(table, many)

    monkeypatch.setattr("crestline.mechanisms.framework.gumbel.largest_columns", noted)
    counts = dict.fromkeys("abcde", 1000)
    mechanism = RestrictedGumbel(4, 5, "0.4", ONE_SIDED, lazy=True)
    drawn = mechanism.release_many(Histogram.from_counts(counts, 5), 20, replay("lazy"))
    assert all(len(selection) == 4 for selection in drawn)
    assert asked == [1, 2, 3, 4]


def test_the_margin_is_the_chance_to_pass() -> None:
    mechanism = RestrictedGumbel(1, 1, 1, ExponentialTest("0.7", "0.3", "0.01"))
    lead = round(mechanism.margin(0.95))
    law = items_law(mechanism.law(Histogram.from_counts({"a": lead}, 1)))
    assert law[("a",)] == pytest.approx(0.95, abs=0.02)
    assert mechanism.margin_for_all(0.95) == pytest.approx(mechanism.margin(0.95), abs=1.5)
    assert RestrictedGumbel(9, 9, 1, ONE_SIDED).margin_for_all() > RestrictedGumbel(3, 9, 1, ONE_SIDED).margin_for_all()


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: RestrictedGumbel(3, 2, 1, LAPLACE), ParameterError, "k_bar must be at least k"),
        (lambda: RestrictedGumbel(1, 2, 0, LAPLACE), ParameterError, "epsilon must be larger than zero"),
        (lambda: RestrictedGumbel(1, 2, 1, LAPLACE, slack=-1), ParameterError, "slack must not be negative"),
        (lambda: RestrictedGumbel(1, 2, 1, JointTest(1, "0.1"), lazy=True), ParameterError, "one item at a time"),
        (lambda: RestrictedGumbel(1, 2, 1, "laplace"), MechanismError, "LaplaceTest"),  # type: ignore[arg-type] # wrong
    ],
)
def test_bad_parameters_are_refused(make: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make()


def test_a_histogram_of_the_wrong_shape_is_refused() -> None:
    with pytest.raises(HistogramError, match="same k_bar"):
        RestrictedGumbel(1, 2, 1, LAPLACE).release(Histogram.from_counts({"a": 1}, 3), replay(0))
