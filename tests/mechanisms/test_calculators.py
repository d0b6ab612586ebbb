"""What mechanisms say of themselves, in users, and what they choose when nobody says: against formulas and laws."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from crestline.errors import MechanismError, ParameterError
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.canonical.canonical import Canonical
from crestline.mechanisms.canonical.canonical_bottom import CanonicalBottom
from crestline.mechanisms.canonical.staircase import Staircase
from crestline.mechanisms.catalogue import CATALOGUE, entry
from crestline.mechanisms.framework.canonical import RestrictedCanonical
from crestline.mechanisms.framework.gap_tests.sparse import ExponentialTest
from crestline.mechanisms.framework.gumbel import RestrictedGumbel
from crestline.mechanisms.framework.normal import RestrictedNormal
from crestline.mechanisms.framework.one_shot import RestrictedLaplace
from crestline.mechanisms.limited_domain.fixed_threshold import FixedThreshold
from crestline.mechanisms.limited_domain.gauss import LimitedDomainGauss
from crestline.mechanisms.limited_domain.gumbel import LimitedDomain
from crestline.mechanisms.limited_domain.laplace import LimitedDomainLaplace
from crestline.mechanisms.limited_domain.optimal_threshold import OptimalThreshold
from crestline.mechanisms.noisy_counts import NoisyCounts
from crestline.mechanisms.numerics.order_law import order_chances
from crestline.mechanisms.public_list.joint_exponential import JointExponential
from crestline.mechanisms.public_list.lipschitz import Lipschitz
from crestline.mechanisms.public_list.noises import NOISES, winning_margin
from crestline.mechanisms.stability.first_stable import FirstStable
from crestline.mechanisms.stability.stable_answers import StableAnswers
from crestline.mechanisms.stability.top_stable import TopStable
from crestline.randomness.laws import LAWS, Law

TEST = ExponentialTest("0.7", "0.3", "1e-3")
MADE: list[Any] = [
    LimitedDomain(2, 9, "0.5", "1e-3"),
    OptimalThreshold(2, 9, "0.5", "1e-3"),
    LimitedDomainGauss(2, 9, 4, "1e-3"),
    LimitedDomainLaplace(2, 9, "0.5", "1e-3", 3),
    FixedThreshold(2, "0.5", "1e-3"),
    TopStable(2, 9, "0.5", "1e-3"),
    CanonicalBottom(2, 9, "0.5", "1e-3"),
    Staircase(2, 9, "0.5", "1e-3"),
    RestrictedGumbel(2, 9, "0.5", TEST),
    RestrictedCanonical(2, 9, "0.5", "0.4", TEST),
    Lipschitz(2, "0.5"),
    FirstStable(2, "0.5", "1e-3"),
    StableAnswers(2, 1, "0.5", "1e-3"),
    NoisyCounts(LimitedDomain(2, 9, "0.5", "1e-3"), 3),
    NoisyCounts(LimitedDomain(2, 9, "0.5", "1e-3"), 3, "laplace"),
]


@pytest.mark.parametrize("mechanism", MADE, ids=lambda one: type(one).__name__)
def test_chances_are_ninety_five_percent_unless_asked(mechanism: Any) -> None:
    for name, chance in (("margin", 0.95), ("spread", 0.95), ("margin_for_all", 0.95)):
        if getattr(mechanism, name, None) is not None:
            assert getattr(mechanism, name)() == getattr(mechanism, name)(chance)
            assert getattr(mechanism, name)() != getattr(mechanism, name)(chance * 1.01)
    if isinstance(mechanism, LimitedDomain | OptimalThreshold | RestrictedCanonical):
        assert mechanism.shortfall() == mechanism.shortfall(0.05) < mechanism.shortfall(0.04)


def test_nothing_is_computed_that_was_not_asked_for() -> None:
    """No slack, no coarser grid, every item ranked and seen, unless the caller says so."""
    made: list[Any] = [*MADE, JointExponential(3, 1), LimitedDomainGauss(2, 9, 4, "1e-3", 3, counts=True)]
    for mechanism in made:
        assert getattr(mechanism, "slack", 0) == 0
        assert getattr(mechanism, "grid", 1) == 1
    assert (MADE[0].strict, MADE[0].sharp) == (False, False)
    assert not MADE[2].counts
    assert not MADE[3].counts
    for kind in (LimitedDomainGauss, LimitedDomainLaplace):
        assert not kind.for_budget(k=3, epsilon=1, delta="1e-6", contribution=2).counts
    plain = Lipschitz(2, 1)
    assert (plain.ordered, plain.monotone) == (True, True)


@pytest.mark.parametrize(
    "mechanism",
    [*MADE, Canonical(2, 1), RestrictedNormal(2, 9, 4, TEST), RestrictedLaplace(2, 9, 1, TEST)],
    ids=lambda one: type(one).__name__,
)
def test_unless_asked_nothing_is_added_to_delta(mechanism: Any) -> None:
    """No slack for an accountant: the promise has the δ of its parts alone."""
    assert mechanism.guarantee().delta == mechanism.cost().delta


@pytest.mark.parametrize(
    ("module", "limit", "law", "outcomes"),
    [
        (
            "mechanisms.limited_domain.additive_law",
            "_MOST_OUTCOMES",
            LimitedDomainLaplace(2, 4, 1, "1e-3", 3).law,
            1 + 4 + 12,
        ),
        ("mechanisms.canonical.canonical_bottom", "_MOST_OUTCOMES", CanonicalBottom(2, 4, 1, "1e-3").law, 6),
        ("mechanisms.canonical.staircase", "_MOST_OUTCOMES", Staircase(2, 4, 1, "1e-3").law, 6 + 4),
        ("mechanisms.canonical.law", "_MOST_SUBSETS", Canonical(2, 1).law, 6),
        ("mechanisms.limited_domain.fixed_threshold", "_MOST_ITEMS", FixedThreshold(4, 1, "1e-3").law, 4),
        ("histogram.count_levels", "_MOST_LISTED", Canonical(2, 1).law, 4),
    ],
    ids=lambda case: case if isinstance(case, str) and not case.startswith("_") else "",
)
def test_a_law_is_written_down_up_to_the_limit(
    module: str, limit: str, law: Any, outcomes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four items: as many outcomes as are allowed, and one more than that."""
    known = module in ("mechanisms.canonical.law", "histogram.count_levels")
    counts = {"a": 9, "b": 7, "c": 5, "d": 4}
    histogram = Histogram.over_domain(counts) if known else Histogram.from_counts(counts, 4)
    monkeypatch.setattr(f"crestline.{module}.{limit}", outcomes)
    assert sum(law(histogram).values()) == pytest.approx(1)
    monkeypatch.setattr(f"crestline.{module}.{limit}", outcomes - 1)
    with pytest.raises(ParameterError, match="small histograms only"):
        law(histogram)


