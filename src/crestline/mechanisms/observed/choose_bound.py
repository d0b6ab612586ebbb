"""Choice of Δ and of the cap for a threshold over observed items, from released numbers alone (P18.4).

Everything here is post-processing of noisy numbers, so doubles may be used freely.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from crestline.histogram.relation import CELLS
from crestline.mechanisms.observed.count_step import across, best_stretch
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
_SURE = 0.95  # from this expected share of the top k on, it may pay to name more and to count them
_SHARES = tuple(Fraction(percent, 100) for percent in (15, 25, 35, 50, 65))  # of what is left, for the threshold then
_WIDER = (1.25, 1.5, 2.0, 3.0)  # times k items are named then


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


@dataclass(frozen=True)
class LastStep:
    """The last step, or the last two.

    Attributes:
        setting: Setting of the threshold.
        share: Share of what is left of μ² for the threshold; the rest is for the counts of what it names.
        items: Most items that the threshold names: k, or more where their counts decide which of them stay.
    """

    setting: SieveSetting
    share: Fraction
    items: int


def best_setting(
    users: ItemCountEstimate, popular: float, mu_squared: float, delta: Fraction, hidden_floor: int = 0
) -> SieveSetting:
    """Setting whose Δ has the best forecast; the smaller Δ where two are equal.

    `popular` is the noisy count of the k-th item; `hidden_floor` is what a floor subtracts from every score, in users
    (P17.6).
    """
    cap = users.choose_cap()
    candidates = _contributions(cap)
    scores = [
        _forecast(users, popular, mu_squared, delta, SieveSetting(one, cap), hidden_floor).score() for one in candidates
    ]
    return SieveSetting(candidates[int(np.argmax(scores))], cap)


def best_last_step(
    users: ItemCountEstimate, popular: float, mu_squared: float, delta: Fraction, hidden_floor: int, k: int
) -> LastStep:
    """The last step with the best forecast (P28.2).

    Where nearly all of the top k will pass, it is split if that is better: a threshold with a share of `mu_squared`
    names more than k items, and their numbers of users, with the rest, put them in order.
    """
    setting = best_setting(users, popular, mu_squared, delta, hidden_floor)
    forecast = _forecast(users, popular, mu_squared, delta, setting, hidden_floor)
    best, step = forecast.score(), LastStep(setting, Fraction(1), k)
    if forecast.passing.mean() < _SURE:
        return step
    for share in _SHARES:
        for contribution in _contributions(setting.cap):
            tried = SieveSetting(contribution, setting.cap)
            forecast = _forecast(users, popular, mu_squared * float(share), delta, tried, hidden_floor)
            for wider in _WIDER:
                items = max(round(wider * k), k + 2)
                deviation = math.sqrt(items * across(best_stretch(items)) / (mu_squared * float(1 - share)))
                found = forecast.score_ranked(items / k, deviation)
                if found > best:
                    best, step = found, LastStep(tried, share, items)
    return step


def users_needed(users: ItemCountEstimate, setting: SieveSetting, bar: float) -> float:
    """Approximate number of users whose weights add up to `bar`, at the mean weight of a pair."""
    return bar / _mean_and_variation(users, setting)[0]


@dataclass(frozen=True)
class _Forecast:
    """What a threshold is expected to do.

    Attributes:
        popular: The noisy count of the k-th item.
        counts: Assumed counts of the true top k.
        passing: Probability of each of them to exceed the threshold.
        deviation: Standard deviation of a noisy score as an estimate of a count, in users: noise, and the bias between
            heavy and light users.
    """

    popular: float
    counts: Floats
    passing: Floats
    deviation: float

    def score(self) -> float:
        """Expected share that passes, less a penalty for the deviation."""
        return float(self.passing.mean()) - _NOISE_COST * self.deviation / self.popular

    def score_ranked(self, wider: float, deviation: float) -> float:
        """The same where `wider` times k items are named, and then ranked by counts with noise of this deviation."""
        from scipy.special import ndtr

        among = ndtr((self.counts - self.popular * wider**-0.5) / self.deviation)
        together = 1 / math.hypot(1 / self.deviation, 1 / deviation)
        return float((self.passing * among).mean()) - _NOISE_COST * together / self.popular


def _forecast(
    users: ItemCountEstimate,
    popular: float,
    mu_squared: float,
    delta: Fraction,
    setting: SieveSetting,
    hidden_floor: int,
) -> _Forecast:
    """Forecast of a threshold that spends `mu_squared`."""
    from scipy.special import ndtr

    weight, spread = _mean_and_variation(users, setting)
    sigma = math.sqrt(setting.contribution / mu_squared)
    threshold = rough_threshold(setting.contribution, setting.cap, sigma, delta) + hidden_floor
    counts = popular * ((np.arange(_RANKS) + 0.5) / _RANKS) ** -0.5
    deviation = math.hypot(sigma / weight, _BIAS_COST * popular * spread)
    return _Forecast(popular, counts, ndtr((weight * counts - threshold) / sigma), deviation)


def _contributions(cap: int) -> list[int]:
    """The contributions to choose from: powers of two up to the cap."""
    return [1 << j for j in range(cap.bit_length())]


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
