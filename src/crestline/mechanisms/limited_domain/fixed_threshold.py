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
from crestline.fields import Name, Number, Whole, WholeOrNone, field, value
from crestline.guarantees.accountants import per_step_epsilon
from crestline.guarantees.cost import Cost, Step, steps
from crestline.guarantees.guarantee import BoundedRange, PureDP
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.mechanism import BuiltIn
from crestline.mechanisms.numerics.poisson_binomial import capped
from crestline.mechanisms.selection import Selection, collected, selections
from crestline.mechanisms.slots import check_slots, contribution_bound, unit_rate
from crestline.mechanisms.total import Total, TotalArguments
from crestline.parameters import not_negative, one_of, positive, probability, whole
from crestline.randomness.batches import batches
from crestline.randomness.compare import exceeding
from crestline.randomness.entropy import Entropy
from crestline.randomness.keys import fixed, keys
from crestline.randomness.laws import LAPLACE, LOGISTIC, Law
from crestline.randomness.reals import Real, ln
from crestline.randomness.scores import Linear, Listed
from crestline.randomness.unit_points import Floats

_NOISES: dict[str, Law] = {law.name: law for law in (LAPLACE, LOGISTIC)}
_MOST_ITEMS = 16  # more would take too long to list


@value
class FixedThreshold(BuiltIn):
    """Names each of the k largest items whose noisy count exceeds a threshold above the next count.

    `epsilon` and `delta` are for each item. The mechanism sees k items and the next count, so its k_bar is k.
    """

    k: Whole = field(whole)
    epsilon: Number = field(positive)
    delta: Number = field(probability)
    noise: Name = field(one_of(_NOISES), default=LOGISTIC.name)
    contribution: WholeOrNone = field(contribution_bound, default=None)
    slack: Number = field(not_negative, default=0, kw_only=True)

    theorem = "P7"

    def __post_init__(self) -> None:
        if self.delta > Fraction(1, 2):
            raise ParameterError(f"delta is for each item, and must be at most one half, not {self.delta}")
        if _swapped(self.k, self.contribution) * self.delta >= 1:
            raise ParameterError("delta is for each item: for all items of one user together it must stay below one")
        super().__post_init__()

    @classmethod
    def for_budget(cls, *, noise: str = LOGISTIC.name, **total: Unpack[TotalArguments]) -> Self:
        """The instance within a total (epsilon, delta). It sees exactly k items, so `k_bar` changes nothing."""
        return cls.fit(Total.of(cls, total), noise=noise)

    @classmethod
    def fit(cls, total: Total, *, noise: str = LOGISTIC.name) -> Self:
        """Half of δ is for failures, in equal parts for the items that one user can swap, and half for composition."""
        delta_failure, delta_slack = total.split_delta(Fraction(1, 2))
        each = delta_failure / _swapped(total.k, total.contribution)
        epsilon = per_step_epsilon(total.k, total.epsilon, delta_slack, step=lambda size: _step(noise, size))
        return cls(total.k, epsilon, each, noise, total.contribution, slack=delta_slack)

    @property
    def k_bar(self) -> int:
        return self.k

    def cost(self) -> Cost:
        swapped = _swapped(self.k, self.contribution)
        return steps(_step(self.noise, self.epsilon), self.k, delta=swapped * self.delta)

    def release_many(self, histogram: Histogram, n: int, entropy: Entropy) -> list[Selection]:
        result: list[Selection] = []
        for trials in batches(n, self.k):
            passed = self._passed(histogram, trials, entropy)
            result += selections(passed.astype(np.int64), lambda row: self._selection(histogram, row))
        return result

    def law(self, histogram: Histogram) -> Mapping[Selection, float]:
        """The exact probability of every selection, for small histograms."""
        chances = self._chances(histogram)
        if len(chances) > _MOST_ITEMS:
            raise ParameterError("the law has too many outcomes: it is for small histograms only")
        law: defaultdict[Selection, float] = defaultdict(float)
        for row in product((False, True), repeat=len(chances)):
            law[self._selection(histogram, list(row))] += float(np.prod(np.where(row, chances, 1.0 - chances)))
        return dict(law)

    def length_law(self, histogram: Histogram) -> list[float]:
        """The exact probability of returning 0, 1, …, k items."""
        chances = self._chances(histogram)[: histogram.filled]
        lengths = capped(chances[:, None], len(chances)).ravel()
        return [float(chance) for chance in lengths] + [0.0] * (self.k - len(chances))

    def margin(self, chance: float = 0.95) -> float:
        """How many users above the first item left out an item must be to be named with this chance."""
        odds = np.log(chance / (1 - chance))
        tail = odds if self.noise == LOGISTIC.name else np.sign(chance - 0.5) * -np.log(2 * min(chance, 1 - chance))
        return 1 + (self._height.approx + float(tail)) / float(self.epsilon)

    @property
    def _height(self) -> Real:
        """`ε T`: the noise of an item that gained nothing exceeds it with probability δ."""
        if self.noise == LOGISTIC.name:
            return ln((1 - self.delta) / self.delta)  # P7.2
        return ln(1 / (2 * self.delta))  # P7.1

    def _gaps(self, histogram: Histogram) -> NDArray[np.int64] | None:
        """`count - next count - unit` for every slot; None when nothing was left out: then all are named (P0.8)."""
        check_slots(histogram, self.k)
        if histogram.next_count is None:
            return None
        return histogram.array - np.int64(histogram.next_count) - histogram.unit

    def _passed(self, histogram: Histogram, trials: int, entropy: Entropy) -> NDArray[np.bool_]:
        gaps = self._gaps(histogram)
        if gaps is None:
            return np.ones((trials, histogram.k_bar), dtype=np.bool_)
        scores = Linear(gaps, unit_rate(self.epsilon, histogram))
        noisy = keys(scores, _NOISES[self.noise], entropy.uniforms(trials, len(gaps)))
        return exceeding(noisy, fixed(Listed([self._height]), trials))

    def _chances(self, histogram: Histogram) -> Floats:
        """Each slot's chance to be named."""
        gaps = self._gaps(histogram)
        if gaps is None:
            return np.ones(histogram.k_bar)
        scores = Linear(gaps, unit_rate(self.epsilon, histogram)).approx
        return _NOISES[self.noise].survival(self._height.approx - scores)

    def _selection(self, histogram: Histogram, row: list[int]) -> Selection:
        return collected([histogram.name(slot) for slot, named in enumerate(row) if named], self.k)


def _swapped(k: int, contribution: int | None) -> int:
    """How many of the k items one user can swap for others (P0.8)."""
    return k if contribution is None else min(contribution, k)


def _step(noise: str, epsilon: Fraction) -> Step:
    """The cost of testing one item: with logistic noise, an exponential mechanism with two outcomes (P7.2)."""
    return BoundedRange(epsilon, theorem="P7.2") if noise == LOGISTIC.name else PureDP(epsilon, theorem="P7.1")
