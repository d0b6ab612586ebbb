"""TopStable against its vectors, its law, its neighbours, and its broken twins."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from tests.mechanisms.conformance import (
    SIGNIFICANCE,
    VECTORS,
    assert_law,
    follows_its_law,
    is_equivariant,
    items_law,
    notices,
    p_value,
    stays_within,
)

from crestline.audit.neighbours import small_histogram_pairs
from crestline.audit.testers.exact import worst_pair
from crestline.errors import HistogramError, MechanismError, ParameterError
from crestline.guarantees.guarantee import PureDP
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.canonical.canonical import Canonical
from crestline.mechanisms.canonical.canonical_bottom import CanonicalBottom
from crestline.mechanisms.framework.gap_tests.gap_test import JointTest
from crestline.mechanisms.framework.restricted import Restricted
from crestline.mechanisms.limited_domain.gumbel import LimitedDomain
from crestline.mechanisms.noisy_counts import NoisyCounts
from crestline.mechanisms.public_list.joint_exponential import JointExponential
from crestline.mechanisms.public_list.lipschitz import Lipschitz
from crestline.mechanisms.selection import Selection
from crestline.mechanisms.stability import sparse_vector_law as top_stable_law
from crestline.mechanisms.stability.top_stable import TopStable
from crestline.randomness.entropy import Entropy, replay

NOISES = {"TV-6.1": "laplace", "TV-6.2": "exponential"}


def from_vector(name: str, stretch: Fraction = Fraction(1), inner: Any = None) -> tuple[TopStable, Histogram]:
    given = VECTORS[name]["params"]
    epsilon = Fraction(str(given["eps"])) * stretch
    mechanism = TopStable(given["k"], given["kbar"], epsilon, given["delta"], given["p1"], NOISES[name], inner)
    return mechanism, Histogram.from_counts(given["h"], given["kbar"])


@pytest.mark.parametrize("name", NOISES)
def test_the_law_is_the_vector(name: str) -> None:
    mechanism, histogram = from_vector(name)
    assert float(mechanism.threshold) == pytest.approx(VECTORS[name]["params"]["T"], abs=1e-10)
    assert_law(mechanism.law(histogram), VECTORS[name]["probabilities"])


@pytest.mark.parametrize("name", NOISES)
def test_the_stable_set_is_the_vector(name: str) -> None:
    mechanism, histogram = from_vector(name)
    wanted = [0.0] * 4
    for outcome, chance in VECTORS[name]["probabilities"].items():
        wanted[int(outcome[2])] += chance
    assert mechanism.stable_law(histogram) == pytest.approx(wanted, abs=1e-10)


@pytest.mark.statistics
@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize("inner", [None, Lipschitz(2, "0.5"), Lipschitz(2, "0.5", "exponential", ordered=False)])
def test_the_sampler_follows_the_law_and_the_test_has_power(name: str, inner: Any) -> None:
    mechanism, histogram = from_vector(name, inner=inner)
    follows_its_law(mechanism, histogram, trials=100_000)
    notices(mechanism, from_vector(name, Fraction(11, 10), inner)[0], histogram, trials=100_000)
    notices(mechanism, from_vector(name, Fraction(9, 10), inner)[0], histogram, trials=100_000)


@pytest.mark.statistics
@pytest.mark.parametrize("noise", NOISES.values())
def test_the_inner_selection_follows_the_law(noise: str) -> None:
    """Three clearly stable items, of which two are selected; a selection 10% off is noticed."""
    histogram = Histogram.from_counts({"a": 400, "b": 395, "c": 390, "d": 4}, 3)
    mechanism = TopStable(2, 3, 1, "0.01", noise=noise, inner=Lipschitz(2, "0.5"))
    follows_its_law(mechanism, histogram, trials=60_000)
    for off in ("0.55", "0.45"):
        twin = TopStable(2, 3, 1, "0.01", noise=noise, inner=Lipschitz(2, off))
        notices(mechanism, twin, histogram, trials=60_000)


@pytest.mark.statistics
@pytest.mark.parametrize("noise", NOISES.values())
def test_without_an_inner_selection_every_subset_is_as_likely(noise: str) -> None:
    histogram = Histogram.from_counts({"a": 400, "b": 395, "c": 390, "d": 4}, 3)
    drawn = TopStable(2, 3, 1, "0.01", noise=noise).release_many(histogram, 30_000, replay("subsets"))
    law = {frozenset(pair): 1 / 3 for pair in ("ab", "ac", "bc")}
    assert p_value((selection.items for selection in drawn), law) > SIGNIFICANCE
    skewed = {frozenset("ab"): 0.3667, frozenset("ac"): 0.3333, frozenset("bc"): 0.3}
    assert p_value((selection.items for selection in drawn), skewed) < SIGNIFICANCE


@pytest.mark.long
@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize("inner", [None, Lipschitz(2, "0.5")])
def test_fewer_bits_at_first_give_the_same_selections(name: str, inner: Any) -> None:
    mechanism, histogram = from_vector(name, inner=inner)
    reference = mechanism.release_many(histogram, 200, replay("bits"))
    for bits in (1, 7):
        assert mechanism.release_many(histogram, 200, replay("bits", first_bits=bits)) == reference


@pytest.mark.parametrize("noise", NOISES.values())
def test_permuting_labels_permutes_the_law(noise: str) -> None:
    counts = {"a": 7, "b": 5, "c": 3, "d": 1}
    renaming = {"a": "d", "b": "a", "c": "b", "d": "c"}
    mechanism = TopStable(2, 3, "0.5", "0.1", noise=noise)
    is_equivariant(mechanism, lambda c: Histogram.from_counts(c, 3), counts, renaming)


@pytest.mark.parametrize("noise", NOISES.values())
@pytest.mark.parametrize(
    ("k", "k_bar", "inner"),
    [(1, 2, None), (2, 3, None), (3, 3, None), (1, 3, Lipschitz(1, "0.4")), (2, 3, Lipschitz(2, "0.4"))],
)
def test_neighbours_stay_within_the_promise(noise: str, k: int, k_bar: int, inner: Any) -> None:
    mechanism = TopStable(k, k_bar, "1.2", "0.3", noise=noise, inner=inner)
    assert mechanism.guarantee().epsilon == Fraction("1.2") + (Fraction("0.4") if inner else 0)
    stays_within(mechanism, lambda counts: Histogram.from_counts(counts, k_bar))


def stable_loss(mechanism: TopStable) -> float:
    """The largest log ratio of the index of the stable set between small neighbours."""

    @cache
    def law(name: tuple[int, ...]) -> list[float]:
        return mechanism.stable_law(Histogram.from_counts(dict(zip("abcd", name, strict=True)), mechanism.k_bar))

    worst = 0.0
    for with_user, without in small_histogram_pairs():
        first, second = law(tuple(with_user.values())), law(tuple(without.values()))
        worst = max(worst, *(abs(math.log(p / q)) for p, q in zip(first, second, strict=True)))
    return worst


class HalfTheNoise(TopStable):
    """P2.5's wrong variant as a program: `Lap(1/ε2)` on the gaps, as if they all moved in one direction."""

    @property
    def _distance_rate(self) -> Fraction:
        return (1 - self.share) * self.epsilon


