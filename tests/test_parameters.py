"""Exact parameters: the number that is charged is the number that was written."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crestline.errors import ParameterError
from crestline.parameters import decimal_text, exact, not_negative, positive, probability, proportion, whole


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (1, Fraction(1)),
        (0.1, Fraction(1, 10)),
        (1e-8, Fraction(1, 10**8)),
        ("0.1", Fraction(1, 10)),
        ("1e-8", Fraction(1, 10**8)),
        (" 1 / 3 ", Fraction(1, 3)),
        (Decimal("0.30"), Fraction(3, 10)),
        (Fraction(2, 7), Fraction(2, 7)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.int64(3), Fraction(3)),
    ],
)
def test_numbers_are_read_as_written(value: Any, wanted: Fraction) -> None:
    assert exact(value, "epsilon") == wanted


@pytest.mark.parametrize(
    "value",
    [
        *(float("nan"), float("inf"), -float("inf"), Decimal("nan"), Decimal("inf")),
        *("nan", "inf", "one", "", "1/0", "0x1", "1_0", "1e99999"),
        *(True, False, None, [1], 1j),
    ],
)
def test_what_is_no_number_is_refused(value: Any) -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        exact(value, "epsilon")


@pytest.mark.parametrize(
    ("check", "bad"),
    [(positive, 0), (positive, -1), (not_negative, -0.5), (probability, 0), (probability, 1), (proportion, 1.5)],
)
def test_bounds_are_kept(check: Any, bad: Any) -> None:
    with pytest.raises(ParameterError, match="delta"):
        check(bad, "delta")


def test_edges_that_are_legal() -> None:
    assert not_negative(0, "x") == proportion(0, "x") == 0
    assert proportion(1, "x") == 1


@pytest.mark.parametrize("bad", [0, -1, 1.0, "2", True, None])
def test_whole_numbers(bad: Any) -> None:
    with pytest.raises(ParameterError, match="k must be"):
        whole(bad, "k")
    assert whole(np.int64(2), "k") == 2


@given(st.fractions(min_value=0, max_value=10**6), st.sampled_from([0, -400, 400]))
def test_short_text_never_understates(number: Fraction, power: int) -> None:
    exact_number = number * Fraction(10) ** power
    shown = Fraction(decimal_text(exact_number))
    assert exact_number <= shown <= exact_number * Fraction(100011, 100000)


@pytest.mark.parametrize(
    ("number", "wanted"),
    [(Fraction(1), "1"), (Fraction(1, 2), "0.5"), (Fraction(1, 3), "0.333334"), (Fraction(1, 10**8), "1e-08")],
)
def test_short_text_is_exact_where_it_can_be(number: Fraction, wanted: str) -> None:
    assert decimal_text(number) == wanted
