"""Routed: a noisy query of the data decides which of two mechanisms answers, and the answer names it.

Seed        new in crestline (P18.5 a, P27.1): slots where the leaders lead clearly, the sieve where they do not
Guarantee   (e + ε, δ) by P27.1, where the noisy lead is e-DP, the mechanism over slots (ε, δ_s)-DP, and the other a
            Gaussian μ with δ_T: δ is the worst of all looks at these two curves; the choice is released
Assumes     distinct pairs of a user and an item, all views in one snapshot; parameters chosen without the data
Numerics    exact: the ideal noisy lead rounded to whole users with certainty (P11), and those of the two mechanisms
Proof note  docs/proofs/routed.md
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Self, cast

import numpy as np

from crestline.errors import ParameterError
from crestline.exact_fields import Number, Whole, field, value
from crestline.exact_numbers import positive_number, probability, whole_number
from crestline.guarantees.cost import Cost, repeat_step
from crestline.guarantees.gaussian import delta_of, epsilon_of
from crestline.guarantees.guarantee import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP
from crestline.guarantees.root_finding import largest_fitting
from crestline.guarantees.rounding import ball, decimal_above, precision, round_down
from crestline.histogram.histogram import Histogram
from crestline.histogram.relation import PairViews
from crestline.histogram.route import Route
from crestline.mechanisms.mechanism import AnyMechanism, BuiltIn, Law, PairMechanismBase
from crestline.mechanisms.observed.sieve import Sieve
from crestline.mechanisms.privacy_total import PrivacyTotal
from crestline.mechanisms.routes.ordered_staircase import OrderedStaircase
from crestline.mechanisms.selection import Selection
from crestline.randomness.compare import round_to_grid
from crestline.randomness.entropy import Entropy
from crestline.randomness.keys import build_keys
from crestline.randomness.laws.laplace import LAPLACE
from crestline.randomness.scores import LinearScores

_GATE = Fraction(1, 20)  # share of ε for the noisy lead
_NEEDED = 1.0  # the deciding lead, in margins of the ordered staircase: docs/decisions/auto.md
_DIGITS = 9  # of the total of the sieve, so that the certified sum stays within δ
_FAR = 37  # e^-37 is below the rounding of a double


@value
class Routed(PairMechanismBase):
    """Answers by `slots` if a noisy lead is at least `needed` users, and by `pairs` otherwise.

    Attributes:
        epsilon: ε of the whole, the noisy lead included.
        delta: δ of the whole, which P27.1 is checked to keep.
        gate: ε of the noisy lead.
        needed: Lead in users from which on `slots` answers.
        slots: Mechanism that sees slots.
        pairs: Mechanism that sees pairs of a user and an item; one Gaussian step and a δ in a ledger.
    """

    epsilon: Number = field(positive_number)
    delta: Number = field(probability)
    gate: Number = field(positive_number)
    needed: Whole = field(whole_number)
    slots: BuiltIn
    pairs: PairMechanismBase

    theorem = "P27.1"

    def __post_init__(self) -> None:
        if self.slots.k is None or self.slots.k_bar is None or self.slots.k != self.pairs.k:
            raise ParameterError("both mechanisms must name the same number of items, and the first must see slots")
        slots = self.slots.guarantee()
        if slots.epsilon is None or self.gate + slots.epsilon > self.epsilon or self.gate >= self.epsilon:
            raise ParameterError(
                "the mechanism over slots must be (ε, δ)-private, with what the noisy lead leaves of ε"
            )
        if routed_delta(self.epsilon, self.gate, slots.delta, *_gaussian_cost(self.pairs)) > self.delta:
            raise ParameterError("δ is too small for this noisy lead and these two mechanisms")
        super().__post_init__()

    @classmethod
    def fit(cls, total: PrivacyTotal) -> Self:
        """The instance that spends all of ε and δ; ten slots for each item wanted unless `k_bar` is given.

        Raises:
            ParameterError: The total has a contribution bound; the sieve chooses its own.
        """
        if total.contribution is not None:
            raise ParameterError("Routed finds its own bound on items: leave contribution out, or take Observed")
        gate = _GATE * total.epsilon
        pairs = _sieve_behind(total, gate)
        mu_squared, new = _gaussian_cost(pairs)
        free = round_down(new + delta_of(total.epsilon + gate, mu_squared), _DIGITS)  # δ of slots that costs nothing
        slots = OrderedStaircase.fit(replace(total, epsilon=total.epsilon - gate, delta=free))
        return cls(total.epsilon, total.delta, gate, math.ceil(_NEEDED * slots.margin(0.5)), slots, pairs)

    @property
    def k(self) -> int:
        return cast(int, self.slots.k)

    @property
    def k_bar(self) -> int:
        return cast(int, self.slots.k_bar)

    def guarantee(self) -> Guarantee:
        return ApproxDP(self.epsilon, self.delta, theorem=self.theorem)

    def cost(self) -> Cost:
        """Cost of the noisy lead and of the more expensive mechanism, as ρ.

        A ledger that adds up ε refuses it beforehand.
        """
        ways = self._most_expensive_slots().cost(), self.pairs.cost()
        rho, delta = max(way.rho for way in ways), max(way.delta for way in ways)
        return self._look_cost() + repeat_step(ZCDP(rho, theorem=self.theorem), delta=delta)

    def settlement_cost(self, selection: Selection) -> Cost:
        """Cost of the noisy lead and of the mechanism that answered, which the selection names (P10.5).

        Without a route, the least cost of any selection.
        """
        if selection.route is None:  # the least cost, before anything is released
            return self._look_cost() + min((self.slots.cost(), self.pairs.cost()), key=lambda way: way.rho)
        return self._look_cost() + self.answering_mechanism(selection).settlement_cost(selection)

    def answering_mechanism(self, selection: Selection) -> AnyMechanism:
        """The mechanism that the noisy lead chose."""
        assert selection.route is not None, "a routed selection has a route"
        return self._mechanism_for_lead(selection.route.lead)

    def _mechanism_for_lead(self, lead: int) -> AnyMechanism:
        """The mechanism that answers for this released lead, less one noise scale where a set's lead is weighed."""
        if lead < self.needed:
            return self.pairs
        return (
            self.slots.for_lead(float(lead - 1 / self.gate)) if isinstance(self.slots, OrderedStaircase) else self.slots
        )

    def release_many(self, pairs: PairViews, n: int, entropy: Entropy) -> list[Selection]:
        """Return `n` independent releases: slots are read and the lead released in every case, then one mechanism
        answers."""
        slots = pairs.slots(self.k_bar)
        true = LinearScores(np.array([self._true_lead(slots)], dtype=np.int64), Fraction(1))
        noisy = build_keys(true, LAPLACE, entropy.uniforms(n, 1), scale=1 / self.gate)
        leads = round_to_grid(noisy, Fraction(1))[:, 0].tolist()
        often = Counter(leads)
        ways = {lead: self._mechanism_for_lead(lead) for lead in often}  # once for each lead, since few differ
        wanted: Counter[AnyMechanism] = Counter()
        for lead, times in often.items():
            wanted[ways[lead]] += times
        made: dict[AnyMechanism, list[Selection]] = {}
        for way, times in wanted.items():
            made[way] = way.release_seen(pairs if way is self.pairs else slots, times, entropy)
        drawn = {lead: (made[way], self._route(lead)) for lead, way in ways.items()}
        return [replace(left.pop(), route=route) for left, route in map(drawn.__getitem__, leads)]

    @property
    def law(self) -> Law | None:
        """Exact probability of every outcome, including the noisy lead; None unless both mechanisms have a law."""
        return None if self.slots.law is None or self.pairs.law is None else self._law

    def _law(self, view: Histogram) -> Mapping[Selection, float]:
        pairs = cast(PairViews, view)
        slots, law = pairs.slots(self.k_bar), dict[Selection, float]()
        laws: dict[AnyMechanism, Mapping[Selection, float]] = {}
        for lead, chance in self._lead_law(self._true_lead(slots)):
            way = self._mechanism_for_lead(lead)
            if way not in laws:
                law_of = cast(Law, way.law)
                laws[way] = law_of(view if way is self.pairs else slots)
            for selection, share in laws[way].items():
                law[replace(selection, route=self._route(lead))] = chance * share
        return law

    def _most_expensive_slots(self) -> BuiltIn:
        """The most expensive way to divide a total between a set and its order: the least share for the order."""
        return self.slots.for_lead(0) if isinstance(self.slots, OrderedStaircase) else self.slots

    def _lead_law(self, true: int) -> Iterator[tuple[int, float]]:
        """Every noisy lead whose probability is not negligible in a double, with its probability."""
        reach = math.ceil(_FAR / self.gate)
        edges = np.arange(-reach, reach + 2, dtype=np.float64) - 0.5
        chances = np.diff(LAPLACE.cdf(np.multiply(edges, float(self.gate), dtype=np.float64)))
        yield from zip(range(true - reach, true + reach + 1), chances.tolist(), strict=True)

    def _true_lead(self, slots: Histogram) -> int:
        """Users by which the k-th item leads the first one left out, less one; one user moves it by at most one."""
        assert slots.next_count is not None, "slots of an unknown domain always leave something out"
        return int(slots.array[self.k - 1]) - slots.next_count - 1

    def _route(self, lead: int) -> Route:
        names = type(self.slots).__name__, type(self.pairs).__name__
        taken, other = names if lead >= self.needed else names[::-1]
        return Route(taken, other, lead, self.needed, math.ceil(math.log(20) / self.gate))

    def _look_cost(self) -> Cost:
        return repeat_step(PureDP(self.gate, theorem=self.theorem))