@pytest.mark.parametrize("noise", NOISES.values())
def test_half_the_noise_on_the_gaps_is_caught(noise: str) -> None:
    assert stable_loss(TopStable(1, 2, 1, "0.9", "0.22", noise)) <= 1 + 1e-9
    assert stable_loss(HalfTheNoise(1, 2, 1, "0.9", "0.22", noise)) > 1.1


class NoUnionBound(TopStable):
    """A threshold for one unstable set, where k_bar may be."""

    @property
    def threshold(self) -> Fraction:
        return TopStable(1, 1, self.epsilon, self.delta, self.share, self.noise).threshold


@pytest.mark.long
@pytest.mark.parametrize("noise", NOISES.values())
def test_a_threshold_for_a_single_set_is_caught(noise: str) -> None:
    mechanism, twin = (kind(3, 3, "0.3", "0.1", noise=noise) for kind in (TopStable, NoUnionBound))
    for tried, caught in ((mechanism, False), (twin, True)):
        finding = worst_pair(lambda c, m=tried: m.law(Histogram.from_counts(c, 3)), small_histogram_pairs(), 0.3)
        assert (finding.delta > 0.1 + 1e-9) == caught


def test_default_shares() -> None:
    assert TopStable(1, 2, 1, "0.1").share == Fraction(22, 100)
    assert TopStable(1, 2, 1, "0.1", noise="laplace").share == Fraction(37, 100)


def test_one_sided_noise_needs_a_smaller_threshold() -> None:
    laplace = TopStable(10, 50, 1, "1e-6", noise="laplace")
    one_sided = TopStable(10, 50, 1, "1e-6", noise="exponential")
    assert float(laplace.threshold) == pytest.approx(58.1, abs=0.05)
    assert float(one_sided.threshold) == pytest.approx(42.8, abs=0.05)  # P6.2


