"""The sieve: find the heavy hash buckets, which are a public list, then apply a threshold to the items in them.

Seed        new in crestline (P18): weighted loads of hashed buckets, thresholds over the remaining items
Guarantee   (ε, δ_G(ε; μ) + δ_T) by P18.2; in a ledger one Gaussian step of μ² and δ_T; for users of c groups, with
            one release in each, (ε, δ_G(ε; √c μ) + c δ_T) by P15.1; the same with a public floor (P17.6)
Assumes     distinct pairs of a user and an item, all views in one snapshot; needs no bound on a user's items. With a
            floor, scores are counts above it, and the threshold is unchanged
Numerics    exact: whole-number weights, noisy queries rounded to a public grid with certainty, ideal keys (P11, P18.7)
Proof note  docs/proofs/sieve.md
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray

from crestline.errors import HistogramError, ParameterError
from crestline.exact_fields import Flag, Number, Whole, WholeOrNone, field, to_bool, value
from crestline.exact_numbers import positive_number, probability, whole_number
from crestline.guarantees.accountants import total
from crestline.guarantees.cost import Cost, repeat_step
from crestline.guarantees.gaussian import largest_mu_squared
from crestline.guarantees.guarantee import GaussianDP, Guarantee
from crestline.histogram.relation import PairViews
from crestline.mechanisms.mechanism import PairMechanismBase
from crestline.mechanisms.observed.choose_bound import (
    ItemCountEstimate,
    best_setting,
    share_passing,
    users_needed,
)
from crestline.mechanisms.observed.named_counts import MeanWeight, count_named, mean_weight
from crestline.mechanisms.observed.noisy_query import FINE, NoisyQuery, noisy_query, sigma_for
from crestline.mechanisms.observed.release import ReleasedRanks, ThresholdRule, draw_releases
from crestline.mechanisms.observed.thresholds import gaussian_threshold
from crestline.mechanisms.observed.weights import UNIT, Weights, gaussian_weights
from crestline.mechanisms.privacy_total import PrivacyTotal
from crestline.mechanisms.selection import Selection
from crestline.mechanisms.slot_checks import check_contribution
from crestline.randomness.entropy import Entropy
from crestline.randomness.laws import GAUSSIAN

BUCKETS = 1 << 14

# Share of δ for items that only one user has; the rest is for the Gaussian steps.
_NEW = Fraction(2, 5)
# Shares of μ²: the noisy k-th count, the users by items before the rounds and after them, and the rounds of the sieve.
_POPULAR, _USERS, _USERS_LEFT = Fraction(2, 100), Fraction(1, 100), Fraction(2, 100)
_ONE_ROUND, _TWO_ROUNDS = (Fraction(25, 100),), (Fraction(12, 100), Fraction(13, 100))
_LIGHT = 0.5  # from this mean weight of a pair on, a round of the sieve gains nothing
_PASSES = 0.9  # from this expected share of the top k on, one round is enough
_BELOW, _WIDE = 2, 2  # a bucket is kept from two σ below the k-th largest load on, and the 2k largest always
# The accountant rounds ε up in its twelfth digit, which may be a part in 10^11, and searches it a tenth as closely.
_ROUNDING = 1 - Fraction(2, 10**11)
_KEY_WORDS = 4
_IN_GROUPS = "P15.1, P18.2"
_LIKELY = 1.645  # this number of σ above the threshold, an item is named with 95% probability


def _bucket_count(buckets: int, name: str) -> int:
    return whole_number(buckets, name, at_least=2)


@value
class Sieve(PairMechanismBase):
    """Finds heavy hash buckets with noise, and names the items in them that exceed a threshold.

    Attributes:
        k: Items wanted.
        epsilon: ε of one release, all steps together.
        delta: δ of one release, all steps together.
        buckets: Number of hash buckets.
        counts: Whether to publish the number of users of each named item, which costs nothing (P23.2); not over several
            periods.
        several: Whether pairs are of several periods, where neighbours differ in the rows of one user in one of them.
        groups: Groups in which one user counts, with one release in each, that the total covers; None: one.
    """

    k: Whole = field(whole_number)
    epsilon: Number = field(positive_number)
    delta: Number = field(probability)
    buckets: Whole = field(_bucket_count, default=BUCKETS, kw_only=True)
    counts: Flag = field(to_bool, default=False, kw_only=True)
    several: Flag = field(to_bool, default=False, kw_only=True)
    groups: WholeOrNone = field(check_contribution, default=None, kw_only=True)

    theorem = "P18.2"

    def __post_init__(self) -> None:
        if self.counts and self.several:
            raise ParameterError(
                "over several periods a user has a weight in each, so that scores are no numbers of users: leave "
                "counts out, or ask about one period"
            )
        super().__post_init__()

    @classmethod
    def fit(
        cls, total: PrivacyTotal, *, counts: bool = False, several: bool = False, groups: int | None = None
    ) -> Self:
        """Return the instance that spends all of ε and δ. It reads all pairs, so `k_bar` has no effect.

        Args:
            total: The total to fit.
            counts: Whether to publish counts.
            several: Whether pairs are of several periods.
            groups: Groups of one user that the total covers, with one release in each (P15.1).

        Raises:
            ParameterError: The total has a contribution bound; the sieve chooses its own.
        """
        if total.contribution is not None:
            raise ParameterError("Sieve finds its own bound on items: leave contribution out, or take Observed")
        several_groups = None if groups == 1 else groups
        return cls(total.k, total.epsilon, total.delta, counts=counts, several=several, groups=several_groups)

    @cached_property
    def mu_squared(self) -> Fraction:
        """μ² of all Gaussian steps of one release; over all groups of a user it is added up."""
        return largest_mu_squared(self.epsilon * _ROUNDING, self.slack) / self._number_of_groups

    @property
    def delta_new(self) -> Fraction:
        """δ_T: the probability that an item which only one user has is named in one release."""
        return self.delta * _NEW / self._number_of_groups

    @property
    def slack(self) -> Fraction:  # type: ignore[override] # the field of a frozen value is never assigned
        return self.delta * (1 - _NEW)

    @property
    def _number_of_groups(self) -> int:
        """Most groups of one user: that number of releases shares the total."""
        return self.groups or 1

    def cost(self) -> Cost:
        return self._cost_of_groups(1)

    def guarantee(self) -> Guarantee:
        """The promise for one release; with `groups`, for one in each group of a user."""
        return total(
            self._cost_of_groups(self._number_of_groups),
            self.slack,
            theorem=_IN_GROUPS if self.groups else self.theorem,
        )

    def guarantee_in_groups(self, groups: int) -> Guarantee | None:
        """The promise, which covers all groups of a user at once (P15.1); None for more groups than it covers."""
        return None if groups > self._number_of_groups else self.guarantee()

    def _cost_of_groups(self, releases: int) -> Cost:
        """The Gaussian steps of some releases as one step, because their μ² add up."""
        return repeat_step(
            GaussianDP(releases * self.mu_squared, theorem=self.theorem), delta=releases * self.delta_new
        )

    def release_many(self, pairs: PairViews, n: int, entropy: Entropy) -> list[Selection]:
        return [self.release(pairs, entropy) for _ in range(n)]

    def release(self, pairs: PairViews, entropy: Entropy) -> Selection:
        """One release. Each step is chosen from what earlier steps released, and from a public floor.

        Raises:
            HistogramError: What is given shows no pairs, as a `Histogram` does not.
        """
        if not isinstance(pairs, PairViews):
            raise HistogramError(
                "this mechanism looks at pairs of user and item: make them with Pairs.from_distinct, or ask with top_k"
            )
        hidden = pairs.floor - 1
        popular = self._noisy_kth_count(pairs, entropy)
        look = self._users_by_items(pairs, _USERS, entropy)
        users, left = ItemCountEstimate.from_query(look), 1 - _POPULAR - _USERS
        if users.mean_weight() < _LIGHT:
            for share in self._choose_rounds(users, popular, left, hidden):
                pairs, left = self._sieve_round(pairs, share, entropy), left - share
            look = self._users_by_items(pairs, _USERS_LEFT, entropy)
            users, left = ItemCountEstimate.from_query(look), left - _USERS_LEFT
        setting = best_setting(users, popular, float(self.mu_squared * left), self.delta_new, hidden)
        sigma = sigma_for(self.mu_squared * left / setting.contribution)
        threshold = gaussian_threshold(setting.contribution, setting.cap, sigma, self.delta_new)
        rule = ThresholdRule(self.k, GAUSSIAN, sigma, threshold, sigma / FINE)
        items = pairs.observed_items(fresh_key(entropy), gaussian_weights(setting.contribution, setting.cap))
        (found,) = draw_releases(items, rule, 1, entropy)
        named = Selection(items.names(found.ranks), len(found.ranks) < self.k)
        if self.counts:
            named = _with_counts(named, found, rule, mean_weight(look, setting), hidden)
        return replace(named, needed=users_needed(users, setting, hidden + float(threshold) + _LIKELY * float(sigma)))

    def _noisy_kth_count(self, pairs: PairViews, entropy: Entropy) -> float:
        """The k-th largest number of users, with noise; at least one."""
        count = np.array([pairs.users_with(self.k)], dtype=np.int64)
        return max(1.0, float(noisy_query(count, 1, _POPULAR * self.mu_squared, entropy).values[0]))

    def _users_by_items(self, pairs: PairViews, share: Fraction, entropy: Entropy) -> NoisyQuery:
        moved = 2 if self.several else 1  # cells that one user changes: from one to another, or into one
        return noisy_query(pairs.users_by_items(), 1, share * self.mu_squared / moved, entropy)

    def _choose_rounds(
        self, users: ItemCountEstimate, popular: float, left: Fraction, hidden_floor: int
    ) -> tuple[Fraction, ...]:
        passing = share_passing(users, popular, float(self.mu_squared * left), self.delta_new, hidden_floor)
        return _ONE_ROUND if passing >= _PASSES else _TWO_ROUNDS

    def _sieve_round(self, pairs: PairViews, share: Fraction, entropy: Entropy) -> PairViews:
        """One round (P18.1): every bucket load gets noise, and only pairs in heavy buckets are kept."""
        key = fresh_key(entropy)
        loads = pairs.bucket_loads(key, self.buckets, _bucket_weights(self.buckets))
        return pairs.pairs_in_buckets(
            key, heavy_buckets(noisy_query(loads, UNIT, share * self.mu_squared, entropy), self.k)
        )


def heavy_buckets(loads: NoisyQuery, k: int, wide: int = _WIDE) -> NDArray[np.bool_]:
    """Buckets whose noisy load reaches the smaller of: the k-th largest less 2 σ, the 2k-th largest (P18.1).

    A rank beyond the last bucket means the smallest load.
    """
    ranked = np.sort(loads.steps)[::-1]
    last = len(ranked) - 1
    cut = min(int(ranked[min(k - 1, last)]) - _BELOW * FINE, int(ranked[min(wide * k - 1, last)]))
    return loads.steps >= cut


def _with_counts(
    named: Selection, found: ReleasedRanks, rule: ThresholdRule, weight: MeanWeight, hidden: int
) -> Selection:
    """The selection with the number of users of each item, from its released noisy score and the mean weight.

    A floor of `hidden + 1` took `hidden` full weights off every score, and off what it had to exceed.
    """
    scores = np.array(found.values, dtype=np.float64) * float(rule.grid) + hidden
    bar = float(found.bar) + hidden
    counts, bounds = count_named(scores, float(rule.scale), bar, weight, least=hidden + 1)
    return replace(named, counts=tuple(map(Fraction, counts)), bounds=tuple(bounds))


def fresh_key(entropy: Entropy) -> bytes:
    """Key for one hash: 32 random bytes."""
    return entropy.words(_KEY_WORDS).tobytes()


@lru_cache(maxsize=4)
def _bucket_weights(buckets: int) -> Weights:
    """`1/sqrt(d)` for d = 1, …, buckets, rounded down."""
    return gaussian_weights(1, buckets)
