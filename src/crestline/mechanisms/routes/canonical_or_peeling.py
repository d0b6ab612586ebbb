"""Canonical or peeling: a private test of a public list decides which of the two selects the k items.

Seed        new in crestline (P20): ShekelyanLoukides2022's canonical mechanism, peeling, and a coin between them
Guarantee   (ε, δ) with the choice published (P20.3): the coin is one step of bounded range, and each way fits after it
Assumes     the list of items is public, every item listed or counted; a user moves each count by at most the step
Numerics    exact: the coin's log odds are rational and it is drawn with certainty (P11), as are both mechanisms
Proof note  docs/proofs/canonical_or_peeling.md

The canonical mechanism returns the exact set if the best k clearly lead together, and a random one if they do not.
Peeling degrades slowly, but seldom has all k right. The type of the selection publishes the choice: the canonical
mechanism returns a set, peeling a list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Self, TypeAlias, Unpack

import numpy as np

from crestline.errors import ParameterError
from crestline.exact_fields import ConvertedField, Name, Number, Whole, field, value
from crestline.exact_numbers import Exact, non_negative_number, positive_number, proportion, whole_number
from crestline.guarantees.accountants import Renyi, per_step_epsilon, total_epsilon
from crestline.guarantees.cost import Cost, repeat_step
from crestline.guarantees.guarantee import ApproxDP, BoundedRange, Guarantee, WorstOfSteps
from crestline.guarantees.root_finding import largest_within
from crestline.histogram.count_levels import CountLevels, PerHistogramCache, count_levels
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.canonical.canonical import Canonical
from crestline.mechanisms.mechanism import BuiltIn
from crestline.mechanisms.privacy_total import PrivacyTotal, TotalArguments
from crestline.mechanisms.public_list.lipschitz import Lipschitz
from crestline.mechanisms.public_list.noises import lipschitz_noise
from crestline.mechanisms.routes.clear_choice import ClearChoiceTest, log_subsets_bound
from crestline.mechanisms.selection import Selection
from crestline.randomness.entropy import Entropy
from crestline.randomness.laws.exponential import EXPONENTIAL
from crestline.randomness.laws.logistic import LOGISTIC

# Other values are compared in docs/decisions/public-lists.md.
_GAMMA = Fraction(2, 3)  # P20.1
_LEAN = Fraction("7.6")  # log odds with which a clear case is decided wrongly once in two thousand times (P20.2)
_MOST, _ENOUGH = Fraction(7, 100), 21  # the coin's share of ε is at most 7% and at most 21/ln C(d, k)
_USUAL_LIST = 10**4  # assumed length of a public list before it is known
_DIGITS = 6  # digits to which the steps of peeling are found
_LATEST = Fraction(999, 1000)  # largest `eta`
_LOG_ODDS = PerHistogramCache[Fraction]()

_NumberOrNone: TypeAlias = ConvertedField[Exact | None, Fraction | None]


def _proportion_or_none(given: Exact | None, name: str) -> Fraction | None:
    return None if given is None else proportion(given, name)


@value
class CanonicalOrPeeling(BuiltIn):
    """Tests whether the best k clearly lead, then selects by the canonical mechanism or by peeling.

    Attributes:
        k: Items wanted.
        look: ε of the coin.
        epsilon: ε of the canonical mechanism.
        step: ε of each of k peeling steps.
        gamma: Weight of the lowest count taken against the largest left out, at least one half.
        noise: Noise of the canonical mechanism, one of the five of P8.1.
        eta: The coin uses the rate `(1 - eta) epsilon`, so that it changes to peeling before the canonical mechanism
            fails. By default it depends on the length of the list, such that both are equally likely where the best k
            just begin to lead.
        lean: Log odds of the canonical mechanism if the best k clearly lead.
        slack: Failure probability of the accountant, for peeling.
    """

    k: Whole = field(whole_number)
    look: Number = field(positive_number)
    epsilon: Number = field(positive_number)
    step: Number = field(positive_number)
    gamma: Number = field(proportion, default=_GAMMA)
    noise: Name = field(lipschitz_noise, default=EXPONENTIAL.name)
    eta: _NumberOrNone = field(_proportion_or_none, default=None)
    lean: Number = field(non_negative_number, default=_LEAN)
    slack: Number = field(proportion, default=0)

    theorem = "P20.3"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gamma < Fraction(1, 2):
            raise ParameterError("gamma must be at least one half: below, the coin would cost more (P20.3)")
        if self.eta == 1:
            raise ParameterError("eta must be smaller than one")

    @classmethod
    def for_budget(cls, *, noise: str = EXPONENTIAL.name, **total: Unpack[TotalArguments]) -> Self:
        """Return the instance within a total (epsilon, delta).

        Args:
            noise: Noise of the canonical mechanism, one of the five of P8.1.
            **total: `k`, `epsilon`, `delta`; as in `Lipschitz`, `k_bar` and `contribution` have no effect.
        """
        return cls.fit(PrivacyTotal.from_arguments(cls, total), noise=noise)

    @classmethod
    def fit(cls, total: PrivacyTotal, *, noise: str = EXPONENTIAL.name) -> Self:
        """The instance within a total; all of δ is slack, for peeling."""
        k, delta_slack, look = total.k, total.delta, total.epsilon * _share(total.k)
        roughly = per_step_epsilon(k, total.epsilon - look, delta_slack, Renyi() if delta_slack else None)
        step = largest_within(
            lambda each: total_epsilon(_peeling_cost(look, each, k), delta_slack),
            total.epsilon,
            start=roughly,
            digits=_DIGITS,
        )
        return cls(k, look, total.epsilon - look, step, noise=noise, slack=delta_slack)

    @property
    def canonical(self) -> Canonical:
        """The mechanism that selects a set."""
        return Canonical(self.k, self.epsilon, self.gamma, self.noise)

    @property
    def peeling(self) -> Lipschitz:
        """The mechanism that selects a list."""
        return Lipschitz(self.k, self.k * self.step)

    def guarantee(self) -> Guarantee:
        """The larger of the two promises, each with the coin before it (P20.3)."""
        peeled = total_epsilon(_peeling_cost(self.look, self.step, self.k), self.slack)
        return ApproxDP(max(self.look + self.epsilon, peeled), self.slack, theorem=self.theorem)

    def cost(self) -> Cost:
        """Cost of the coin and of the more expensive mechanism, in each measure that a ledger adds up."""
        return self._look_cost + self._cost_of_either(max)

    def settlement_cost(self, selection: Selection) -> Cost:
        """Cost of the coin and of the mechanism that answered: a set is the canonical mechanism's, a list peeling's
        (P10.5).

        Only an empty list of items returns nothing, which reveals nothing: then the cheaper mechanism is charged.
        """
        if not selection.items:
            return self._look_cost + self._cost_of_either(min)
        return self._look_cost + (self.peeling if isinstance(selection.items, tuple) else self.canonical).cost()

    def _cost_of_either(self, which: Callable[[list[Fraction]], Fraction]) -> Cost:
        ways = self.canonical.cost(), self.peeling.cost()
        epsilon, rho = which([way.epsilon for way in ways if way.epsilon]), which([way.rho for way in ways])
        return repeat_step(WorstOfSteps(epsilon, rho, theorem=self.theorem))

    @property
    def _look_cost(self) -> Cost:
        return repeat_step(BoundedRange(self.look, theorem=self.theorem))

    def release_many(self, histogram: Histogram, n: int, entropy: Entropy) -> list[Selection]:
        items = count_levels(histogram)
        if items.items <= self.k:  # there is only one subset, and nothing to test
            return self.canonical.release_many(histogram, n, entropy)
        heads = self.coin_for(items).draw(self._log_odds(histogram), n, entropy)
        sets = iter(self.canonical.release_many(histogram, int(heads.sum()), entropy))
        lists = iter(self.peeling.release_many(histogram, int((~heads).sum()), entropy))
        return [next(sets) if head else next(lists) for head in heads.tolist()]

    def law(self, histogram: Histogram) -> Mapping[Selection, float]:
        """Exact probability of every set and of every list, for small histograms."""
        if count_levels(histogram).items <= self.k:
            return self.canonical.law(histogram)
        taken = self.canonical_chance(histogram)
        sets = {selection: taken * chance for selection, chance in self.canonical.law(histogram).items()}
        lists = {selection: (1 - taken) * chance for selection, chance in self.peeling.law(histogram).items()}
        return sets | lists

    def canonical_chance(self, histogram: Histogram) -> float:
        """Probability of the canonical mechanism, for a public list with more than k items."""
        return float(LOGISTIC.cdf(np.array(float(self._log_odds(histogram)))))

    def coin_for(self, items: CountLevels) -> ClearChoiceTest:
        """The coin for a public list; it depends on the list's length, which is public."""
        rate = (1 - self._lead_share(items.items)) * self.epsilon
        return ClearChoiceTest(self.k, self.gamma, rate, self.look, self.lean)

    def _log_odds(self, histogram: Histogram) -> Fraction:
        items = count_levels(histogram)
        return _LOG_ODDS.get(histogram, self, lambda: self.coin_for(items).log_odds(items, histogram.unit))

    def _lead_share(self, items: int) -> Fraction:
        """`eta`, or its default for a list of this length.

        Where the best k just begin to lead at the full rate, `q` is about `eta ln C(d, k)`, and the coin's log odds
        are to be zero there: `eta/(1 - eta) = lean · gamma · epsilon/(look · ln C(d, k))`.
        """
        if self.eta is not None:
            return self.eta
        ratio = float(self.lean * self.gamma * self.epsilon / self.look) / log_subsets_bound(items, self.k)
        return min(_LATEST, Fraction(round(1000 * ratio / (1 + ratio)), 1000))


def _share(k: int) -> Fraction:
    """Share of ε for the coin."""
    return min(_MOST, Fraction(round(10**5 * _ENOUGH / log_subsets_bound(max(_USUAL_LIST, 10 * k), k)), 10**5))


def _peeling_cost(look: Fraction, each: Fraction, k: int) -> Cost:
    """Cost of the coin and of k steps of peeling."""
    return repeat_step(BoundedRange(look)) + repeat_step(BoundedRange(each), k)
