"""The contract of P1.5 as code: who is refused, who is not, and how sure that is.

False alarms: a black box that keeps the contract is refused with probability at most 1e-6, since Fisher's test is exact
and the level is divided by the number of comparisons. Power: every known way to break K2 is refused.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import binom, fisher_exact, hypergeom
from tests.mechanisms.black_boxes import BAD, Chosen, NoisySet, NoisyTop, OneByOne

from crestline.errors import MechanismError
from crestline.guarantees.guarantee import PureDP
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.framework import equivariance as equivariance
from crestline.mechanisms.framework.equivariance import SIGNIFICANCE, check_equivariance
from crestline.mechanisms.public_list.lipschitz import Lipschitz
from crestline.mechanisms.selection import Selection
from crestline.mechanisms.third_party import adopt_slot_mechanism
from crestline.randomness.entropy import Entropy, replay


@pytest.mark.parametrize("good", [NoisyTop, NoisySet], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("k_bar", [3, 12])
def test_a_black_box_that_treats_slots_alike_is_accepted(good: type[NoisyTop], k_bar: int) -> None:
    check_equivariance(adopt_slot_mechanism(good()), k_bar)


@pytest.mark.long
def test_one_release_at_a_time_is_enough() -> None:
    check_equivariance(adopt_slot_mechanism(OneByOne(NoisySet())), 6)
    with pytest.raises(MechanismError, match=r"P1\.5"):
        check_equivariance(adopt_slot_mechanism(OneByOne(BAD[0]())), 6)


@pytest.mark.parametrize("bad", BAD, ids=lambda kind: kind.__name__)
def test_a_black_box_that_looks_at_labels_or_places_is_refused(bad: type[NoisyTop]) -> None:
    with pytest.raises(MechanismError, match="break ties and order the result at random"):
        check_equivariance(adopt_slot_mechanism(bad()), 12)


def test_p_values_are_exact_or_too_large() -> None:
    """Under the contract, a p-value of at most p has probability at most p: counted over all tables, not simulated."""
    releases, namings = 12, 3
    for chance in (0.1, 0.5):
        ours, others = np.arange(releases + 1), np.arange((namings - 1) * releases + 1)
        weight = np.outer(binom.pmf(ours, releases, chance), binom.pmf(others, (namings - 1) * releases, chance))
        law = hypergeom(namings * releases, ours[:, None] + others, releases)
        values = np.minimum(1, 2 * np.minimum(law.cdf(ours[:, None]), law.sf(ours[:, None] - 1)))
        for level in (1e-6, 1e-3, 0.05):
            assert weight[values <= level].sum() <= level


def test_the_level_is_shared_among_all_comparisons(monkeypatch: pytest.MonkeyPatch) -> None:
    """One comparison at just below the whole level does not refuse: there are many comparisons."""
    monkeypatch.setattr(equivariance, "_fisher_p_values", lambda table: np.full(table.shape, 0.9 * float(SIGNIFICANCE)))
    check_equivariance(adopt_slot_mechanism(NoisyTop()), 6)
    monkeypatch.setattr(equivariance, "_fisher_p_values", lambda table: np.full(table.shape, 1e-12))
    with pytest.raises(MechanismError):
        check_equivariance(adopt_slot_mechanism(NoisyTop()), 6)


class Redefined(NoisyTop):
    """Only `release` was rewritten, and it is what people would run; the inherited `release_many` is not asked."""

    def release(self, histogram: Histogram, entropy: Entropy) -> Selection:
        return Selection(tuple(histogram.items[: self.k]), False)


def test_a_release_rewritten_beneath_a_quick_one_is_what_is_checked() -> None:
    with pytest.raises(MechanismError, match=r"P1\.5"):
        check_equivariance(adopt_slot_mechanism(Redefined()), 6)


def test_p_values_are_those_of_fisher_s_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice the smaller tail of each naming against all others together, event by event, and never above one."""
    monkeypatch.setattr(equivariance, "_RELEASES", 20)
    table = np.array([[0, 10, 20, 3], [5, 10, 20, 0], [9, 11, 20, 0]])
    found = equivariance._fisher_p_values(table)
    for row, event in np.ndindex(table.shape):
        ours, others = int(table[row, event]), int(table[:, event].sum() - table[row, event])
        square = [[ours, 20 - ours], [others, 40 - others]]
        tails = (fisher_exact(square, alternative=side).pvalue for side in ("less", "greater"))
        assert found[row, event] == pytest.approx(min(1.0, 2 * min(tails)), rel=1e-9)


