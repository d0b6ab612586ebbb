from __future__ import annotations

import math
from fractions import Fraction

import pytest
from scipy.stats import binomtest

from crestline.errors import MechanismError
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.canonical.canonical import Canonical
from crestline.mechanisms.public_list.lipschitz import Lipschitz
from crestline.mechanisms.public_list.noises import NOISES
from crestline.mechanisms.routes.canonical_or_peeling import CanonicalOrPeeling
from crestline.randomness.entropy import replay
from reproduction.exact import Mechanism, Quality, chance, chances, epsilon_needed, qualities

FALSE_ALARM = 1e-6
SMALL = Histogram.over_domain(dict(enumerate([9, 7, 7, 5, 4, 4, 0])))
LARGE = Histogram.over_domain(dict(enumerate(int(3_000 / (rank + 5)) for rank in range(300))))


def every(k: int, epsilon: float | Fraction) -> list[Mechanism]:
    noisy = [Lipschitz(k, epsilon, noise) for noise in NOISES]
    return [
        *noisy,
        *(Canonical(k, epsilon, gamma) for gamma in (0, Fraction(1, 2), Fraction(3, 10), 1)),
        *(Canonical(k, epsilon, gamma, "exponential") for gamma in (Fraction(2, 3), Fraction(1, 2), 1)),
        CanonicalOrPeeling(k, epsilon / 10, epsilon, epsilon / 3, eta="0.2", lean=1),
    ]


def named(mechanism: Mechanism) -> str:
    return f"{type(mechanism).__name__} {'' if isinstance(mechanism, Lipschitz) else mechanism.gamma} {mechanism.noise}"


def test_the_three_qualities_round_as_published() -> None:
    found = {k: [(one.head, one.tail) for one in qualities(k)] for k in (10, 100, 1000)}
    assert found == {
        10: [(10, 10), (1, 11), (1, 15)],
        100: [(100, 100), (10, 110), (1, 150)],
        1000: [(1000, 1000), (100, 1100), (10, 1500)],
    }


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("place", range(13))
def test_chances_are_sums_of_the_enumerated_law(k: int, place: int) -> None:
    for epsilon in (Fraction(1, 2), Fraction(6)):
        mechanism = every(k, epsilon)[place]
        law = [(tuple(map(int, selection.items)), value) for selection, value in mechanism.law(SMALL).items()]
        for head, tail in [(k, k), *((h, t) for h in range(k) for t in range(k + 1, 8))]:
            quality = Quality("some", head, tail)
            expected = sum(value for items, value in law if quality.met_by(ranks(SMALL, items)))
            assert chance(mechanism, SMALL, quality) == pytest.approx(expected, rel=1e-6, abs=1e-12)


def ranks(histogram: Histogram, items: tuple[int, ...]) -> list[int]:
    return [histogram.items.index(item) for item in items]


@pytest.mark.parametrize("mechanism", every(20, 2), ids=named)
def test_every_selection_is_somewhere(mechanism: Mechanism) -> None:
    """No head asked for, and a tail that holds the whole public list."""
    assert chance(mechanism, LARGE, Quality("any", 0, 300)) == pytest.approx(1.0, abs=1e-6)


TRIALS = 6_000
SCALES = (Fraction(9, 10), Fraction(11, 10))


@pytest.mark.parametrize(
    "kind", [*(Lipschitz(20, 1, noise) for noise in NOISES), Canonical(20, 1), Canonical(20, 1, 1)], ids=named
)
def test_releases_are_as_good_as_the_exact_chance_says(kind: Mechanism) -> None:
    """Two-sided binomial test at a false alarm of 1e-6; it must reject the chance at an ε 10 % off on either side.

    At an ε where GREAT has a chance of one half, so that noise 10 % off moves it most.
    """
    great = qualities(20)[1]
    mechanism = _with(kind, Fraction(epsilon_needed(lambda epsilon: _with(kind, epsilon), LARGE, great, 0.5, digits=2)))
    drawn = mechanism.release_many(LARGE, TRIALS, replay("exact chances"))
    hits = sum(great.met_by([int(item) for item in one.items]) for one in drawn)
    assert binomtest(hits, TRIALS, chance(mechanism, LARGE, great)).pvalue > FALSE_ALARM
    for scale in SCALES:
        off = chance(_with(mechanism, mechanism.epsilon * scale), LARGE, great)
        assert binomtest(hits, TRIALS, off).pvalue < FALSE_ALARM


