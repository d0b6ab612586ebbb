"""A coin that decides whether the canonical mechanism has a clear choice, from all its subsets at once (P20.2).

It depends on `q`, the logarithm of the weight of all k-subsets relative to the best k, at a rate below the one that
will be used: near 0 if the best k clearly lead, up to `ln C(d, k)` if all subsets are alike. One user moves it by at
most `rate · gamma`, so a coin whose log odds fall with `q` at the right slope is one step of bounded range. The coin
is drawn exactly: `q` is replaced by a rational that is certainly near it.
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

_NEAR = Fraction(1, 1000)  # largest error of `q`, relative to its change by one user (P20.2)
_FAR = 2**62  # no count is larger
_FIRST_BITS, _DIGITS = 128, 40


def log_subsets_bound(items: int, k: int) -> float:
    """Upper bound on `ln C(items, k)`, accurate to a few units: `C(d, k) ≤ (e d/k)^k`."""
    return k * (1 + math.log(items / k))


@dataclass(frozen=True)
class ClearChoiceTest:
    """`rate` is the `c'` of P20.2 for one user, `epsilon` the cost of the coin, `lean` its log odds at `q = 0`."""

    k: int
    gamma: Fraction
    rate: Fraction
    epsilon: Fraction
    lean: Fraction

    @property
    def tau(self) -> Fraction:
        """Largest distance of the rational that replaces `q` from it; a public number."""
        return self.rate * self.gamma * _NEAR

    @property
    def slope(self) -> Fraction:
        """Fall of the log odds when `q` rises by one. With it, one user moves the log odds by at most `epsilon`."""
        return self.epsilon / (self.rate * self.gamma + 2 * self.tau)

    def log_odds(self, domain: CountLevels, step: int) -> Fraction:
        """Log odds of the canonical mechanism for a public list with more than k items."""
        return self.lean - self.slope * self._total(domain, step)

    def draw(self, log_odds: Fraction, trials: int, entropy: Entropy) -> NDArray[np.bool_]:
        """True with probability `1/(1 + exp(-log_odds))`, decided with certainty."""
        noisy = build_keys(RealScores([Real(log_odds)]), LOGISTIC, entropy.uniforms(trials, 1))
        return exceeds_threshold(noisy, noiseless_keys(EqualScores(1), trials)).ravel()

    def _total(self, domain: CountLevels, step: int) -> Fraction:
        """A rational within `tau` of `q`: a quarter of that for the capped losses, the rest for rounding."""
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
        """The classes with losses capped where all subsets beyond the cap together have a negligible weight.

        So doubles are accurate for counts of any size.
        """
        items = int(classes.last[-1]) + 1 + self.k
        needless = 1 + log_subsets_bound(items, self.k) - math.log(self.tau / 8)
        return replace(
            classes,
            misses=np.minimum(classes.misses, _largest_loss(needless, classes.rate * (1 - self.gamma))),
            gaps=np.minimum(classes.gaps, _largest_loss(needless, classes.rate * self.gamma)),
        )


def _largest_loss(needless: float, rate: Fraction) -> int:
    """The count at which a loss reaches `needless`; it exceeds all counts if the rate is tiny, or zero."""
    return min(_FAR, math.ceil(Fraction(needless) / rate)) if rate else _FAR
