"""Base class of the limited domain with Laplace and with Gaussian noise: noise on every slot and on ⊥ (P4).

    v_j = x_j + noise        v_⊥ = b + 1 + T + noise        labels in descending order until ⊥, an empty slot, or k

Because the noise is added to the counts themselves, the noisy counts of the returned items may be published at no
extra cost, once the cost is that of all numbers and not only of their order.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from typing import ClassVar, Self, Unpack

import numpy as np

from crestline.errors import ParameterError
from crestline.exact_numbers import Exact
from crestline.histogram.histogram import Histogram
from crestline.histogram.histogram_table import HistogramTable
from crestline.mechanisms.limited_domain.additive_law import length_law, ordered_law
from crestline.mechanisms.privacy_total import PrivacyTotal, TotalArguments
from crestline.mechanisms.selection import Selection, select_ranked_rows, select_table_rows
from crestline.mechanisms.slot_checks import check_slots, check_table, split_table, unstable_slots
from crestline.mechanisms.slot_mechanism import OverSlots
from crestline.randomness.batch_sizes import batch_sizes
from crestline.randomness.compare import exceeds_threshold, largest_columns, round_to_grid
from crestline.randomness.entropy import Entropy
from crestline.randomness.exact_reals import Real
from crestline.randomness.keys import build_keys
from crestline.randomness.laws.law import Law
from crestline.randomness.scores import LinearScores, RealScores, Scores
from crestline.randomness.unit_points import Floats

UNION, CLOSED = "union", "closed"


class AdditiveNoise(OverSlots):
    """Subclasses define the noise, its scale and the threshold T; `counts` publishes noisy counts on a public grid."""

    delta: Fraction
    contribution: int | None
    counts: bool
    grid: int
    threshold: str

    noise: ClassVar[Law]

    def __post_init__(self) -> None:
        if self.counts and self.contribution is None:
            # Counts are free only when the noise covers every number one user moves, so that must be bounded.
            raise ParameterError("counts=True needs a contribution bound: without one only the order is covered (P2.7)")
        super().__post_init__()

    @classmethod
    def for_budget(cls, *, counts: bool = False, **total: Unpack[TotalArguments]) -> Self:
        """Return the instance within a total (epsilon, delta).

        Args:
            counts: Whether to publish noisy counts; needs a contribution bound.
            **total: `k`, `epsilon`, `delta`, `k_bar`, `contribution`.

        Raises:
            ParameterError: `counts` is true and there is no contribution bound.
        """
        return cls.fit(PrivacyTotal.from_arguments(cls, total), counts=counts)

    @classmethod
    @abstractmethod
    def fit(cls, total: PrivacyTotal, *, counts: bool = False) -> Self:
        """The instance within a total; `counts` as in `for_budget`."""

    @property
    @abstractmethod
    def scale(self) -> Fraction:
        """Scale of the noise, in users."""

    @property
    def bottom_scale(self) -> Fraction:
        """Scale of the noise of ⊥, in users."""
        return self.scale

    @abstractmethod
    def bottom_height(self, unstable: int) -> Fraction:
        """T: users by which ⊥ exceeds the first count left out, if one user can swap `unstable` slots (P2.3)."""

    @abstractmethod
    def margin_over_stop(self, chance: Exact) -> Fraction:
        """Users by which a count must exceed the score of ⊥ for its key to be larger with this probability (P2.3)."""

    def release_many(self, histogram: Histogram, n: int, entropy: Entropy) -> list[Selection]:
        base = self._grid_base(histogram)
        counts, bottom = self._relative_counts(histogram, base), self._bottom_score(histogram, base)
        result: list[Selection] = []
        for trials in batch_sizes(n, histogram.k_bar):
            uniforms = entropy.uniforms(trials, histogram.k_bar)
            noisy = build_keys(counts, self.noise, uniforms, scale=self.scale * histogram.unit)
            order = largest_columns(noisy, self.k)
            drawn = order
            if bottom is not None:
                scale = self.bottom_scale * histogram.unit
                stop = build_keys(RealScores([Real(bottom)]), self.noise, entropy.uniforms(trials, 1), scale=scale)
                drawn = np.where(exceeds_threshold(noisy, stop, order), order, histogram.k_bar)
            named = select_ranked_rows(histogram, drawn, histogram.k_bar, self.k)
            if self.counts:
                # The published number is the key that was ranked, rounded: post-processing (P4.1, P4.2).
                values = round_to_grid(noisy, Fraction(self.grid), order) * self.grid + base
                named = list(map(_add_counts, named, values.tolist()))
            result += named
        return result

    def release_each(self, table: HistogramTable, entropy: Entropy) -> list[Selection]:
        check_table(table, self.k_bar)
        self._check_unit(table.unit)
        result: list[Selection] = []
        for part in split_table(table):
            result += self._release_table(part, entropy)
        return result

    def _release_table(self, table: HistogramTable, entropy: Entropy) -> list[Selection]:
        """One release for every row; scores are relative to a multiple of the grid near the row's next count."""
        rows, unit, base = len(table), table.unit, table.next_counts - table.next_counts % self.grid
        scores, scale = LinearScores(table.array - base[:, None], Fraction(1)), self.scale * unit
        noisy = build_keys(scores, self.noise, entropy.uniforms(rows, self.k_bar), scale=scale)
        order = largest_columns(noisy, self.k)
        height = Real(unit * (1 + self.bottom_height(self._most_unstable_slots)))
        stop = LinearScores((table.next_counts - base)[:, None], Fraction(1), height)
        stops = build_keys(stop, self.noise, entropy.uniforms(rows, 1), scale=self.bottom_scale * unit)
        named = select_table_rows(table, np.where(exceeds_threshold(noisy, stops, order), order, self.k_bar), self.k)
        if not self.counts:
            return named
        values = round_to_grid(noisy, Fraction(self.grid), order) * self.grid + base[:, None]
        return list(map(_add_counts, named, values.tolist()))

    def law(self, histogram: Histogram) -> Mapping[Selection, float]:
        """Exact probability of every selection, for small histograms.

        Raises:
            ParameterError: Counts are published, or there are too many outcomes.
        """
        if self.counts:
            raise ParameterError("the law of published counts is not written down: ask for it without counts")
        scores, scales = self._scores_and_scales(histogram)
        labels = [histogram.name(position) for position in range(histogram.k_bar)]
        return ordered_law(scores, self.noise, scales, labels, self.k)

    def length_law(self, histogram: Histogram) -> list[float]:
        """Exact probability of returning 0, 1, …, k items (P4.3)."""
        scores, scales = self._scores_and_scales(histogram)
        items, stops = np.split(scores, [histogram.filled])
        scale = float(self.scale * histogram.unit)
        return length_law(items, stops, self.noise, scale, scales[histogram.filled :], self.k)

    def margin(self, chance: float = 0.95) -> float:
        """Users by which an item must exceed the first item left out to come before ⊥ with probability `chance`."""
        return 1 + float(self.bottom_height(self._most_unstable_slots) + self.margin_over_stop(chance))

    def margin_for_all(self, chance: float = 0.95) -> float:
        """Users by which the k-th count must exceed the next for all k to be returned with this probability (P4.3)."""
        return self.margin(1 - (1 - chance) / self.k)

    @property
    def _most_unstable_slots(self) -> int:
        return self.k_bar if self.contribution is None else min(self.contribution, self.k_bar)

    def _grid_base(self, histogram: Histogram) -> int:
        """A multiple of the grid near the next count: scores relative to it are small and keep their digits."""
        near = histogram.next_count
        return 0 if near is None else near - near % self.grid

    def _relative_counts(self, histogram: Histogram, base: int) -> Scores:
        """Count of each slot, relative to the base."""
        check_slots(histogram, self.k_bar)
        self._check_unit(histogram.unit)
        return LinearScores(histogram.array - np.int64(base), Fraction(1))

    def _check_unit(self, unit: int) -> None:
        """Refuse counts that one user moves by more than the noise covers."""

    def _bottom_score(self, histogram: Histogram, base: int) -> Fraction | None:
        """Score of ⊥ before noise, relative to the base; None if nothing was left out (P0.8)."""
        if histogram.next_count is None:
            return None
        unstable = unstable_slots(histogram, self.k_bar, self.contribution)
        return histogram.next_count - base + histogram.unit * (1 + self.bottom_height(unstable))

    def _scores_and_scales(self, histogram: Histogram) -> tuple[Floats, Floats]:
        """Scores and scales of the noise: slots first, then ⊥ if there is one."""
        base = self._grid_base(histogram)
        counts, bottom = self._relative_counts(histogram, base).approx, self._bottom_score(histogram, base)
        scales = [float(self.scale * histogram.unit)] * len(counts)
        if bottom is None:
            return counts, np.array(scales)
        return np.append(counts, float(bottom)), np.array([*scales, float(self.bottom_scale * histogram.unit)])


def _add_counts(named: Selection, counts: list[int]) -> Selection:
    return Selection(named.items, named.stopped, tuple(Fraction(count) for count in counts[: len(named)]))
