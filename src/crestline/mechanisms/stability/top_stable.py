"""Top stable: the largest i for which the set of the first i items is clearly ahead of the rest; k of them are named.

Seed        CarvalhoEtAl2020, Algorithms 1 and 3, corrected (E-B1, E-B4 to E-B6); one-sided noise: P6.2
Guarantee   (ε + cost of the inner selection, δ): sparse vector that stops at the first success (P2.5, P6.1, P6.2)
Assumes     distinct users per item; ranked in byte order and padded; parameters chosen without the data
Numerics    exact: integer counts, rational ε and T, ideal noise decided with certainty (P11), T certified
Proof note  docs/proofs/top_stable.md
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Self, Unpack

import numpy as np
from numpy.typing import NDArray

from crestline.errors import HistogramError, MechanismError
from crestline.exact_fields import ConvertedField, Name, Number, field, none_or, value
from crestline.exact_numbers import (
    Exact,
    non_negative_number,
    one_of_names,
    positive_number,
    probability,
    proportion,
    set_frozen_fields,
)
from crestline.guarantees.accountants import per_step_epsilon, total
from crestline.guarantees.cost import Cost, repeat_step
from crestline.guarantees.guarantee import Guarantee, PureDP
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.framework.equivariance import release_n
from crestline.mechanisms.mechanism import UNKNOWN, BuiltIn, Mechanism
from crestline.mechanisms.privacy_total import PrivacyTotal, TotalArguments
from crestline.mechanisms.public_list.lipschitz import Lipschitz
from crestline.mechanisms.selection import Selection, select_set
from crestline.mechanisms.slot_checks import check_slots
from crestline.mechanisms.slot_mechanism import OverSlots
from crestline.mechanisms.stability.sparse_vector import NOISES, USUAL_SHARES, SparseVector
from crestline.mechanisms.stability.sparse_vector_law import first_success_law, subset_law
from crestline.mechanisms.third_party import adopt_slot_mechanism, domain_of
from crestline.mechanisms.two_stage import tighter_guarantee
from crestline.randomness.batch_sizes import batch_sizes
from crestline.randomness.compare import exceeds_threshold
from crestline.randomness.entropy import Entropy
from crestline.randomness.laws import EXPONENTIAL
from crestline.randomness.sampling import draw_subsets
from crestline.randomness.scores import LinearScores

_SLOTS = 2  # slots for each item wanted, by default: for utility
_INNER_SHARE = Fraction(1, 4)  # share of a total for the inner selection


def _adopt_inner(inner: Mechanism | None, name: str) -> BuiltIn | None:
    """The inner mechanism, refused here if it cannot select from a stable set: a later error would depend on rows."""
    if inner is None:
        return None
    adopted = adopt_slot_mechanism(inner, "inner must be a mechanism for a public list, with guarantee() and release()")
    if domain_of(adopted) == UNKNOWN:
        raise MechanismError(
            "inner selects from the stable set, which is a public list by then: take a mechanism for a public list, "
            "such as Lipschitz"
        )
    adopted.cost()  # raises if it cannot be charged
    return adopted


@value
class TopStable(SparseVector, OverSlots):
    """Finds the largest set of leading items that no small change could alter, and names k of them.

    Attributes:
        k: Items wanted.
        k_bar: Slots that it sees.
        epsilon: ε for finding the set.
        delta: δ for finding the set.
        share: Share of `epsilon` for the noise of the threshold; by default 0.22, or 0.37 for Laplace noise.
        noise: `"exponential"` or `"laplace"`.
        inner: Mechanism for a public list that selects k items if more are stable; None: a uniformly random choice.
        slack: Failure probability of the accountant for the inner selection.
    """

    epsilon: Number = field(positive_number)
    delta: Number = field(probability)
    share: ConvertedField[Exact | None, Fraction] = field(none_or(probability), default=None)
    noise: Name = field(one_of_names(NOISES), default=EXPONENTIAL.name)
    inner: ConvertedField[Mechanism | None, BuiltIn | None] = field(_adopt_inner, default=None)
    slack: Number = field(non_negative_number, default=0, kw_only=True)

    theorem = "P6"

    def __post_init__(self) -> None:
        if self.share is None:
            set_frozen_fields(self, share=USUAL_SHARES[self.noise])
        if self.inner is not None and self.inner.k not in (None, self.k):
            raise MechanismError(f"the inner mechanism must select as many items as this one: k={self.k}")
        super().__post_init__()

    @classmethod
    def for_budget(
        cls, *, noise: str = EXPONENTIAL.name, inner_share: Exact = _INNER_SHARE, **total: Unpack[TotalArguments]
    ) -> Self:
        """Return the instance within a total (epsilon, delta).

        Args:
            noise: `"exponential"` or `"laplace"`.
            inner_share: Share of both for peeling the best k if more may be stable; zero: they are drawn uniformly.
            **total: `k`, `epsilon`, `delta`, `k_bar`; `contribution` has no effect.
        """
        return cls.fit(PrivacyTotal.from_arguments(cls, total), noise=noise, inner_share=inner_share)

    @classmethod
    def fit(cls, total: PrivacyTotal, *, noise: str = EXPONENTIAL.name, inner_share: Exact = _INNER_SHARE) -> Self:
        """The instance within a total; two slots for each item wanted unless `k_bar` is given."""
        k, slots = total.k, total.slots(_SLOTS)
        share = proportion(inner_share, "inner_share") if slots > k else Fraction(0)
        delta_failure, delta_slack = total.split_delta(1 - share)
        if not share:
            return cls(k, slots, total.epsilon, delta_failure, noise=noise)
        inner = Lipschitz(k, k * per_step_epsilon(k, share * total.epsilon, delta_slack))
        epsilon = (1 - share) * total.epsilon
        return cls(k, slots, epsilon, delta_failure, noise=noise, inner=inner, slack=delta_slack)

    def cost(self) -> Cost:
        return self._search_cost() if self.inner is None else self._search_cost() + self.inner.cost()

    def guarantee(self) -> Guarantee:
        """The promise for one release; the slack is for composing the inner selection."""
        together = total(self.cost(), self.slack, theorem=self.theorem)
        if self.inner is None:
            return together
        return tighter_guarantee(
            together, total(self._search_cost(), theorem=self.theorem), total(self.inner.cost(), self.slack)
        )

    def _search_cost(self) -> Cost:
        return repeat_step(PureDP(self.epsilon, theorem="P6.1"), delta=self.delta)

    def release_many(self, histogram: Histogram, n: int, entropy: Entropy) -> list[Selection]:
        gaps = self._gaps(histogram)
        result: list[Selection] = []
        for trials in batch_sizes(n, len(gaps)):
            result += self._select_from_sizes(
                histogram, self._draw_stable_size(gaps, histogram.unit, trials, entropy), entropy
            )
        return result

    def stable_law(self, histogram: Histogram) -> list[float]:
        """Exact probability that the stable set is the first 0 (none), 1, …, k_bar items."""
        gaps = self._gaps(histogram) / histogram.unit
        return first_success_law(
            gaps[::-1], float(self.threshold), self._distance_rate, self._threshold_rate, self._law
        )

    def law(self, histogram: Histogram) -> Mapping[Selection, float]:
        """Exact probability of every selection, for small histograms.

        Raises:
            ParameterError: There are too many outcomes.
            MechanismError: The inner mechanism has no law.
        """
        law: defaultdict[Selection, float] = defaultdict(float)
        for size, found in enumerate(self.stable_law(histogram)):
            labels = self._labels(histogram, size)
            if len(labels) > self.k and self.inner is not None:
                chosen = self._inner_law(self.inner, histogram, size)
            else:
                chosen = subset_law(labels, self.k)
            for selection, chance in chosen.items():
                law[select_set(list(selection.items), self.k)] += found * chance
        return dict(law)

    def margin(self, chance: float = 0.95) -> float:
        """Users by which i ≥ k items must lead all others for k items to be named with probability `chance` (P6.3)."""
        return 1 + float(self._distance_for_chance(chance))

    @property
    def _unstable_chance(self) -> Fraction:
        return self.delta / self.k_bar  # P6.1, P6.2: any of k_bar sets may be unstable

    def _gaps(self, histogram: Histogram) -> NDArray[np.int64]:
        """`h_(i) - h_(i+1) - unit` for i from 1 to k_bar."""
        check_slots(histogram, self.k_bar)
        if histogram.next_count is None:  # public: it depends on the length of the public list alone
            raise HistogramError("nothing is left out of this public list: take a mechanism for a public list")
        return -np.diff(np.append(histogram.array, histogram.next_count)) - histogram.unit

    def _draw_stable_size(self, gaps: NDArray[np.int64], unit: int, trials: int, entropy: Entropy) -> NDArray[np.int64]:
        """The largest i whose test passes in each trial; 0 if none does."""
        bar = self._noisy_threshold(trials, entropy, unit)
        passed = exceeds_threshold(self._noisy_distances(LinearScores(gaps, Fraction(1)), trials, entropy, unit), bar)
        last: NDArray[np.int64] = len(gaps) - np.argmax(passed[:, ::-1], axis=1)
        return last * passed.any(axis=1)

    def _select_from_sizes(self, histogram: Histogram, stable: NDArray[np.int64], entropy: Entropy) -> list[Selection]:
        result: dict[int, Selection] = {}
        for size in np.unique(stable).tolist():
            places = np.flatnonzero(stable == size).tolist()
            chosen = self._select_from_stable_set(histogram, size, len(places), entropy)
            result.update(zip(places, chosen, strict=True))
        return [result[place] for place in range(len(stable))]

    def _select_from_stable_set(
        self, histogram: Histogram, size: int, trials: int, entropy: Entropy
    ) -> Sequence[Selection]:
        """Selections of k of the first `size` items; that set is released, so it may be used as a public list."""
        labels = self._labels(histogram, size)
        if len(labels) <= self.k:
            return [select_set(labels, self.k)] * trials
        if self.inner is not None:
            drawn = release_n(self.inner, self._as_public_list(histogram, size), trials, entropy)
            return [select_set(list(selection.items), self.k) for selection in drawn]
        rows = draw_subsets(len(labels), self.k, trials, entropy)
        return [select_set([labels[place] for place in row], self.k) for row in rows]

    def _inner_law(self, inner: BuiltIn, histogram: Histogram, size: int) -> Mapping[Selection, float]:
        law = inner.law
        if law is None:
            raise MechanismError("the inner mechanism has no law: add law(histogram) to audit it exactly")
        return law(self._as_public_list(histogram, size))

    def _labels(self, histogram: Histogram, size: int) -> list[Any]:
        return list(histogram.names(range(min(size, histogram.filled))))

    def _as_public_list(self, histogram: Histogram, size: int) -> Histogram:
        kept = min(size, histogram.filled)
        return Histogram(histogram.items[:kept], histogram.array[:kept], None, domain_size=kept, unit=histogram.unit)