@pytest.mark.parametrize("kind", [NoisyTop, NoisySet], ids=lambda kind: kind.__name__)
def test_every_release_is_counted_once_for_each_event(kind: type[NoisyTop]) -> None:
    """Columns: chosen, first, last, how many, stopped. A set has no first and no last."""
    size, releases, mechanism = 6, equivariance._RELEASES, kind()
    table = equivariance._count_events(
        adopt_slot_mechanism(mechanism), np.full(size, 20, dtype=np.int64), replay("events")
    )
    assert table.shape[1] == 4 * size + 2  # the level is divided among as many comparisons as there are events
    chosen, first, last, many, stopped = np.split(table, [size, 2 * size, 3 * size, 4 * size + 1], axis=1)
    assert (chosen.sum(axis=1) == mechanism.k * releases).all()
    assert (many[:, mechanism.k] == releases).all()
    assert (many.sum(axis=1) == releases).all()
    assert (stopped == 0).all()
    for ends in (first, last):
        assert (ends.sum(axis=1) == (releases if kind is NoisyTop else 0)).all()
    if kind is NoisyTop and mechanism.k > 1:
        assert (first != last).any()


def test_the_counts_that_are_shown() -> None:
    """All equal; and pairs of equals far apart, in falling order: ties are where a black box could look at names."""
    equal, pairs = equivariance._count_vectors(7)
    assert len(equal) == len(pairs) == 7
    assert len(set(equal.tolist())) == 1
    assert pairs.tolist() == sorted(pairs.tolist(), reverse=True)
    assert sorted(Counter(pairs.tolist()).values()) == [1, 2, 2, 2]
    assert min(a - b for a, b in pairwise(sorted(set(pairs.tolist()), reverse=True))) >= 10


def test_as_few_slots_as_show_the_effect() -> None:
    class Silent:
        def guarantee(self) -> PureDP:
            return PureDP(1)

        def release(self, histogram: Histogram, entropy: Entropy) -> Selection:
            return Selection((), True)

    assert equivariance._size(Lipschitz(5, 1), 40) == 10
    assert equivariance._size(Lipschitz(5, 1), 7) == 7
    assert equivariance._size(adopt_slot_mechanism(Silent()), 40) == 40


def test_names_differ_and_are_listed_in_several_orders() -> None:
    namings = list(equivariance._naming_variants(30, replay("namings")))
    assert len({(naming.labels, naming.order) for naming in namings}) == len(namings) >= 8
    for naming in namings:
        assert len(set(naming.labels)) == 30
        assert sorted(naming.order) == list(range(30))
    assert {"z", "u", "a", "zz"} <= set(namings[3].labels)
    for labels in (namings[0].labels, namings[3].labels):  # both ways round: one of them is not alphabetical
        assert labels[::-1] in {naming.labels for naming in namings}
    counts = np.array([3] * 15 + [2] * 15)
    view, slots = equivariance._named_view(counts, namings[4])
    assert view.counts == tuple(counts.tolist())
    assert [slots[label] for label in view.items] == [*range(14, -1, -1), *range(29, 14, -1)]
    assert all(namings[4].labels[slot] == label for label, slot in slots.items())


def test_the_level_is_one_in_a_million() -> None:
    assert Fraction(1, 10**6) == SIGNIFICANCE


class Stops(NoisyTop):
    """Says nothing, and that it stopped."""

    def said(self, histogram: Histogram, chosen: Chosen, entropy: Entropy) -> Selection:
        return Selection((), True)


def test_stops_are_counted_by_themselves() -> None:
    table = equivariance._count_events(adopt_slot_mechanism(Stops()), np.full(6, 20, dtype=np.int64), replay("stops"))
    releases = equivariance._RELEASES
    assert (table[:, 3 * 6] == releases).all()  # none chosen
    assert (table[:, 4 * 6 + 1] == releases).all()  # stopped
    assert (table.sum(axis=1) == 2 * releases).all()
