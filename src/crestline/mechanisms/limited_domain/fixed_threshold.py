"""Fixed threshold: each of the first k items is named on its own, if it is clearly above the next.

Seed        DurfeeRogers2019, Algorithm 8, corrected (E-A11); logistic noise: P7.2
Guarantee   (k ε, m δ), m = min(Δ, k), or fewer ε by composition (P7.1); logistic noise composes as bounded range (P7.2)
Assumes     distinct users per item; ranked in byte order and padded; δ chosen without the data
Numerics    exact: integer counts, rational ε and δ, ideal noise against a fixed threshold decided with certainty (P11)
Proof note  docs/proofs/fixed_threshold.md
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from typing import Self, Unpack

import numpy as np
from numpy.typing import NDArray

from crestline.errors import ParameterError
from crestline.exact_fields import Name, Number, Whole, WholeOrNone, field, value
from crestline.exact_numbers import non_negative_number, one_of_names, positive_number, probability, whole_number
from crestline.guarantees.accountants import per_step_epsilon
from crestline.guarantees.cost import Cost, Step, repeat_step
from crestline.guarantees.guarantee import BoundedRange, PureDP
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.mechanism import BuiltIn
from crestline.mechanisms.numerics.poisson_binomial import count_law
from crestline.mechanisms.privacy_total import PrivacyTotal, TotalArguments
from crestline.mechanisms.selection import Selection, select_rows, select_set
from crestline.mechanisms.slot_checks import check_contribution, check_slots, unit_rate
from crestline.randomness.batch_sizes import batch_sizes
from crestline.randomness.compare import exceeds_threshold
from crestline.randomness.entropy import Entropy
from crestline.randomness.exact_reals import Real, ln
from crestline.randomness.keys import build_keys, noiseless_keys
from crestline.randomness.laws import LAPLACE, LOGISTIC, Law
from crestline.randomness.scores import LinearScores, RealScores
from crestline.randomness.unit_points import Floats

_NOISES: dict[str, Law] = {law.name: law for law in (LAPLACE, LOGISTIC)}
_MOST_ITEMS = 16  # more would take too long to list


@value
class FixedThreshold(BuiltIn):
    """Names each of the k largest items whose noisy count exceeds a threshold above the next count.

    Attributes:
        k: Items wanted; also its `k_bar`, since it sees k items and the next count.
        epsilon: ε for each item.
        delta: δ for each item, at most one half.
        noise: `"logistic"` or `"laplace"`.
        contribution: Public bound on the items of one user; None: no bound.
        slack: Failure probability of the accountant.
    """

    k: Whole = field(whole_number)
    epsilon: Number = field(positive_number)
    delta: Number = field(probability)
    noise: Name = field(one_of_names(_NOISES), default=LOGISTIC.name)
    contribution: WholeOrNone = field(check_contribution, default=None)
    slack: Number = field(non_negative_number, default=0, kw_only=True)

    theorem = "P7"

    def __post_init__(self) -> None:
        if self.delta > Fraction(1, 2):
            raise ParameterError(f"delta is for each item, and must be at most one half, not {self.delta}")
        if _swappable_items(self.k, self.contribution) * self.delta >= 1:
            raise ParameterError("delta is for each item: for all items of one user together it must stay below one")
        super().__post_init__()

    @classmethod
    def for_budget(cls, *, noise: str = LOGISTIC.name, **total: Unpack[TotalArguments]) -> Self:
        """Return the instance within a total (epsilon, delta).

        Args:
            noise: `"logistic"` or `"laplace"`.
            **total: `k`, `epsilon`, `delta`, `contribution`; `k_bar` has no effect, since it sees exactly k items.
        """
        return cls.fit(PrivacyTotal.from_arguments(cls, total), noise=noise)

    @classmethod
    def fit(cls, total: PrivacyTotal, *, noise: str = LOGISTIC.name) -> Self:
        """Half of δ is for failures, in equal parts for the items that one user can swap, and half for composition."""
        delta_failure, delta_slack = total.split_delta(Fraction(1, 2))
        each = delta_failure / _swappable_items(total.k, total.contribution)
        epsilon = per_step_epsilon(total.k, total.epsilon, delta_slack, step=lambda size: _step(noise, size))
        return cls(total.k, epsilon, each, noise, total.contribution, slack=delta_slack)

    @property
    def k_bar(self) -> int:
        return self.k

    def cost(self) -> Cost:
        swapped = _swappable_items(self.k, self.contribution)
        return repeat_step(_step(self.noise, self.epsilon), self.k, delta=swapped * self.delta)

    def release_many(self, histogram: Histogram, n: int, entropy: Entropy) -> list[Selection]:
        result: list[Selection] = []
        for trials in batch_sizes(n, self.k):
            passed = self._passes(histogram, trials, entropy)
            result += select_rows(passed.astype(np.int64), lambda row: self._selection(histogram, row))
        return result

    def law(self, histogram: Histogram) -> Mapping[Selection, float]:
        """Exact probability of every selection, for small histograms.

        Raises:
            ParameterError: There are more than 16 slots.
        """
        chances = self._chances(histogram)
        if len(chances) > _MOST_ITEMS:
            raise ParameterError("the law has too many outcomes: it is for small histograms only")
        law: defaultdict[Selection, float] = defaultdict(float)
        for row in product((False, True), repeat=len(chances)):
            law[self._selection(histogram, list(row))] += float(np.prod(np.where(row, chances, 1.0 - chances)))
        return dict(law)

    def length_law(self, histogram: Histogram) -> list[float]:
        """Exact probability of returning 0, 1, …, k items."""
        chances = self._chances(histogram)[: histogram.filled]
        lengths = count_law(chances[:, None], len(chances)).ravel()
        return [float(chance) for chance in lengths] + [0.0] * (self.k - len(chances))

    def margin(self, chance: float = 0.95) -> float:
        """Users by which an item must exceed the first item left out to be named with probability `chance`."""
        odds = np.log(chance / (1 - chance))
        tail = odds if self.noise == LOGISTIC.name else np.sign(chance - 0.5) * -np.log(2 * min(chance, 1 - chance))
        return 1 + (self._threshold_height.approx + float(tail)) / float(self.epsilon)

    @property
    def _threshold_height(self) -> Real:
        """`ε T`: the noise of an item that gained nothing exceeds it with probability δ."""
        if self.noise == LOGISTIC.name:
            return ln((1 - self.delta) / self.delta)  # P7.2
        return ln(1 / (2 * self.delta))  # P7.1

    def _gaps(self, histogram: Histogram) -> NDArray[np.int64] | None:
        """`count - next count - unit` for every slot; None if nothing was left out: then all are named (P0.8)."""
        check_slots(histogram, self.k)
        if histogram.next_count is None:
            return None
        return histogram.array - np.int64(histogram.next_count) - histogram.unit

    def _passes(self, histogram: Histogram, trials: int, entropy: Entropy) -> NDArray[np.bool_]:
        gaps = self._gaps(histogram)
        if gaps is None:
            return np.ones((trials, histogram.k_bar), dtype=np.bool_)
        scores = LinearScores(gaps, unit_rate(self.epsilon, histogram))
        noisy = build_keys(scores, _NOISES[self.noise], entropy.uniforms(trials, len(gaps)))
        return exceeds_threshold(noisy, noiseless_keys(RealScores([self._threshold_height]), trials))

    def _chances(self, histogram: Histogram) -> Floats:
        """Probability of each slot to be named."""
        gaps = self._gaps(histogram)
        if gaps is None:
            return np.ones(histogram.k_bar)
        scores = LinearScores(gaps, unit_rate(self.epsilon, histogram)).approx
        return _NOISES[self.noise].survival(self._threshold_height.approx - scores)

    def _selection(self, histogram: Histogram, row: list[int]) -> Selection:
        return select_set([histogram.name(slot) for slot, named in enumerate(row) if named], self.k)


def _swappable_items(k: int, contribution: int | None) -> int:
    """Number of the k items that one user can swap for others (P0.8)."""
    return k if contribution is None else min(contribution, k)


def _step(noise: str, epsilon: Fraction) -> Step:
    """Cost of testing one item: with logistic noise, an exponential mechanism with two outcomes (P7.2)."""
    return BoundedRange(epsilon, theorem="P7.2") if noise == LOGISTIC.name else PureDP(epsilon, theorem="P7.1")