def routed_delta(
    epsilon: Fraction, gate: Fraction, slots_delta: Fraction, mu_squared: Fraction, new: Fraction
) -> Fraction:
    """δ at ε, rounded up, of an `gate`-DP choice between an (ε - gate, `slots_delta`)-DP mechanism and P18.2 (P27.1).

    Args:
        epsilon: ε of the whole.
        gate: ε of the choice, less than `epsilon`.
        slots_delta: δ of the first mechanism.
        mu_squared: μ² of the Gaussian steps of the second.
        new: δ of the second beside its Gaussian steps.
    """
    near, far = (max(delta_of(place, mu_squared) + new, slots_delta) for place in (epsilon - gate, epsilon + gate))
    with precision():
        share = 1 / (1 + (-ball(gate)).exp())  # the probability of the edge at which the mechanism has ε - gate left
        return decimal_above(ball(far) + share * ball(near - far))


def _sieve_behind(total: PrivacyTotal, gate: Fraction) -> Sieve:
    """The sieve with the most μ² behind a choice of `gate` that keeps the total (P27.1)."""
    whole = Sieve.fit(total)

    def fits(mu_squared: Fraction) -> bool:
        return routed_delta(total.epsilon, gate, Fraction(0), mu_squared, whole.delta_new) <= total.delta

    largest = largest_fitting(fits, high=whole.mu_squared)
    return replace(whole, epsilon=round_down(epsilon_of(whole.slack, largest), _DIGITS))


def _gaussian_cost(mechanism: PairMechanismBase) -> tuple[Fraction, Fraction]:
    """μ² and the δ beside it of a mechanism whose cost is one Gaussian step; others are refused."""
    cost = mechanism.cost()
    if [type(part.step) for part in cost.steps] != [GaussianDP] or cost.steps[0].times != 1:
        raise ParameterError("the mechanism over pairs must cost one Gaussian step")
    return 2 * cost.rho, cost.delta
