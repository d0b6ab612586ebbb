"""for_budget of the framework's mechanisms: within the total, nearly all of it, and chosen without any data."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, NoReturn

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.mechanisms.conformance import promised_epsilon

from crestline.errors import ParameterError
from crestline.mechanisms.canonical.canonical_bottom import CanonicalBottom
from crestline.mechanisms.framework.canonical import RestrictedCanonical
from crestline.mechanisms.framework.gap_tests.sparse import ExponentialTest
from crestline.mechanisms.framework.gumbel import RestrictedGumbel
from crestline.mechanisms.framework.normal import RestrictedNormal
from crestline.mechanisms.framework.one_shot import RestrictedLaplace, RestrictedPermuteAndFlip
from crestline.mechanisms.framework.split import fit as restricted_budget
from crestline.mechanisms.framework.split.fit import fit_gumbel, fit_normal, fit_pure
from crestline.mechanisms.framework.split.split import Split, largest_mu

KINDS = [RestrictedGumbel, RestrictedNormal, RestrictedPermuteAndFlip, RestrictedLaplace, CanonicalBottom]
NAMES = [kind.__name__ for kind in KINDS]


def assert_within(mechanism: Any, epsilon: Fraction, delta: Fraction) -> None:
    promise = mechanism.guarantee()
    assert epsilon * (1 - Fraction(1, 10**5)) <= promise.epsilon <= epsilon
    assert promise.delta == delta


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
@pytest.mark.parametrize(("k", "epsilon", "delta"), [(1, "1", "1e-6"), (10, "0.1", "1e-8"), (100, "3", "1e-4")])
def test_the_total_is_kept_and_used(kind: Any, k: int, epsilon: str, delta: str) -> None:
    mechanism = kind.for_budget(k=k, epsilon=epsilon, delta=delta)
    assert_within(mechanism, Fraction(epsilon), Fraction(delta))
    assert mechanism.k == k
    assert mechanism.k_bar == (5 if kind is CanonicalBottom else 10) * k


@pytest.mark.parametrize("kind", [*KINDS, RestrictedCanonical], ids=[*NAMES, "RestrictedCanonical"])
def test_as_many_slots_as_the_caller_says(kind: Any) -> None:
    assert kind.for_budget(k=2, k_bar=7, epsilon=1, delta="1e-6").k_bar == 7


@pytest.mark.long
@settings(max_examples=12, deadline=None)
@given(
    kind=st.sampled_from(KINDS),
    k=st.integers(1, 40),
    slots=st.integers(0, 200),
    epsilon=st.fractions(Fraction(1, 50), 5, max_denominator=1000),
    exponent=st.integers(3, 12),
)
def test_any_total_is_kept(kind: Any, k: int, slots: int, epsilon: Fraction, exponent: int) -> None:
    delta = Fraction(1, 10**exponent)
    assert_within(kind.for_budget(k=k, k_bar=k + slots, epsilon=epsilon, delta=delta), epsilon, delta)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_a_larger_total_needs_no_larger_lead(kind: Any) -> None:
    small = kind.for_budget(k=10, epsilon="0.5", delta="1e-6")
    large = kind.for_budget(k=10, epsilon="1", delta="1e-6")
    assert large.margin() < small.margin()


@pytest.mark.long
def test_a_contribution_bound_buys_less_noise() -> None:
    free = RestrictedNormal.for_budget(k=20, epsilon=1, delta="1e-6")
    bound = RestrictedNormal.for_budget(k=20, epsilon=1, delta="1e-6", contribution=4)
    assert bound.sigma < free.sigma / 2
    assert bound.contribution == 4
    assert_within(bound, Fraction(1), Fraction(1, 10**6))


@pytest.mark.long
def test_the_split_is_the_decision_page() -> None:
    """The table of docs/decisions/split-of-the-budget.md."""
    found = {}
    for k, epsilon in ((100, "1"), (50, "0.4"), (100, "0.4")):
        mechanism = RestrictedGumbel.for_budget(k=k, epsilon=epsilon, delta=Fraction(1, 4586))
        test = mechanism.test
        assert isinstance(test, ExponentialTest)
        whole = test.epsilon1 + test.epsilon2
        found[k, epsilon] = (whole / Fraction(epsilon), test.epsilon1 / whole, test.delta * 4586)
    assert {place: tuple(map(float, shares)) for place, shares in found.items()} == {
        (100, "1"): (0.3, 0.8, 0.2),
        (50, "0.4"): (0.35, 0.75, 0.25),
        (100, "0.4"): (0.35, 0.8, 0.15),
    }


SPLITS = [
    Split(Fraction(7, 20), Fraction(3, 4), Fraction(1, 4)),
    Split(Fraction(1, 10), Fraction(1, 2), Fraction(1, 2)),
]


class Seen(Exception):
    """The scale of the choice's noise that splits are compared by: nothing else is wanted."""


def scale_of(parts: Any, *question: Any) -> Callable[[Split], float]:
    with pytest.raises(Seen) as seen:
        parts.__wrapped__(*question)
    scale: Callable[[Split], float] = seen.value.args[0]
    return scale


def seen(*given: Any) -> NoReturn:
    raise Seen(given[5])


@pytest.mark.parametrize("split", SPLITS, ids=["usual", "other"])
@pytest.mark.parametrize("k", [1, 100])
def test_splits_are_compared_by_the_noise_they_leave(k: int, split: Split, monkeypatch: pytest.MonkeyPatch) -> None:
    """One step is what the test leaves of ε; k steps are that over k, or what a Gaussian loss has room for, if more."""
    epsilon, delta = Fraction(1), Fraction(1, 10**12)
    left = float(epsilon * (1 - split.test))
    room = largest_mu(1.0, float(split.slack(delta)), split.exponential_test(epsilon, delta))
    monkeypatch.setattr(restricted_budget, "best_split", seen)
    gumbel = scale_of(fit_gumbel, k, 10 * k, epsilon, delta)(split)
    assert 1 / gumbel == pytest.approx(left if k == 1 else 2 * room / 10)  # μ = ε √k / 2
    assert (2 * room < left) == (2 * room / 10 > left / 100)  # each is the larger one once
    normal = scale_of(fit_normal, k, 10 * k, epsilon, delta, Fraction(9))(split)
    assert normal == pytest.approx(3 / room)
    pure = scale_of(fit_pure, k, 10 * k, epsilon, delta, "laplace")(split)
    assert pure == pytest.approx(k / left)


def test_a_single_slot_has_no_order_and_any_noise_does() -> None:
    mechanism = RestrictedNormal.for_budget(k=1, k_bar=1, epsilon=1, delta="1e-6")
    assert mechanism.sigma > 0
    assert promised_epsilon(mechanism) <= 1


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_bad_totals_are_refused(kind: Any) -> None:
    refused: list[tuple[dict[str, Any], str]] = [
        ({"k": 1, "epsilon": 0, "delta": "1e-6"}, "epsilon must be larger than zero"),
        ({"k": 1, "epsilon": 1, "delta": 0}, "delta must be larger than zero"),
        ({"k": 0, "epsilon": 1, "delta": "1e-6"}, "k must be at least 1"),
        ({"k": 5, "k_bar": 3, "epsilon": 1, "delta": "1e-6"}, "k_bar must be at least k"),
    ]
    for question, words in refused:
        with pytest.raises(ParameterError, match=words):
            kind.for_budget(**question)
