"""P10.3: every theorem against the printed table, against each other and against brute force."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crestline.errors import ParameterError
from crestline.guarantees import composition
from crestline.guarantees.root_finding import smallest_fitting
from crestline.guarantees.rounding import ball

DELTA = Fraction(1, 10**6)

# k, ε, then B1, B2, B3, min(B1, B4), min(B1, B5), B6 (an estimate from below, error of order 1e-3)
TABLE = """
1 0.01 0.01000 0.02633 0.02630 0.01000 0.00980 0.00980
1 0.1 0.10000 0.26783 0.26408 0.10000 0.09938 0.09938
1 0.5 0.50000 1.43913 1.34527 0.50000 0.49875 0.49875
1 1 1.00000 3.12826 2.75156 1.00000 0.99841 0.99841
10 0.01 0.10000 0.08361 0.08324 0.06052 0.05738 0.05485
10 0.1 1.00000 0.88113 0.84363 0.70021 0.65216 0.63412
10 0.5 5.00000 5.40565 4.46707 4.01028 3.63234 3.57938
10 1 10.00000 13.31129 9.54431 8.84589 7.76963 7.71513
100 0.01 1.00000 0.26783 0.26408 0.20590 0.20475 0.18929
100 0.1 10.0000 3.12826 2.75324 2.41909 2.40020 2.25077
100 0.5 50.0000 25.6413 16.2555 15.3275 15.0955 14.3394
100 1 100.000 76.2826 38.6128 37.4218 36.3630 34.8583
1000 0.01 10.0000 0.88113 0.84363 0.70021 0.69976 0.64805
1000 0.1 100.000 13.3113 9.56112 8.84589 8.83576 8.30294
1000 0.5 500.000 166.556 72.6985 71.1148 70.7442 67.7434
1000 1 1000.00 583.113 206.414 205.857 202.618 196.386
"""
ROWS = [tuple(line.split()) for line in TABLE.split("\n") if line]
THEOREMS = [
    composition.advanced_composition,
    composition.optimal_composition,
    composition.bounded_range,
    composition.dong_durfee_rogers,
    composition.zero_concentrated,
    composition.renyi_bounded_range,
]

counts = st.integers(min_value=1, max_value=40)
sizes = st.integers(min_value=1, max_value=1000).map(lambda parts: Fraction(parts, 500))
deltas = st.integers(min_value=2, max_value=12).map(lambda power: Fraction(1, 10**power))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"k={row[0]},epsilon={row[1]}")
def test_the_printed_table(row: tuple[str, ...]) -> None:
    k, epsilon = int(row[0]), row[1]
    plain = composition.basic_composition(k, epsilon)
    found = (
        plain,
        composition.bounded_range(k, epsilon, DELTA),
        composition.dong_durfee_rogers(k, epsilon, DELTA),
        min(plain, composition.zero_concentrated(k, epsilon, DELTA)),
        min(plain, composition.renyi_bounded_range(k, epsilon, DELTA)),
    )
    for value, printed in zip(found, row[2:7], strict=True):
        assert f"{float(value):.{len(printed.split('.')[1])}f}" == printed


@pytest.mark.parametrize(
    ("k", "epsilon", "by_ddr", "by_zcdp"),
    [  # TV-S
        (10, "0.1", 0.843627332409, 0.700205104601),
        (100, "0.1", 2.75324352762, 2.41909317687),
        (100, "0.01", 0.264076086752, 0.205902235999),
        (1000, "0.01", 0.843629050773, 0.700205104601),
    ],
)
def test_the_printed_scalars(k: int, epsilon: str, by_ddr: float, by_zcdp: float) -> None:
    assert float(composition.dong_durfee_rogers(k, epsilon, DELTA)) == pytest.approx(by_ddr, rel=5e-12)
    assert float(composition.zero_concentrated(k, epsilon, DELTA)) == pytest.approx(by_zcdp, rel=5e-12)


@pytest.mark.long
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"k={row[0]},epsilon={row[1]}")
def test_the_certified_optimum_is_within_one_percent_and_never_below(row: tuple[str, ...]) -> None:
    found = float(composition.adaptive_optimum(int(row[0]), row[1], DELTA))
    rounding = 0.5 * 10.0 ** -len(row[7].split(".")[1])
    assert float(row[7]) - rounding <= found <= 1.01 * float(row[7])


@pytest.mark.parametrize("theorem", THEOREMS)
@given(counts, counts, sizes, sizes, deltas, deltas)
@settings(max_examples=30)
def test_more_of_anything_never_lowers_the_total(
    theorem: composition.Theorem, k: int, m: int, a: Fraction, b: Fraction, d: Fraction, e: Fraction
) -> None:
    assert theorem(min(k, m), min(a, b), max(d, e)) <= theorem(max(k, m), max(a, b), min(d, e))


@given(counts, sizes, deltas)
@settings(max_examples=40)
def test_the_optimal_bound_for_pure_steps_is_below_the_others(k: int, epsilon: Fraction, delta: Fraction) -> None:
    best = composition.optimal_composition(k, epsilon, delta)
    assert best <= min(composition.basic_composition(k, epsilon), composition.advanced_composition(k, epsilon, delta))
    assert best <= composition.zero_concentrated(k, 2 * epsilon, delta)  # ε-DP is 2ε-bounded range


@pytest.mark.parametrize("k", [1, 2, 5, 9])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
@pytest.mark.parametrize("delta", ["0.3", "0.01", "1e-6"])
def test_the_optimal_bound_is_randomised_response_enumerated(k: int, epsilon: float, delta: str) -> None:
    def excess(total: Fraction) -> float:
        high = math.exp(epsilon) / (1 + math.exp(epsilon))
        return sum(
            max(0.0, high**up * (1 - high) ** (k - up) - math.exp(total) * high ** (k - up) * (1 - high) ** up)
            for up in map(sum, itertools.product((0, 1), repeat=k))
        )

    brute = smallest_fitting(lambda total: excess(total) <= float(delta))
    assert float(composition.optimal_composition(k, epsilon, delta)) == pytest.approx(float(brute), abs=1e-8)


def test_a_mean_loss_too_small_for_doubles() -> None:
    tiny = composition.dong_durfee_rogers(1, "1e-20", "0.5")
    series = 1e-40 / 8 + 1e-20 * math.sqrt(math.log(2) / 2)
    assert float(tiny) == pytest.approx(series, rel=1e-12)


@pytest.mark.parametrize("theorem", [*THEOREMS, composition.adaptive_optimum])
def test_no_steps_or_no_loss_cost_nothing(theorem: composition.Theorem) -> None:
    assert theorem(3, 0, DELTA) == 0
    assert theorem(0, 1, DELTA) == 0


@pytest.mark.parametrize("arguments", [(-1, 1, "1e-6"), (1, -1, "1e-6"), (1, 1, 0), (1, 1, 1), (1.5, 1, "1e-6")])
def test_numbers_out_of_range_are_refused(arguments: tuple[int, int, str]) -> None:
    with pytest.raises(ParameterError):
        composition.bounded_range(*arguments)


@pytest.mark.parametrize("theorem", [*THEOREMS, composition.adaptive_optimum])
def test_fewer_than_no_steps_are_refused_by_every_theorem(theorem: composition.Theorem) -> None:
    with pytest.raises(ParameterError, match=r"^k must"):
        theorem(-1, 1, DELTA)
    with pytest.raises(ParameterError, match=r"^k must"):
        composition.basic_composition(-1, 1)


@pytest.mark.parametrize(("k", "epsilon"), [(7, "1"), (40, "0.3"), (500, "0.01")])
def test_losses_below_the_total_are_not_looked_at(k: int, epsilon: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They only lower the quotient: one ball is made for each loss that is looked at, after two for the arguments."""
    made = list[Fraction]()

    def counted(number: Fraction) -> object:
        made.append(Fraction(number))
        return ball(number)

    monkeypatch.setattr(composition, "ball", counted)
    found = composition.optimal_composition(k, epsilon, DELTA)
    above = sum(1 for fewer in range(k + 1) if (k - 2 * fewer) * Fraction(epsilon) >= found)
    assert len(made) - 2 <= above + 1


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"k={row[0]},epsilon={row[1]}")
def test_advanced_composition_is_its_formula(row: tuple[str, ...]) -> None:
    """Dwork, Rothblum & Vadhan: kε(e^ε - 1) + ε√(2k ln(1/δ))."""
    k, epsilon = int(row[0]), float(row[1])
    wanted = k * epsilon * math.expm1(epsilon) + epsilon * math.sqrt(2 * k * math.log(1e6))
    assert float(composition.advanced_composition(k, row[1], DELTA)) == pytest.approx(wanted, rel=1e-12)


def test_adding_no_steps_costs_nothing() -> None:
    assert composition.basic_composition(0, 1) == 0
