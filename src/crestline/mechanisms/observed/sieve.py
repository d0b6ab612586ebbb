"""The sieve: find the heavy hash buckets, which are a public list, then apply a threshold to the items in them.

Seed        new in crestline (P18, P28): weighted loads of hashed buckets, a threshold over the remaining items, and
            where that names all that is wanted, their numbers of users
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
from functools import cached_property
from typing import Self

import numpy as np

from crestline.errors import HistogramError, ParameterError
from crestline.exact_fields import Flag, Number, Whole, WholeOrNone, field, to_bool, value
from crestline.exact_numbers import positive_number, probability, whole_number
from crestline.guarantees.accountants import total
from crestline.guarantees.cost import Cost, repeat_step
from crestline.guarantees.gaussian import largest_mu_squared
from crestline.guarantees.guarantee import GaussianDP, Guarantee
from crestline.histogram.observed_items import ObservedItems
from crestline.histogram.relation import PairViews
from crestline.mechanisms.mechanism import PairMechanismBase
from crestline.mechanisms.observed.bucket_rounds import fresh_key, keep_heavy_buckets
from crestline.mechanisms.observed.choose_bound import (
    ItemCountEstimate,
    LastStep,
    best_last_step,
    best_setting,
    users_needed,
)
from crestline.mechanisms.observed.count_step import NoisyUsers, add_noise_to_users
from crestline.mechanisms.observed.named_counts import MeanWeight, NoisyScores, combine_counts, count_named, mean_weight
from crestline.mechanisms.observed.noisy_query import FINE, NoisyQuery, noisy_query, sigma_for
from crestline.mechanisms.observed.release import ReleasedRanks, ThresholdRule, draw_releases
from crestline.mechanisms.observed.thresholds import gaussian_threshold
from crestline.mechanisms.observed.weights import gaussian_weights
from crestline.mechanisms.privacy_total import PrivacyTotal
from crestline.mechanisms.selection import Selection
from crestline.mechanisms.slot_checks import check_contribution
from crestline.randomness.entropy import Entropy
from crestline.randomness.laws import GAUSSIAN

BUCKETS = 1 << 14

# Share of δ for items that only one user has; the rest is for the Gaussian steps.
_NEW = Fraction(2, 5)
# Shares of μ²: the noisy k-th count, the users by items before the rounds and after them, and the rounds of the sieve.
_POPULAR, _USERS, _USERS_LEFT, _ROUNDS = (Fraction(percent, 100) for percent in (2, 1, 2, 30))
_COUNTS = Fraction(20, 100)  # share of what is left for counts over several periods
_LIGHT = 0.5  # from this mean weight of a pair on, rounds of the sieve gain nothing
# The accountant rounds ε up in its twelfth digit, which may be a part in 10^11, and searches it a tenth as closely.
_ROUNDING = 1 - Fraction(2, 10**11)
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
        counts: Whether to publish the number of users of each named item. It costs nothing (P23.2), except over several
            periods, where a share of the total is for it (P23.3).
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
                "this mechanism looks at pairs of user and item: make a Relation of them, or ask with top_k"
            )
        hidden = pairs.floor - 1
        popular = self._noisy_kth_count(pairs, entropy)
        look = self._users_by_items(pairs, _USERS, entropy)
        users, left = ItemCountEstimate.from_query(look), 1 - _POPULAR - _USERS
        if users.mean_weight() < _LIGHT:
            pairs = keep_heavy_buckets(pairs, self.k, self.buckets, _ROUNDS * self.mu_squared, entropy)
            look = self._users_by_items(pairs, _USERS_LEFT, entropy)
            users, left = ItemCountEstimate.from_query(look), left - _ROUNDS - _USERS_LEFT
        mu_squared = self.mu_squared * left
        step = self._choose_last_step(users, popular, mu_squared, hidden)
        setting = step.setting
        sigma = sigma_for(mu_squared * step.share / setting.contribution)
        threshold = gaussian_threshold(setting.contribution, setting.cap, sigma, self.delta_new)
        rule = ThresholdRule(step.items, GAUSSIAN, sigma, threshold, sigma / FINE)
        items = pairs.observed_items(fresh_key(entropy), gaussian_weights(setting.contribution, setting.cap))
        (found,) = draw_releases(items, rule, 1, entropy)
        if step.share < 1:
            rest = mu_squared * (1 - step.share)
            counted = add_noise_to_users(items.count_users(found.ranks), rest, entropy, several=self.several)
        else:
            counted = None
        named = self._name_items(items, found, counted, rule, None if self.several else mean_weight(look, setting))
        return replace(named, needed=users_needed(users, setting, hidden + float(threshold) + _LIKELY * float(sigma)))

    def _choose_last_step(
        self, users: ItemCountEstimate, popular: float, mu_squared: Fraction, hidden_floor: int
    ) -> LastStep:
        given = users, popular, float(mu_squared), self.delta_new, hidden_floor
        if not self.several:
            return best_last_step(*given, self.k)
        # A user has a weight in each period, so that scores are no numbers of users, and P23.6 is for one period.
        share = 1 - _COUNTS if self.counts else Fraction(1)
        return LastStep(best_setting(users, popular, float(share * mu_squared), *given[3:]), share, self.k)

    def _name_items(
        self,
        items: ObservedItems,
        found: ReleasedRanks,
        counted: NoisyUsers | None,
        rule: ThresholdRule,
        weight: MeanWeight | None,
    ) -> Selection:
        """The selection: the items that the threshold named, in the order of their counts where these were released.

        A floor of `hidden + 1` took `hidden` full weights off every score, and off what it had to exceed. Over several
        periods there is no mean weight, and released counts alone are the counts.
        """
        hidden = items.floor - 1
        values = np.array(found.values, dtype=np.float64) * float(rule.grid) + hidden
        scores = NoisyScores(values, float(rule.scale), float(found.bar) + hidden)
        if counted is None:
            names = items.names(found.ranks)
            if not self.counts or weight is None:
                return Selection(names, len(names) < self.k)
            counts, bounds = count_named(scores, weight, least=hidden + 1)
            return Selection(names, len(names) < self.k, tuple(map(Fraction, counts)), bounds=tuple(bounds))
        values, bounds = combine_counts(scores, weight, counted, least=hidden + 1)
        order = np.argsort(-values, kind="stable")[: self.k].tolist()
        names = items.names([found.ranks[place] for place in order])
        if not self.counts:
            return Selection(names, len(names) < self.k)
        counts = np.rint(values).astype(np.int64).tolist()
        return Selection(
            names,
            len(names) < self.k,
            tuple(Fraction(counts[place]) for place in order),
            bounds=tuple(bounds[place] for place in order),
        )

    def _noisy_kth_count(self, pairs: PairViews, entropy: Entropy) -> float:
        """The k-th largest number of users, with noise; at least one."""
        count = np.array([pairs.users_with(self.k)], dtype=np.int64)
        return max(1.0, float(noisy_query(count, 1, _POPULAR * self.mu_squared, entropy).values[0]))

    def _users_by_items(self, pairs: PairViews, share: Fraction, entropy: Entropy) -> NoisyQuery:
        moved = 2 if self.several else 1  # cells that one user changes: from one to another, or into one
        return noisy_query(pairs.users_by_items(), 1, share * self.mu_squared / moved, entropy)
