"""Totals of whole releases, and the way back, by every accountant and by Google's where both apply."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest
from dp_accounting.pld import privacy_loss_distribution as google
from hypothesis import given, settings
from hypothesis import strategies as st

from crestline.errors import ParameterError
from crestline.guarantees import accountants
from crestline.guarantees.accountants import (
    ACCOUNTANTS,
    AdaptiveOptimum,
    Basic,
    Renyi,
    ZeroConcentrated,
    per_step_epsilon,
    total,
    total_epsilon,
)
from crestline.guarantees.composition import dong_durfee_rogers, optimal_composition
from crestline.guarantees.cost import Cost, Step, repeat_step
from crestline.guarantees.guarantee import ZCDP, ApproxDP, BoundedRange, GaussianDP, LossInterval, PureDP
from crestline.guarantees.root_finding import largest_within

DELTA = Fraction(1, 10**6)
INTERVAL = 1e-4

kinds = st.sampled_from(["range", "pure", "interval", "gauss"])
sizes = st.integers(1, 30).map(lambda parts: Fraction(parts, 40))
powers = st.integers(2, 10)


def cost_of(kind: str, size: Fraction, times: int) -> Cost:
    made: dict[str, Step] = {
        "range": BoundedRange(size),
        "pure": PureDP(size),
        "interval": LossInterval(size / 3, size),
        "gauss": GaussianDP(size**2),
    }
    return repeat_step(made[kind], times)


def test_a_release_says_its_epsilon_its_delta_and_its_theorems() -> None:
    cost = repeat_step(BoundedRange("0.05"), 50, delta=Fraction(1, 10**8)) + repeat_step(LossInterval("0.09", "0.21"))
    promise = total(cost, DELTA, "framework (P5.1)")
    assert isinstance(promise, ApproxDP)
    assert promise.epsilon == total_epsilon(cost, DELTA) < Fraction(1)
    assert promise.delta == DELTA + Fraction(1, 10**8)
    assert promise.theorem == "framework (P5.1); exact adaptive optimum, certified (B6)"


def test_without_slack_steps_are_added_up() -> None:
    promise = total(repeat_step(BoundedRange("0.05"), 50, delta=DELTA))
    assert (promise.epsilon, promise.delta) == (Fraction("2.5"), DELTA)
    assert "B1" in promise.theorem


def test_gaussian_noise_without_slack_stays_concentrated() -> None:
    promise = total(repeat_step(GaussianDP("0.02"), 3) + repeat_step(PureDP("0.1")))
    assert isinstance(promise, ZCDP)
    assert promise.rho == Fraction("0.035")
    with pytest.raises(ParameterError, match="slack"):
        total_epsilon(repeat_step(GaussianDP("0.02")), 0)


@pytest.mark.long
@given(kinds, sizes, st.integers(1, 30), kinds, sizes, powers)
@settings(max_examples=20)
def test_the_total_is_the_best_accountant_and_never_above_another(
    kind: str, size: Fraction, times: int, other: str, small: Fraction, power: int
) -> None:
    cost, slack = cost_of(kind, size, times) + cost_of(other, small, 1), Fraction(1, 10**power)
    bounds = [bound for accountant in ACCOUNTANTS if (bound := accountant.epsilon(cost, slack)) is not None]
    assert total_epsilon(cost, slack) == min(bounds)


@pytest.mark.long
@given(kinds, sizes, sizes, st.integers(1, 25), st.integers(1, 25), powers, powers)
@settings(max_examples=40)
def test_more_steps_larger_epsilon_or_smaller_delta_never_lower_the_total(
    kind: str, a: Fraction, b: Fraction, k: int, m: int, p: int, q: int
) -> None:
    less = total_epsilon(cost_of(kind, min(a, b), min(k, m)), Fraction(1, 10 ** min(p, q)))
    more = total_epsilon(cost_of(kind, max(a, b), max(k, m)), Fraction(1, 10 ** max(p, q)))
    assert less <= more


IND = [  # TV-S: k, Ind by B4, Ind by B3, for a total of 1 at 1e-6
    (1, 1.0, 1.0),
    (10, 0.13958788016, 0.118216821694),
    (50, 0.0624255977747, 0.0528680289834),
    (100, 0.0441415635061, 0.0373833293453),
    (1000, 0.013958788016, 0.0118216431797),
]


@pytest.mark.parametrize(("k", "by_zcdp", "by_ddr"), IND)
def test_the_printed_per_step_epsilon(k: int, by_zcdp: float, by_ddr: float) -> None:
    ours = per_step_epsilon(k, 1, DELTA, ZeroConcentrated())
    theirs = largest_within(lambda size: dong_durfee_rogers(k, size, DELTA), Fraction(1), start=Fraction(1, k))
    plain = per_step_epsilon(k, 1, DELTA, Basic())
    assert float(max(ours, plain)) == pytest.approx(by_zcdp, rel=2e-9)
    assert float(max(theirs, plain)) == pytest.approx(by_ddr, rel=2e-9)


def test_the_best_accountant_gives_a_quarter_more_than_the_papers() -> None:
    ours = per_step_epsilon(100, 1, DELTA)
    theirs = largest_within(lambda size: dong_durfee_rogers(100, size, DELTA), Fraction(1))
    assert ours >= Fraction(125, 100) * theirs


@pytest.mark.parametrize("accountant", [*ACCOUNTANTS, None])
@pytest.mark.parametrize("k", [1, 7, 60])
def test_what_comes_back_fits_and_a_little_more_does_not(k: int, accountant: AdaptiveOptimum | None) -> None:
    found = per_step_epsilon(k, "0.7", "1e-7", accountant)

    def charged(size: Fraction) -> Fraction:
        cost = repeat_step(BoundedRange(size), k)
        bound = accountant.epsilon(cost, Fraction(1, 10**7)) if accountant else total_epsilon(cost, Fraction(1, 10**7))
        assert bound is not None
        return bound

    assert charged(found) <= Fraction("0.7") < charged(found * Fraction(10_001, 10_000))


def test_an_accountant_that_says_nothing_is_named() -> None:
    with pytest.raises(ParameterError, match="zCDP cannot bound"):
        per_step_epsilon(3, 1, 0, ZeroConcentrated())


# Google's accountant discretises losses to multiples of INTERVAL and rounds pessimistically.


@pytest.mark.parametrize(("epsilon", "times"), [(0.3, 1), (0.1, 20), (0.02, 200)])
def test_google_agrees_on_pure_steps(epsilon: float, times: int) -> None:
    step = google.from_privacy_parameters(
        google.common.DifferentialPrivacyParameters(epsilon, 0), value_discretization_interval=INTERVAL
    )
    theirs = step.self_compose(times).get_epsilon_for_delta(1e-6)
    assert float(total_epsilon(repeat_step(PureDP(epsilon), times), DELTA)) == pytest.approx(theirs, rel=2e-3)


@pytest.mark.parametrize(("sigma", "times"), [(5, 1), (10, 30)])
def test_google_agrees_on_gaussian_steps(sigma: int, times: int) -> None:
    step = google.from_gaussian_mechanism(sigma, value_discretization_interval=INTERVAL)
    theirs = step.self_compose(times).get_epsilon_for_delta(1e-6)
    assert float(total_epsilon(repeat_step(GaussianDP(Fraction(1, sigma**2)), times), DELTA)) == pytest.approx(
        theirs, rel=2e-3
    )


def test_google_agrees_on_pure_and_gaussian_steps_together() -> None:
    pure = google.from_privacy_parameters(
        google.common.DifferentialPrivacyParameters(0.2, 0), value_discretization_interval=INTERVAL
    )
    noise = google.from_gaussian_mechanism(8, value_discretization_interval=INTERVAL)
    theirs = pure.self_compose(4).compose(noise.self_compose(9)).get_epsilon_for_delta(1e-6)
    cost = repeat_step(PureDP("0.2"), 4) + repeat_step(GaussianDP(Fraction(1, 64)), 9)
    assert float(total_epsilon(cost, DELTA)) == pytest.approx(theirs, rel=2e-3)


@pytest.mark.parametrize(("scale", "times"), [(4.0, 1), (10.0, 25)])
def test_google_agrees_on_laplace_noise(scale: float, times: int) -> None:
    """Laplace noise is charged as a pure step: equal without slack, and never less with it."""
    law = google.from_laplace_mechanism(scale, value_discretization_interval=INTERVAL).self_compose(times)
    cost = repeat_step(PureDP(1 / Fraction(str(scale))), times)
    assert float(total_epsilon(cost, 0)) == pytest.approx(law.get_epsilon_for_delta(1e-12), abs=times * INTERVAL)
    theirs = law.get_epsilon_for_delta(1e-6)
    assert theirs <= float(total_epsilon(cost, DELTA)) + times * INTERVAL


def test_renyi_curves_of_single_steps_hold_together() -> None:
    """A range of ε is worse than any of its intervals, and better than ε both ways."""
    slack = Fraction(1, 1000)
    whole = Renyi().epsilon(repeat_step(BoundedRange("0.4"), 20), slack)
    part = Renyi().epsilon(repeat_step(LossInterval("0.1", "0.3"), 20), slack)
    both = Renyi().epsilon(repeat_step(PureDP("0.4"), 20), slack)
    assert part is not None
    assert whole is not None
    assert both is not None
    assert part < whole < both


def test_a_step_that_is_only_concentrated_is_added_by_renyi_and_zcdp() -> None:
    cost = repeat_step(BoundedRange("0.05"), 20) + repeat_step(ZCDP("0.01"))
    as_noise = repeat_step(BoundedRange("0.05"), 20) + repeat_step(GaussianDP("0.02"))
    bounds = {accountant.name: accountant.epsilon(cost, DELTA) for accountant in ACCOUNTANTS}
    assert bounds["basic"] is None
    assert bounds["optimum"] is None
    assert bounds["Rényi"] == Renyi().epsilon(as_noise, DELTA)
    assert total_epsilon(cost, DELTA) == bounds["Rényi"]


def test_pure_steps_of_two_sizes_are_what_they_are_together() -> None:
    """Randomised response of both sizes, enumerated: δ is met at the total, and missed a little below it."""
    cost = repeat_step(PureDP(1)) + repeat_step(PureDP("0.2"), 3)
    found = AdaptiveOptimum().epsilon(cost, Fraction(1, 50))
    assert found is not None

    def delta(total: float) -> float:
        excess = 0.0
        for signs in product((1, -1), repeat=4):
            losses = [sign * size for sign, size in zip(signs, (1.0, 0.2, 0.2, 0.2), strict=True)]
            first = math.prod(1 / (1 + math.exp(-loss)) for loss in losses)
            excess += max(0.0, first * (1 - math.exp(total - sum(losses))))
        return excess

    assert delta(float(found)) <= 1 / 50
    assert delta(0.99 * float(found)) > 1 / 50


def test_one_kind_of_pure_step_is_added_in_closed_form_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[int]()

    def counted(k: int, epsilon: Fraction, delta: Fraction) -> Fraction:
        asked.append(k)
        return optimal_composition(k, epsilon, delta)

    monkeypatch.setattr(accountants, "optimal_composition", counted)
    monkeypatch.setattr(accountants, "_MOST_PURE", 5)
    totals = [AdaptiveOptimum().epsilon(repeat_step(PureDP("0.11"), times), DELTA) for times in (1, 5, 6)]
    assert asked == [1, 5]
    for found, times in zip(totals, (1, 5, 6), strict=True):
        assert found is not None
        assert float(found) == pytest.approx(float(optimal_composition(times, "0.11", DELTA)), rel=1e-4)
