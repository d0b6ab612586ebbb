"""The contract of P1.5 as code: who is refused, who is not, and how sure that is.

False alarms: a black box that keeps the contract is refused with probability at most 1e-6, since Fisher's test is exact
and the level is divided by the number of comparisons. Power: every known way to break K2 is refused.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, hypergeom
from tests.mechanisms.black_boxes import BAD, NoisySet, NoisyTop, OneByOne

from crestline.errors import MechanismError
from crestline.histogram.histogram import Histogram
from crestline.mechanisms import equivariance
from crestline.mechanisms.equivariance import SIGNIFICANCE, check_equivariance
from crestline.mechanisms.selection import Selection
from crestline.randomness.entropy import Entropy


@pytest.mark.parametrize("good", [NoisyTop, NoisySet], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("k_bar", [3, 12])
def test_a_black_box_that_treats_slots_alike_is_accepted(good: type[NoisyTop], k_bar: int) -> None:
    check_equivariance(good(), k_bar)


def test_one_release_at_a_time_is_enough() -> None:
    check_equivariance(OneByOne(NoisySet()), 6)
    with pytest.raises(MechanismError, match=r"P1\.5"):
        check_equivariance(OneByOne(BAD[0]()), 6)


@pytest.mark.parametrize("bad", BAD, ids=lambda kind: kind.__name__)
def test_a_black_box_that_looks_at_labels_or_places_is_refused(bad: type[NoisyTop]) -> None:
    with pytest.raises(MechanismError, match="break ties and order the result at random"):
        check_equivariance(bad(), 12)


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
    monkeypatch.setattr(equivariance, "_fisher", lambda table: np.full(table.shape, 0.9 * float(SIGNIFICANCE)))
    check_equivariance(NoisyTop(), 6)
    monkeypatch.setattr(equivariance, "_fisher", lambda table: np.full(table.shape, 1e-12))
    with pytest.raises(MechanismError):
        check_equivariance(NoisyTop(), 6)


class Redefined(NoisyTop):
    """Only `release` was rewritten, and it is what people would run; the inherited `release_many` is not asked."""

    def release(self, histogram: Histogram, entropy: Entropy) -> Selection:
        return Selection(histogram.items[: self.k], False)


def test_a_release_rewritten_beneath_a_quick_one_is_what_is_checked() -> None:
    with pytest.raises(MechanismError, match=r"P1\.5"):
        check_equivariance(Redefined(), 6)