def log_subsets(items: int, k: int) -> float:
    return math.log(math.comb(items, k))


@pytest.mark.parametrize("monotone", [True, False])
def test_canonical_mistakes_have_the_bounds_of_the_note(monotone: bool) -> None:
    """P8.2: S = (ln C(d, k) + ln(1/β))/c, over γ for what is returned and over 1 - γ for what is missed."""
    mechanism = Canonical(3, "0.5", "0.4", monotone=monotone)
    room = (log_subsets(30, 3) + math.log(1 / 0.01)) / (0.5 if monotone else 0.25)
    assert mechanism.lowest_shortfall(30, 0.01) == pytest.approx(room / 0.4)
    assert mechanism.largest_miss(30, 0.01) == pytest.approx(room / 0.6)
    assert mechanism.lowest_shortfall(30) == mechanism.lowest_shortfall(30, 0.05)
    assert mechanism.largest_miss(30) == mechanism.largest_miss(30, 0.05)
    assert mechanism.largest_miss(3, 1.0) == mechanism.largest_miss(2, 1.0) == 0


def test_other_bounds_of_the_note() -> None:
    """P9.1; P14.4 with a score that moves either way by one; P5.6 and P8.2 together."""
    bottom = CanonicalBottom(2, 9, "0.5", "1e-3")
    assert bottom.margin_for_all(0.99) == pytest.approx(1 + (log_subsets(9, 2) + math.log(1e3 / 0.01)) / 0.5)
    assert bottom.margin(0.99) == pytest.approx(bottom.margin_for_all(0.99))
    joint = JointExponential(3, "0.5")
    assert joint.shortfall(30, 0.01) == pytest.approx(2 * (math.log(math.perm(30, 3)) + math.log(100)) / 0.5)
    assert joint.shortfall(30) == joint.shortfall(30, 0.05)
    assert joint.shortfall(2, 1.0) == pytest.approx(2 * math.log(2) / 0.5)  # no fewer lists than items
    both = RestrictedCanonical(2, 9, "0.5", "0.4", TEST)
    assert both.margin_for_all(0.9) == pytest.approx(both.shortfall(0.05) + TEST.margin_for_all(2, 0.95))
    assert both.shortfall(0.05) == Canonical(2, "0.5", "0.4").lowest_shortfall(9, 0.05)


def beaten(law: Law, lead: float, scale: float = 1.0) -> float:
    """The chance that a key that leads by so much comes second of two."""
    return float(order_chances(np.array([lead, 0.0]), law, np.array([[1, 0]]), scale)[0])


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("chance", [0.5, 0.9, 1 - 1e-7])
def test_a_lipschitz_margin_is_exact(noise: str, chance: float) -> None:
    mechanism = Lipschitz(2, "0.5", noise)
    assert beaten(LAWS[noise], mechanism.margin(chance) / 4) == pytest.approx(1 - chance, rel=1e-9, abs=1e-13)
    both_ways = Lipschitz(2, "0.5", noise, monotone=False)
    assert both_ways.margin(chance) == pytest.approx(2 * mechanism.margin(chance), abs=1e-9)


