"""Choice of Δ and of the cap for a threshold over observed items, from released numbers alone (P18.4).

Everything here is post-processing of noisy numbers, so doubles may be used freely.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from crestline.histogram.relation import CELLS
from crestline.mechanisms.observed.noisy_query import NoisyQuery
from crestline.mechanisms.observed.thresholds import rough_threshold
from crestline.mechanisms.observed.weights import UNIT, gaussian_weights
from crestline.randomness.unit_points import Floats

MIDDLES = np.array([1.0, *(2 ** (j - 0.42) for j in range(1, CELLS))])
"""Number of items assumed for a user of a cell: 1, and a little below the middle of 2^(j-1) < m ≤ 2^j."""
_STANDS = 3.0  # a cell counts only if it is at least this number of standard deviations above zero
_DEFAULT_CAP, _SMALLEST_CAP = 16, 4
_ABOVE_CAP = 0.02  # the share of users whose items may be cut down to the cap
_DEFAULT_ITEMS = 4  # items assumed for a user when the estimate is empty
_RANKS = 16  # ranks of the true top k at which the forecast is evaluated
_NOISE_COST, _BIAS_COST = 0.4, 0.3


@dataclass(frozen=True)
class ItemCountEstimate:
    """Estimated number of users by number of items, one value for each cell."""

    cells: Floats

    @classmethod
    def from_query(cls, look: NoisyQuery) -> ItemCountEstimate:
        values = look.values
        return cls(np.where(values > _STANDS * float(look.sigma), values, 0.0))

    @property
    def is_known(self) -> bool:
        return bool(self.cells.sum() > 0)

    def mean_weight(self) -> float:
        """Mean weight of a pair when Δ is 1; zero when nothing is known."""
        return float(self.cells @ np.sqrt(MIDDLES) / (self.cells @ MIDDLES)) if self.is_known else 0.0

    def choose_cap(self) -> int:
        """Smallest power of two, at least four, that all but a few users stay within."""
        if not self.is_known:
            return _DEFAULT_CAP
        above = self.cells[::-1].cumsum()[::-1] - self.cells
        return max(_SMALLEST_CAP, 1 << int(np.flatnonzero(above <= _ABOVE_CAP * self.cells.sum())[0]))


@dataclass(frozen=True)
class SieveSetting:
    """Setting of the last step: the Δ that the noise covers, and the most items of a user that are kept."""

    contribution: int
    cap: int


def best_setting(
    users: ItemCountEstimate, popular: float, mu_squared: float, delta: Fraction, hidden_floor: int = 0
) -> SieveSetting:
    """Setting whose Δ has the best forecast; the smaller Δ where two are equal.

    `popular` is the noisy count of the k-th item; `hidden_floor` is what a floor subtracts from every score, in users
    (P17.6).
    """
    cap = users.choose_cap()
    candidates = [1 << j for j in range(cap.bit_length())]
    scores = [
        _setting_score(users, popular, mu_squared, delta, SieveSetting(one, cap), hidden_floor) for one in candidates
    ]
    return SieveSetting(candidates[int(np.argmax(scores))], cap)


def share_passing(
    users: ItemCountEstimate, popular: float, mu_squared: float, delta: Fraction, hidden_floor: int = 0
) -> float:
    """Expected share of the true top k above the threshold, with the best setting."""
    setting = best_setting(users, popular, mu_squared, delta, hidden_floor)
    return _expected_share(users, popular, mu_squared, delta, setting, hidden_floor)[0]


def users_needed(users: ItemCountEstimate, setting: SieveSetting, bar: float) -> float:
    """Approximate number of users whose weights add up to `bar`, at the mean weight of a pair."""
    return bar / _mean_and_variation(users, setting)[0]


def _setting_score(
    users: ItemCountEstimate,
    popular: float,
    mu_squared: float,
    delta: Fraction,
    setting: SieveSetting,
    hidden_floor: int = 0,
) -> float:
    """Expected share that passes, less a penalty for noise and for the bias between heavy and light users."""
    passing, weight, spread, sigma = _expected_share(users, popular, mu_squared, delta, setting, hidden_floor)
    return passing - _NOISE_COST * math.hypot(sigma / weight, _BIAS_COST * popular * spread) / popular


def _expected_share(
    users: ItemCountEstimate,
    popular: float,
    mu_squared: float,
    delta: Fraction,
    setting: SieveSetting,
    hidden_floor: int,
) -> tuple[float, float, float, float]:
    """Share that passes, mean weight of a pair, its coefficient of variation, and σ."""
    from scipy.special import ndtr

    weight, spread = _mean_and_variation(users, setting)
    sigma = math.sqrt(setting.contribution / mu_squared)
    threshold = rough_threshold(setting.contribution, setting.cap, sigma, delta) + hidden_floor
    counts = popular * ((np.arange(_RANKS) + 0.5) / _RANKS) ** -0.5
    return float(ndtr((weight * counts - threshold) / sigma).mean()), weight, spread, sigma


def _mean_and_variation(users: ItemCountEstimate, setting: SieveSetting) -> tuple[float, float]:
    """Mean weight of a pair, and its coefficient of variation between pairs."""
    table = gaussian_weights(setting.contribution, setting.cap) / UNIT
    if not users.is_known:
        return float(table[min(_DEFAULT_ITEMS, setting.cap) - 1]), 0.0
    alone, shares = weights_by_cell(setting)
    weights, pairs = alone * shares, users.cells * MIDDLES
    mean = float(pairs @ weights / pairs.sum())
    variance = float(pairs @ weights**2 / pairs.sum()) - mean**2
    return mean, math.sqrt(max(0.0, variance)) / mean


def weights_by_cell(setting: SieveSetting) -> tuple[Floats, Floats]:
    """For a user of each cell the weight of an item that is kept, and the share of items that are."""
    weights = np.minimum(1.0, np.sqrt(setting.contribution / np.minimum(MIDDLES, setting.cap)))
    return weights, np.minimum(1.0, setting.cap / MIDDLES)