def _with(mechanism: Mechanism, epsilon: Fraction) -> Mechanism:
    if isinstance(mechanism, Lipschitz):
        return Lipschitz(mechanism.k, epsilon, mechanism.noise)
    return Canonical(mechanism.k, epsilon, mechanism.gamma)


@pytest.mark.parametrize("mechanism", every(3, 1_000), ids=named)
def test_a_tie_is_counted_strictly(mechanism: Mechanism) -> None:
    """Ranks 3 and 4 have one count: whatever ε is, each of two sets is as likely as the other."""
    tied = Histogram.over_domain({"a": 9, "b": 8, "c": 5, "d": 5, "e": 1})
    assert chances(mechanism, tied)["TOP"] <= 0.5 + 1e-9


def test_multiplicities_and_steps_change_nothing() -> None:
    grouped = Histogram.from_multiplicities({9: 1, 7: 2, 5: 1, 4: 2, 0: 1})
    scaled = Histogram.over_domain({item: 10 * count for item, count in enumerate(SMALL.counts)}, unit=10)
    for mechanism in every(3, 2):
        expected = chances(mechanism, SMALL)
        assert chances(mechanism, grouped) == pytest.approx(expected, rel=1e-6)
        assert chances(mechanism, scaled) == pytest.approx(expected, rel=1e-6)


def test_scores_that_move_either_way_need_twice_the_epsilon() -> None:
    loose: list[Mechanism] = [Lipschitz(3, 4, "laplace", monotone=False), Canonical(3, 4, monotone=False)]
    tight: list[Mechanism] = [Lipschitz(3, 2, "laplace"), Canonical(3, 2)]
    for one, other in zip(loose, tight, strict=True):
        assert chances(one, SMALL) == pytest.approx(chances(other, SMALL), rel=1e-9)


def test_a_list_of_k_items_leaves_no_choice() -> None:
    for mechanism in every(7, 1):
        assert chances(mechanism, SMALL) == {"TOP": 1.0, "GREAT": 1.0, "GOOD": 1.0}


def test_far_apart_counts_do_not_overflow() -> None:
    steep = Histogram.over_domain({rank: 4 ** (28 - rank) for rank in range(28)})
    for mechanism in every(10, 1):
        found = chances(mechanism, steep)
        assert all(0.0 <= value <= 1.0 and math.isfinite(value) for value in found.values())
        # at gamma = 0 the lowest item does not matter: any of the 18 others may stand in for the tenth
        expected = 1 / 19 if isinstance(mechanism, Canonical) and not mechanism.gamma else 1.0
        assert found["TOP"] == pytest.approx(expected, abs=1e-6)


def test_the_needed_epsilon_gives_the_wanted_chance() -> None:
    top = qualities(3)[0]
    apart = Histogram.over_domain(dict(enumerate([90, 70, 60, 50, 40, 1])))
    found = epsilon_needed(lambda epsilon: Canonical(3, epsilon), apart, top, 0.99)
    assert chance(Canonical(3, found), apart, top) == pytest.approx(0.99, abs=1e-3)
    assert chance(Canonical(3, found * 0.99), apart, top) < 0.99


def test_no_epsilon_breaks_a_tie() -> None:
    tied = Histogram.over_domain(dict(enumerate([9, 5, 5])))
    assert epsilon_needed(lambda epsilon: Canonical(2, epsilon), tied, qualities(2)[0], 0.99) == math.inf


def test_other_noises_of_the_canonical_mechanism_are_refused() -> None:
    with pytest.raises(MechanismError, match="Gumbel and exponential"):
        chance(Canonical(2, 1, noise="laplace"), SMALL, qualities(2)[0])


def test_quality_reads_ranks() -> None:
    quality = Quality("some", 2, 5)
    assert quality.met_by([0, 1, 4])
    assert not quality.met_by([0, 2, 4])
    assert not quality.met_by([0, 1, 5])