@pytest.mark.parametrize("noise", NOISES)
def test_a_winning_margin_is_never_negative(noise: str) -> None:
    assert 0 <= winning_margin(LAWS[noise], 0.5) < 1e-12
    for chance in (1.0, 1.5, 0.4):
        with pytest.raises(ParameterError, match=f"less than one, not {chance}"):
            Lipschitz(2, "0.5", noise).margin(chance)


def test_a_lipschitz_shortfall_is_a_union_over_pairs() -> None:
    mechanism = Lipschitz(3, "0.6")
    assert mechanism.shortfall(23, 0.06) == pytest.approx(mechanism.margin(1 - 0.06 / 60))
    assert mechanism.shortfall(23) == mechanism.shortfall(23, 0.05)
    assert mechanism.shortfall(3, 0.06) == mechanism.shortfall(4, 0.06) == pytest.approx(mechanism.margin(1 - 0.06 / 3))


@pytest.mark.parametrize("chance", [0.2, 0.4, 0.5, 0.6, 0.95])
@pytest.mark.parametrize("mechanism", MADE[2:4], ids=["gauss", "laplace"])
def test_a_margin_over_the_noisy_threshold_is_exact(mechanism: Any, chance: float) -> None:
    lead = mechanism.margin(chance) - 1 - float(mechanism.bottom_height(mechanism._most_unstable_slots))
    assert beaten(mechanism.noise, lead, float(mechanism.scale)) == pytest.approx(1 - chance, abs=1e-9)


@pytest.mark.parametrize("chance", [0.2, 0.5, 0.95])
@pytest.mark.parametrize("noise", ["laplace", "logistic"])
def test_a_margin_over_the_fixed_threshold_is_exact(noise: str, chance: float) -> None:
    """An item that gained nothing passes with chance δ: P7.1, P7.2."""
    mechanism = FixedThreshold(1, "0.5", "1e-3", noise)
    law = LAWS[noise]
    assert float(law.survival(np.array([mechanism._threshold_height.approx]))[0]) == pytest.approx(1e-3, rel=1e-12)
    over = mechanism._threshold_height.approx - 0.5 * (mechanism.margin(chance) - 1)
    assert float(law.survival(np.array([over]))[0]) == pytest.approx(chance, rel=1e-12)


def test_shares_are_those_of_the_note() -> None:
    """P6.2: p1 = 0.22 for one-sided noise; [TS]: 0.37 for Laplace noise."""
    for kind in (
        lambda **given: TopStable(2, 9, 1, "1e-3", **given),
        lambda **given: FirstStable(2, 1, "1e-3", **given),
    ):
        assert kind().share == kind(noise="exponential").share == Fraction("0.22")
        assert kind(noise="laplace").share == Fraction("0.37")
    assert StableAnswers(2, 1, 1, "1e-3").share == Fraction("0.37")


SLOTS = [  # for each item wanted, fewest and most
    (LimitedDomain, 5, 10),
    (LimitedDomainLaplace, 5, 10),
    (LimitedDomainGauss, 1, 2),  # P12.1
    (OptimalThreshold, 5, 10),
    (TopStable, 2, 10),
    (CanonicalBottom, 4, 10),  # P9.1
    (Staircase, 10, 10),  # P19.1
    (RestrictedCanonical, 4, 10),
    (RestrictedGumbel, 5, 10),  # P12.1
]


@pytest.mark.long
@pytest.mark.parametrize(("kind", "fewest", "most"), SLOTS, ids=lambda part: getattr(part, "__name__", None))
def test_slots_that_were_not_asked_for(kind: Any, fewest: int, most: int) -> None:
    """As many for each item wanted as P9.1 and P12.1 say; never fewer with a bound on the items of one user."""
    free = kind.for_budget(k=3, epsilon=1, delta="1e-6")
    assert 3 * fewest <= free.k_bar <= 3 * most
    assert kind.for_budget(k=3, epsilon=1, delta="1e-6", contribution=2).k_bar >= free.k_bar
    assert kind.for_budget(k=3, k_bar=7, epsilon=1, delta="1e-6", contribution=2).k_bar == 7


def test_delta_is_shared_as_the_pages_say() -> None:
    delta = Fraction(1, 10**6)
    for kind, failures in ((LimitedDomain, 2), (OptimalThreshold, 2), (FixedThreshold, 2)):
        made: Any = kind.for_budget(k=3, epsilon=1, delta=delta)
        assert made.cost().delta == delta / failures
        assert made.cost().delta + made.slack == delta
    gauss = LimitedDomainGauss.for_budget(k=3, epsilon=1, delta=delta)
    assert (gauss.delta, gauss.slack) == (delta * 2 / 5, delta * 3 / 5)
    stable = TopStable.for_budget(k=3, epsilon=1, delta=delta)
    assert (stable.delta, stable.slack) == (delta * 3 / 4, delta / 4)
    assert stable.epsilon == Fraction(3, 4)


def test_a_line_of_the_catalogue_is_found_by_name() -> None:
    for line in CATALOGUE:
        assert entry(line.name) is line
    with pytest.raises(MechanismError, match="choose one of"):
        entry("Nobody")
