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
from crestline.exact_numbers import (
    decimal_text,
    exact_number,
    non_negative_number,
    positive_number,
    probability,
    proportion,
    whole_number,
)


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
    assert exact_number(value, "epsilon") == wanted


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
        exact_number(value, "epsilon")


@pytest.mark.parametrize(
    ("check", "bad"),
    [
        (positive_number, 0),
        (positive_number, -1),
        (non_negative_number, -0.5),
        (probability, 0),
        (probability, 1),
        (proportion, 1.5),
    ],
)
def test_bounds_are_kept(check: Any, bad: Any) -> None:
    with pytest.raises(ParameterError, match="delta"):
        check(bad, "delta")


def test_edges_that_are_legal() -> None:
    assert non_negative_number(0, "x") == proportion(0, "x") == 0
    assert proportion(1, "x") == 1


@pytest.mark.parametrize("bad", [0, -1, 1.0, "2", True, None])
def test_whole_numbers(bad: Any) -> None:
    with pytest.raises(ParameterError, match="k must be"):
        whole_number(bad, "k")
    assert whole_number(np.int64(2), "k") == 2


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
