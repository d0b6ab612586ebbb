"""A coin that says whether the canonical mechanism has a clear choice, from all its subsets at once (P20.2).

What it looks at is `q`, the logarithm of the weight of all k-subsets relative to the best k, at a rate below the one
that will be used: near 0 where the best k stand out, up to `ln C(d, k)` where they drown in the number of subsets.
One user moves it by at most `rate · gamma`, so a coin whose log odds fall with `q` at the right slope is one step of
bounded range. The coin is thrown exactly: `q` is replaced by a rational that is certainly near it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from crestline.guarantees.rounding import decimal_above, decimal_below, precision
from crestline.histogram.count_levels import CountLevels
from crestline.mechanisms.canonical.log_weights_by_size import ClassTotal
from crestline.mechanisms.canonical.subset_classes import SubsetClasses, subset_classes
from crestline.randomness.compare import exceeds_threshold
from crestline.randomness.entropy import Entropy
from crestline.randomness.exact_reals import Real
from crestline.randomness.keys import build_keys, noiseless_keys
from crestline.randomness.laws.logistic import LOGISTIC
from crestline.randomness.scores import EqualScores, RealScores

_NEAR = Fraction(1, 1000)  # how far `q` may be off, as a part of what one user moves it by (P20.2)
_FAR = 2**62  # no count is larger
_FIRST_BITS, _DIGITS = 128, 40


def log_subsets_bound(items: int, k: int) -> float:
    """An upper bound on `ln C(items, k)`, good to a few units: `C(d, k) ≤ (e d/k)^k`."""
    return k * (1 + math.log(items / k))


@dataclass(frozen=True)
class ClearChoiceTest:
    """`rate` is the `c'` of P20.2 for one user, `epsilon` what the coin costs, `lean` its log odds at `q = 0`."""

    k: int
    gamma: Fraction
    rate: Fraction
    epsilon: Fraction
    lean: Fraction

    @property
    def tau(self) -> Fraction:
        """How far the rational that stands for `q` may be from it; a public number."""
        return self.rate * self.gamma * _NEAR

    @property
    def slope(self) -> Fraction:
        """By how much the log odds fall where `q` rises by one: one user moves its rational by this much at most."""
        return self.epsilon / (self.rate * self.gamma + 2 * self.tau)

    def log_odds(self, domain: CountLevels, step: int) -> Fraction:
        """The log odds of the canonical mechanism for a public list with more than k items."""
        return self.lean - self.slope * self._total(domain, step)

    def draw(self, log_odds: Fraction, trials: int, entropy: Entropy) -> NDArray[np.bool_]:
        """True with probability `1/(1 + exp(-log_odds))`, decided with certainty."""
        noisy = build_keys(RealScores([Real(log_odds)]), LOGISTIC, entropy.uniforms(trials, 1))
        return exceeds_threshold(noisy, noiseless_keys(EqualScores(1), trials)).ravel()

    def _total(self, domain: CountLevels, step: int) -> Fraction:
        """A rational within `tau` of `q`: a quarter of that for counts that are cut, the rest for rounding."""
        total = ClassTotal(self._cap_losses(subset_classes(domain, self.k, self.gamma, self.rate / step)), Fraction(0))
        allowed, bits = self.tau / 2, _FIRST_BITS
        if total.error <= allowed:
            return Fraction(float(total.approx[0]))
        while True:
            with precision(bits):
                ball = total.ball(0, 0)
                low, high = decimal_below(ball, _DIGITS), decimal_above(ball, _DIGITS)
            if high - low <= allowed:
                return low
            bits *= 2

    def _cap_losses(self, classes: SubsetClasses) -> SubsetClasses:
        """Losses so large that all subsets with them weigh next to nothing together count as that large: so doubles
        are precise, however large counts are."""
        items = int(classes.last[-1]) + 1 + self.k
        needless = 1 + log_subsets_bound(items, self.k) - math.log(self.tau / 8)
        return replace(
            classes,
            misses=np.minimum(classes.misses, _largest_loss(needless, classes.rate * (1 - self.gamma))),
            gaps=np.minimum(classes.gaps, _largest_loss(needless, classes.rate * self.gamma)),
        )


def _largest_loss(needless: float, rate: Fraction) -> int:
    """The count at which a loss is so large; it exceeds all counts where the rate is tiny, or zero."""
    return min(_FAR, math.ceil(Fraction(needless) / rate)) if rate else _FAR
