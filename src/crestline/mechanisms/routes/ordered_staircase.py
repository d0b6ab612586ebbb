"""Ordered staircase: the set of the staircase, and then its items in the order of their noisy counts.

Seed        the staircase (P19.1), followed by noisy counts of its items of which only the order is released
Guarantee   (ε + ε_order, δ) by basic composition: the staircase (P19.2), then Laplace noise up to a shift (P2.7);
            in zCDP the order costs less, by the number of items named (P22.1)
Assumes     distinct users per item; ranked in byte order and padded; parameters chosen without the data
Numerics    exact: integer counts, rational rates, ideal noise decided with certainty (P11)
Proof note  docs/proofs/ordered_staircase.md
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Self, Unpack

import numpy as np

from crestline.exact_fields import Number, field, value
from crestline.exact_numbers import Exact, non_negative_number, positive_number, probability
from crestline.guarantees.cost import Cost, repeat_step
from crestline.guarantees.guarantee import WorstOfSteps
from crestline.histogram.histogram import Histogram
from crestline.histogram.label_order import Label
from crestline.mechanisms.canonical.staircase import Staircase
from crestline.mechanisms.mechanism import BuiltIn
from crestline.mechanisms.numerics.order_law import order_chances
from crestline.mechanisms.numerics.sensitivity import order_sensitivity
from crestline.mechanisms.privacy_total import PrivacyTotal, TotalArguments
from crestline.mechanisms.selection import Selection
from crestline.mechanisms.slot_checks import ordered_choices
from crestline.randomness.compare import largest_columns
from crestline.randomness.entropy import Entropy
from crestline.randomness.keys import build_keys
from crestline.randomness.laws.laplace import LAPLACE
from crestline.randomness.scores import LinearScores

# Shares of a total ε for the order: the default for an unknown lead, and those allowed for a known one
# (docs/decisions/auto.md).
_ORDER = Fraction(1, 5)
_SHARES = tuple(Fraction(n, 20) for n in range(2, 7))
_ROOM = 1.5  # a set is safe if it leads by this multiple of its margin


@value
class OrderedStaircase(BuiltIn):
    """Names the items of a staircase's set in the order of their noisy counts.

    Attributes:
        staircase: The mechanism that chooses the set.
        order: ε of the order; zero only for one item, which has no order.
    """

    staircase: Staircase
    order: Number = field(non_negative_number)

    theorem = "P19.2, P2.7"

    def __post_init__(self) -> None:
        if self.k > 1:
            positive_number(self.order, "order")
        super().__post_init__()

    @classmethod
    def for_budget(cls, *, share: Exact = _ORDER, **total: Unpack[TotalArguments]) -> Self:
        """Return the instance within a total (epsilon, delta).

        Args:
            share: Share of ε for the order.
            **total: `k`, `epsilon`, `delta`, `k_bar`; `contribution` has no effect.
        """
        return cls.fit(PrivacyTotal.from_arguments(cls, total), share=share)

    @classmethod
    def fit(cls, total: PrivacyTotal, *, share: Exact = _ORDER) -> Self:
        """The instance that spends all of ε and δ; ten slots for each item wanted unless `k_bar` is given."""
        order = Fraction(0) if total.k == 1 else probability(share, "share") * total.epsilon
        return cls(Staircase.fit(replace(total, epsilon=total.epsilon - order)), order)

    def for_lead(self, lead: float) -> OrderedStaircase:
        """Return an instance with the same total, divided for a set with this lead in users.

        What the set does not need goes to the order. The lead must be a released number; the promise is the same for
        every lead.
        """
        if self.k == 1:
            return self
        total = self.staircase.epsilon + self.order
        needed = _ROOM * (self.margin() - 1) * float(self.staircase.epsilon) / max(lead, 1.0)  # margins are like 1/ε
        spare = min(max(1 - needed / float(total), float(_SHARES[0])), float(_SHARES[-1]))
        order = _SHARES[math.floor((spare - float(_SHARES[0])) * 20 + 1e-9)] * total
        return type(self)(replace(self.staircase, epsilon=total - order), order)

    @property
    def k(self) -> int:
        return self.staircase.k

    @property
    def k_bar(self) -> int:
        return self.staircase.k_bar

    def cost(self) -> Cost:
        return self._cost_of_order(max(range(1, self.k + 1), key=_order_rho))

    def settlement_cost(self, selection: Selection) -> Cost:
        """Cost of the staircase, and of the order of as many items as were named (P22.1)."""
        return self._cost_of_order(len(selection.items))

    def _cost_of_order(self, named: int) -> Cost:
        rho = _order_rho(named) * self.order**2
        return self.staircase.cost() + (repeat_step(WorstOfSteps(self.order, rho, theorem="P22.1")) if rho else Cost())

    def release_many(self, histogram: Histogram, n: int, entropy: Entropy) -> list[Selection]:
        sets = self.staircase.release_many(histogram, n, entropy)
        by_size: defaultdict[int, list[int]] = defaultdict(list)
        for place, chosen in enumerate(sets):
            by_size[len(chosen)].append(place)
        slot_of = _slots(histogram)
        result = [Selection((), chosen.stopped) for chosen in sets]
        for size, places in by_size.items():
            if not size:
                continue
            members = np.array([sorted(slot_of[item] for item in sets[place].items) for place in places])
            scores = LinearScores(histogram.array[members], self._rate(size, histogram))
            first = largest_columns(build_keys(scores, LAPLACE, entropy.uniforms(*members.shape)), size)
            for place, row in zip(places, np.take_along_axis(members, first, axis=1).tolist(), strict=True):
                result[place] = Selection(histogram.names(row), sets[place].stopped)
        return result

    def law(self, histogram: Histogram) -> Mapping[Selection, float]:
        """Exact probability of every list, for small histograms."""
        slot_of, law = _slots(histogram), dict[Selection, float]()
        for chosen, chance in self.staircase.law(histogram).items():
            members = sorted(slot_of[item] for item in chosen.items)
            for order, share in self._order_chances(histogram, members):
                law[Selection(histogram.names(order), chosen.stopped)] = chance * share
        return law

    def margin(self, chance: float = 0.95) -> float:
        """Users by which the k-th item must lead the first left out for all k to be named with probability `chance`."""
        return self.staircase.margin(chance)

    def _rate(self, size: int, histogram: Histogram) -> Fraction:
        """Rate of the noise in the counts of `size` items: no more than half of them move up to a shift (P2.7)."""
        return self.order / max(1, order_sensitivity(size, None)) / histogram.unit

    def _order_chances(self, histogram: Histogram, members: Sequence[int]) -> list[tuple[tuple[int, ...], float]]:
        """Every order of some slots, and its probability."""
        if len(members) < 2:
            return [(tuple(members), 1.0)]
        places = np.array(list(ordered_choices(range(len(members)), len(members))), dtype=np.int64)
        rate = float(self._rate(len(members), histogram))
        scores = np.multiply(histogram.array[list(members)], rate, dtype=np.float64)
        chances = order_chances(scores, LAPLACE, places).tolist()
        return [(tuple(members[place] for place in row), c) for row, c in zip(places.tolist(), chances, strict=True)]


def _order_rho(named: int) -> Fraction:
    """ρ of the order of some items, for an ε of one: one item or none has no order, and nothing is drawn (P22.1)."""
    return Fraction(named, 8 * (named // 2) ** 2) if named > 1 else Fraction(0)


def _slots(histogram: Histogram) -> dict[Label, int]:
    """Slot of each item; empty slots, which are in no set, are omitted."""
    return {histogram.name(slot): slot for slot in range(min(histogram.filled, histogram.k_bar))}
