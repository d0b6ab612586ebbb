"""Values of sequences: as doubles within the stated error of exact whole numbers, and listed up to the horizon."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import ctx

from crestline.histogram.count_levels import count_levels
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.public_list.joint_values import BEYOND, SequenceValues, log_sequences, sequence_values


def off_by(values: SequenceValues) -> float:
    """How far the worst double lies from its exact number."""
    with ctx.workprec(300):
        return max(abs(float(values.ball(0, column) - values.approx[column])) for column in range(len(values.approx)))


def of(multiplicities: dict[int, int], k: int, rate: Fraction) -> SequenceValues:
    return sequence_values(count_levels(Histogram.from_multiplicities(multiplicities)), k, rate)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("many", [10**6, 10**10, 10**15, 10**18])
def test_few_items_behind_very_many_keep_their_digits(many: int, k: int) -> None:
    """A value of which few sequences are left is the difference of two numbers that are almost equal."""
    values = of({50: many, 3: 1, 0: 7}, k, Fraction(1, 2))
    assert off_by(values) <= values.error <= 1e-11
    (_, one, seven) = values.approx.tolist()
    if k == 1:
        assert one == pytest.approx(-47 / 2, abs=1e-12)
        assert seven == pytest.approx(math.log(7) - 25, abs=1e-12)


@pytest.mark.parametrize("rate", [Fraction(10**9, 3), Fraction(7, 10**5), Fraction(1, 3 * 10**6), Fraction(1, 70)])
def test_the_error_covers_the_product_of_rate_and_value(rate: Fraction) -> None:
    """Two items and one value as far down as values are listed: the product is rounded where it is large."""
    worst = 0.0
    for value in range(int(60 / rate), int(60 / rate) + 40) if rate < 1 else [1]:
        values = of({value: 1, 0: 1}, 1, rate)
        assert not values.has_larger_values
        assert off_by(values) <= values.error
        worst = max(worst, off_by(values) / values.error)
    assert worst >= 1 / 200


def test_the_error_covers_sums_of_thousands_of_logarithms() -> None:
    """Against exact whole numbers; no more than a thousand times what is in fact lost."""
    counts = np.random.default_rng(3).integers(0, 10**6, 300)
    values = of({int(count): 1 for count in counts}, 60, Fraction(1, 10**5))
    columns = np.linspace(0, len(values.approx) - 1, 12).astype(int).tolist()
    with ctx.workprec(200):
        worst = max(abs(float(values.ball(0, column) - values.approx[column])) for column in columns)
    assert worst <= values.error <= 1e4 * worst


def test_values_are_listed_up_to_the_horizon_and_no_further() -> None:
    """A value at the horizon is listed; what lies beyond is one column, and there is none where nothing does."""
    items = count_levels(Histogram.from_multiplicities({9: 1, 7: 2, 5: 1, 2: 1}))
    for horizon in range(9):
        values = SequenceValues(items, 2, Fraction(1, 2), horizon)
        assert values.values.tolist() == [value for value in (0, 2, 4, 5, 7) if value <= horizon]
        assert values.has_larger_values == (horizon < 7)
        assert len(values.approx) == len(values.values) + (horizon < 7)
    tied = count_levels(Histogram.from_multiplicities({9: 4}))
    assert not SequenceValues(tied, 2, Fraction(1, 2), 0).has_larger_values


def test_what_lies_beyond_the_horizon_weighs_next_to_nothing() -> None:
    """Less than e^-BEYOND of the best sequence, and the horizon depends on public numbers alone."""
    for rate in (Fraction(1, 7), Fraction(3)):
        values = of({10**6: 2, 0: 5}, 3, rate)
        assert values.has_larger_values
        assert -float(rate) <= values.approx[-1] + BEYOND <= 0
        assert values.horizon == of({1: 7}, 3, rate).horizon
    assert log_sequences(7, 3) == pytest.approx(math.log(7 * 6 * 5))