def test_few_rows() -> None:
    mechanism = TopStable(2, 4, 1, "0.3")
    assert set(mechanism.release_many(Histogram.from_counts({}, 4), 50, replay("empty"))) == {
        Selection(frozenset(), True)
    }
    follows_its_law(mechanism, Histogram.from_counts({"a": 9, "b": 2, "c": 1}, 4), trials=50_000)
    law = items_law(mechanism.law(Histogram.from_counts({"a": 9}, 4)))
    assert law.keys() == {frozenset("a"), frozenset()}


@pytest.mark.parametrize("noise", NOISES.values())
def test_at_the_margin_k_items_are_named(noise: str) -> None:
    mechanism = TopStable(2, 3, "0.5", "0.01", noise=noise)
    lead = math.ceil(mechanism.margin(0.95))
    stable = mechanism.stable_law(Histogram.from_counts({"a": lead + 9, "b": lead + 9, "c": 9, "d": 9}, 3))
    assert 0.95 <= stable[2] + stable[3] < 0.97


@pytest.mark.parametrize("noise", NOISES.values())
@pytest.mark.parametrize(("epsilon", "delta"), [("0.1", "1e-6"), (1, "1e-8"), (4, "0.01")])
@pytest.mark.parametrize(("k", "k_bar", "share"), [(10, None, 0), (10, 10, "0.25"), (1, 5, "0.25"), (40, 100, "0.4")])
def test_a_budget_is_used_up_and_not_exceeded(
    noise: str, epsilon: Any, delta: str, k: int, k_bar: int | None, share: Any
) -> None:
    mechanism = TopStable.for_budget(
        k=k, k_bar=k_bar, epsilon=epsilon, delta=delta, contribution=3, noise=noise, inner_share=share
    )
    promise = mechanism.guarantee()
    assert promise.epsilon is not None
    assert promise.delta == Fraction(delta)
    assert Fraction(epsilon) * Fraction(85, 100) <= promise.epsilon <= Fraction(epsilon)
    assert (mechanism.inner is None) == (not share or k_bar == k)


class Always:
    """A third party's selection: the first k, with a promise it does not keep."""

    k = 2

    def guarantee(self) -> PureDP:
        return PureDP("0.25")

    def release(self, histogram: Histogram, entropy: Entropy) -> Selection:
        return Selection(histogram.names(range(2)), False)


