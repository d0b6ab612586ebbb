"""Coverage: after a selection, the number of users with one of the named items, and with none of them.

Seed        P3.7, P2.6; the Laplace mechanism for two counts of disjoint sets of users
Guarantee   one pure step of `moved/scale`: a user is in one of the two sets, and moves one number by one; over several
            periods the rows of one of them may move a user from one set to the other, so both numbers
Assumes     the users of the two sets are counted once each; the selection was released before; the grid is 1
Numerics    exact: whole numbers, rational scale, the ideal noisy number rounded with certainty (P11)
Proof note  docs/proofs/coverage.md
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Self

import numpy as np

from crestline.exact_fields import Number, Whole, field, value
from crestline.exact_numbers import positive_number, whole_number
from crestline.guarantees.cost import Cost, repeat_step
from crestline.guarantees.guarantee import ApproxDP, Guarantee, PureDP
from crestline.histogram.coverage_counts import CoverageCounts
from crestline.randomness.compare import round_to_grid
from crestline.randomness.entropy import Entropy
from crestline.randomness.keys import build_keys
from crestline.randomness.laws import LAPLACE
from crestline.randomness.scores import LinearScores

SHARE = Fraction(1, 10)  # share of a total ε for the coverage; the selection gets the rest, and all of δ
_DISJOINT, _BOTH = 1, 2  # numbers that one user moves: without periods or over one period, and over several
_CHANCE = 0.95


@value
class Coverage:
    """Publishes two numbers of users with Laplace noise.

    Attributes:
        scale: Scale of the noise, in users.
        moved: Numbers that one user moves: one, or two over several periods.
    """

    scale: Number = field(positive_number)
    moved: Whole = field(whole_number, default=_DISJOINT)

    theorem = "P3.7"

    @classmethod
    def for_epsilon(cls, epsilon: Fraction, *, several_periods: bool) -> Self:
        """The instance for the coverage's share of a total ε."""
        moved = _BOTH if several_periods else _DISJOINT
        return cls(moved / (SHARE * epsilon), moved)

    @property
    def epsilon(self) -> Fraction:
        return self.moved / self.scale

    def cost(self) -> Cost:
        """One pure step, also if no item was named."""
        return repeat_step(PureDP(self.epsilon, theorem=self.theorem))

    def guarantee_after(self, selection: Guarantee) -> Guarantee:
        """The promise of a selection and its coverage together, by adaptive composition."""
        assert selection.epsilon is not None, "a mechanism within a total has an epsilon"
        delta = selection.delta if isinstance(selection, ApproxDP) else Fraction(0)  # others never fail
        theorem = "; ".join(part for part in (selection.theorem, self.theorem) if part)
        return ApproxDP(selection.epsilon + self.epsilon, delta, theorem=theorem)

    def release(self, users: tuple[int, int], entropy: Entropy) -> CoverageCounts:
        """Return both numbers with noise. The caller must charge the release before.

        Args:
            users: Users with one of the named items, and with none of them.
            entropy: Source of random bits.
        """
        (named, others), *_ = self.release_many(users, 1, entropy)
        return CoverageCounts(named, others, self.spread())

    def release_many(self, users: tuple[int, int], n: int, entropy: Entropy) -> list[tuple[int, int]]:
        """Return `n` independent releases of the same two numbers, as pairs; each must be charged."""
        table = np.tile(np.array(users, dtype=np.int64), (n, 1))
        noisy = build_keys(LinearScores(table, Fraction(1)), LAPLACE, entropy.uniforms(*table.shape), scale=self.scale)
        return [(int(named), int(others)) for named, others in round_to_grid(noisy, Fraction(1)).tolist()]

    def spread(self, chance: float = _CHANCE) -> float:
        """Error of one of the numbers, before rounding, that is not exceeded with probability `chance`."""
        return float(self.scale) * -math.log(1 - chance)

    def published_chance(self, true: int, published: int) -> float:
        """Exact probability of one published number: of noise that rounds to the difference."""
        step = 1 / float(self.scale)
        away = abs(published - true)
        if away == 0:
            return -math.expm1(-step / 2)
        return math.exp(-step * (away - 0.5)) * -math.expm1(-step) / 2
