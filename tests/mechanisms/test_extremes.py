"""Extreme but legal numbers either work, or are refused in a sentence; no raw error and no endless search."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

import crestline as cl
from crestline.errors import CrestlineError, ParameterError
from crestline.exact_numbers import LARGEST_CONTRIBUTION, LARGEST_K, LARGEST_K_BAR
from crestline.guarantees.cost import repeat_step
from crestline.guarantees.guarantee import BoundedRange
from crestline.guarantees.optimum.optimum import adaptive_epsilon
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.catalogue import CATALOGUE
from crestline.mechanisms.mechanism import BuiltIn
from crestline.question import Question

MADE = [line for line in CATALOGUE if hasattr(line.load(), "for_budget") and line.name != "Restricted"]
# The gate takes those of one parity: every two of the three are there with both ends of each.
CORNERS = [
    pytest.param(epsilon, delta, k, marks=pytest.mark.full if (one + two + three) % 2 else ())
    for one, epsilon in enumerate(("1e-6", "1e6"))
    for two, delta in enumerate(("1e-300", "0.999"))
    for three, k in enumerate((1, LARGEST_K))
]
TABLE = pa.table({"user": ["u1", "u2"], "item": ["a", "b"]})


@pytest.mark.long
@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(("epsilon", "delta", "k"), CORNERS)
@pytest.mark.parametrize("line", MADE, ids=lambda line: line.name)
def test_every_mechanism_takes_extreme_budgets_or_says_why_not(line: Any, epsilon: str, delta: str, k: int) -> None:
    try:
        made = line.load().for_budget(k=k, epsilon=epsilon, delta=delta)
        promise = made.guarantee()
    except CrestlineError as error:
        said = str(error)
    else:
        said = ""
    if said:
        assert len(said) > 20
        return
    assert promise.epsilon <= Fraction(epsilon)
    assert promise.delta <= Fraction(delta)


@pytest.mark.parametrize("k", [LARGEST_K + 1, 10**30, "5", 2.5])
@pytest.mark.parametrize("mechanism", ["auto", *(line.name for line in MADE)])
def test_too_many_items_are_refused_at_once(mechanism: str, k: Any) -> None:
    with pytest.raises(ParameterError, match=r"k must be (at most 100,000|a whole number)"):
        cl.top_k(TABLE, k=k, epsilon=1, delta="1e-6", mechanism=mechanism)


@pytest.mark.parametrize("contribution", [2**63, 10**30, "5", 0, True])
def test_a_contribution_that_is_no_usable_number_is_refused(contribution: Any) -> None:
    given = cl.mechanisms.LimitedDomainGauss(1, 9, 5, "1e-6", contribution=5)
    for question in ({"epsilon": 1, "delta": "1e-6"}, {"mechanism": given}):
        with pytest.raises(ParameterError, match="contribution must be"):
            cl.top_k(TABLE, k=1, contribution=contribution, **question)  # type: ignore[arg-type] # a table of calls
    with pytest.raises(ParameterError, match="contribution must be"):
        cl.mechanisms.LimitedDomainGauss(1, 9, 5, "1e-6", contribution=contribution)


def test_the_largest_numbers_work() -> None:
    answer = cl.top_k(TABLE, k=1, epsilon=1, delta="1e-6", contribution=LARGEST_CONTRIBUTION)
    assert set(answer.items) <= {"a", "b"}
    assert Question(k=LARGEST_K, k_bar=LARGEST_K_BAR).k == LARGEST_K
    for k, k_bar in ((LARGEST_K + 1, LARGEST_K_BAR), (1, LARGEST_K_BAR + 1)):
        with pytest.raises(ParameterError, match="must be at most"):
            Question(k=k, k_bar=k_bar)
        with pytest.raises(ParameterError, match="must be at most"):
            cl.mechanisms.LimitedDomain(k, k_bar, 1, "1e-6")
    with pytest.raises(ParameterError, match="k_bar must be at most"):
        cl.top_k(TABLE, k=1, k_bar=LARGEST_K_BAR + 1, epsilon=1, delta="1e-6")


def test_a_large_failure_probability_leaves_both_parts_some_epsilon() -> None:
    made = cl.mechanisms.RestrictedCanonical.for_budget(k=3, epsilon=1, delta="0.999")
    assert made.guarantee().epsilon == 1
    assert 0 < made.epsilon < 1


def test_steps_that_no_float_holds_are_left_to_other_accountants() -> None:
    cost = repeat_step(BoundedRange(Fraction(10**6)), 1)
    assert adaptive_epsilon(cost.steps, Fraction(1, 10**6)) is None


COUNTED: dict[str, Callable[[int], BuiltIn]] = {
    "noisy counts": lambda scale: cl.mechanisms.NoisyCounts(cl.mechanisms.LimitedDomain(1, 9, 10, "0.9"), scale),
    "laplace": lambda scale: cl.mechanisms.LimitedDomainLaplace(1, 9, Fraction(1, scale), "0.9", 1, counts=True),
    "gauss": lambda scale: cl.mechanisms.LimitedDomainGauss(1, 9, scale, "0.9", 1, counts=True),
}


@pytest.mark.parametrize("name", COUNTED)
def test_noise_beyond_64_bits_is_published_as_it_is(name: str) -> None:
    """The same randomness with noise 2^70 times as large gives counts 2^70 times as large: none wraps, none is cut."""
    histogram = Histogram.from_counts({f"item {n}": 100 - n for n in range(12)}, 9)

    def scaled(power: int) -> list[float]:
        drawn = COUNTED[name](2**power).release_many(histogram, 50, cl.entropy.replay("wide"))
        return [float(count / 2**power) for selection in drawn for count in selection.counts or ()]

    usual, wide = scaled(30), scaled(100)
    assert len(usual) > 10
    assert wide == pytest.approx(usual, abs=1e-6)


def test_a_grid_beyond_64_bits_prints_a_multiple_of_it() -> None:
    mechanism = cl.mechanisms.NoisyCounts(cl.mechanisms.LimitedDomain(1, 9, 10, "0.9"), 5, grid=2**70)
    for selection in mechanism.release_many(Histogram.from_counts({"a": 900}, 9), 20, cl.entropy.replay("grid")):
        assert all(count % 2**70 == 0 for count in selection.counts or ())