def test_a_third_party_s_inner_selection_is_used_and_charged() -> None:
    mechanism = TopStable(2, 3, 1, "0.01", inner=Always())
    assert mechanism.guarantee().epsilon == Fraction(5, 4)
    histogram = Histogram.from_counts({"a": 400, "b": 395, "c": 390, "d": 4}, 3)
    assert mechanism.release(histogram, replay(1)) == Selection(frozenset("ab"), False)


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        ((3, 2, 1, "0.1"), {}, "k_bar must be at least k"),
        ((1, 2, 0, "0.1"), {}, "epsilon must be larger than zero"),
        ((1, 2, 1, 1), {}, "delta must be smaller than one"),
        ((1, 2, 1, "0.1", 1), {}, "share must be smaller than one"),
        ((1, 2, 1, "0.1"), {"noise": "gumbel"}, "noise must be one of"),
    ],
)
def test_bad_parameters_are_refused(arguments: Any, options: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        TopStable(*arguments, **options)


def test_a_bad_inner_selection_is_refused() -> None:
    with pytest.raises(MechanismError, match="guarantee"):
        TopStable(2, 3, 1, "0.1", inner="Lipschitz")  # type: ignore[arg-type]
    with pytest.raises(MechanismError, match="as many items"):
        TopStable(2, 3, 1, "0.1", inner=Lipschitz(3, 1))


class Hidden(Always):
    domain = "unknown"


@pytest.mark.parametrize(
    "inner",
    [
        LimitedDomain(2, 3, "0.5", "1e-6"),
        CanonicalBottom(2, 3, 1, "1e-6"),
        NoisyCounts(LimitedDomain(2, 3, "0.5", "1e-6"), 1),
        Restricted(Lipschitz(2, 1), 3, JointTest(1, "1e-6")),
        Hidden(),
    ],
    ids=lambda inner: type(inner).__name__,
)
def test_an_inner_selection_for_an_unknown_domain_is_refused(inner: Any) -> None:
    """It was accepted, and refused the stable set as it was released: after the charge, and depending on its size."""
    with pytest.raises(MechanismError, match="take a mechanism for a public list"):
        TopStable(2, 3, 1, "0.1", inner=inner)


@pytest.mark.parametrize("inner", [Canonical(2, 1), JointExponential(2, 1), NoisyCounts(Lipschitz(2, 1), 1)])
def test_an_inner_selection_for_a_public_list_takes_every_stable_set(inner: Any) -> None:
    mechanism = TopStable(2, 5, 1, "0.1", inner=inner)
    for size in range(6):
        leading = {str(item): 1000 + item for item in range(size)}
        drawn = mechanism.release(Histogram.from_counts({**leading, "x": 5, "y": 4}, 5), replay(size))
        assert len(drawn) == min(2, size)


@pytest.mark.long
def test_a_histogram_of_the_wrong_kind_is_refused() -> None:
    mechanism = TopStable(1, 2, 1, "0.1")
    with pytest.raises(HistogramError, match="mechanism for a public list"):
        mechanism.release(Histogram.over_domain({"a": 1, "b": 2}), replay(0))
    with pytest.raises(HistogramError, match="raw rows"):
        mechanism.release(Histogram.from_counts({"a": 1}, 2, pad=False), replay(0))
    with pytest.raises(ParameterError, match="too many outcomes"):
        TopStable(20, 40, 1, "0.1").law(Histogram.from_counts({f"{n}": 50 - n for n in range(41)}, 40))


@pytest.mark.parametrize("noise", NOISES.values())
def test_one_user_short_of_the_margin_is_too_little(noise: str) -> None:
    """With one slot the chance at the margin is exact, so it lies between two whole leads (P6.3)."""
    mechanism = TopStable(1, 1, "0.5", "0.01", noise=noise)
    margin = mechanism.margin(0.95)
    leads = (math.floor(margin), math.ceil(margin))
    short, enough = (mechanism.stable_law(Histogram.from_counts({"a": lead + 3, "b": 3}, 1))[1] for lead in leads)
    assert short < 0.95 <= enough


@pytest.mark.parametrize("noise", NOISES.values())
def test_counts_in_other_units_have_the_same_law(noise: str) -> None:
    mechanism, counts = TopStable(1, 3, "0.5", "0.01", noise=noise), {"a": 30, "b": 21, "c": 9, "d": 4}
    plain = Histogram.from_counts(counts, 3)
    scaled = Histogram.from_counts({label: 7 * count for label, count in counts.items()}, 3, unit=7)
    assert mechanism.stable_law(scaled) == pytest.approx(mechanism.stable_law(plain), abs=1e-12)
    assert mechanism.release_many(scaled, 300, replay(4)) == mechanism.release_many(plain, 300, replay(4))


@pytest.mark.parametrize("noise", NOISES.values())
def test_the_noises_share_epsilon(noise: str) -> None:
    """P6.1: a share for the threshold, and half of the rest for a gap, which may move either way."""
    mechanism = TopStable(1, 3, "0.5", "0.01", "0.3", noise)
    assert (mechanism._threshold_rate, mechanism._distance_rate) == (Fraction("0.15"), Fraction("0.175"))


class Never(Always):
    """Must not be asked."""

    def release(self, histogram: Histogram, entropy: Entropy) -> Selection:
        raise AssertionError

    def law(self, histogram: Histogram) -> dict[Selection, float]:
        raise AssertionError


def test_no_more_than_k_items_need_no_inner_selection() -> None:
    mechanism = TopStable(2, 2, 1, "0.01", inner=Never())
    histogram = Histogram.from_counts({"a": 400, "b": 395, "c": 4}, 2)
    assert mechanism.release(histogram, replay(1)) == Selection(frozenset("ab"), False)
    assert mechanism.law(histogram)[Selection(frozenset("ab"), False)] > 0.9


def test_a_law_with_as_many_outcomes_as_may_be_is_written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(top_stable_law, "_MOST_OUTCOMES", 3)
    assert len(top_stable_law.subset_law("abc", 2)) == 3
    with pytest.raises(ParameterError, match="too many outcomes"):
        top_stable_law.subset_law("abcd", 3)


@pytest.mark.parametrize("noise", NOISES.values())
def test_a_margin_is_for_nineteen_of_twenty_unless_asked_otherwise(noise: str) -> None:
    mechanism = TopStable(2, 3, "0.5", "0.01", noise=noise)
    assert mechanism.margin() == mechanism.margin(0.95) > mechanism.margin(0.9)
