"""Limited domain with Gaussian noise: noisy counts, in descending order, down to that of ⊥; publishing them is free.

Seed        DurfeeRogers2019, Algorithm 4 with Gaussian noise; Rogers2023 has the same idea
Guarantee   (ε, δ_M + δ) with the analytic Gaussian at σ, s² = Δ; without counts s² up to a shift, Δ known or not (P4.2)
            and ⊥ with noise of its own: the proof note
Assumes     distinct users per item; ranked in byte order and padded; no user has more items than `contribution`
Numerics    exact: integer counts, rational σ and T, ideal Gaussian keys decided with certainty (P11), T certified
Proof note  docs/proofs/limited_domain_gauss.md
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Self

from crestline.exact_fields import (
    ConvertedField,
    Flag,
    Name,
    Number,
    Whole,
    WholeOrNone,
    field,
    none_or,
    to_bool,
    value,
)
from crestline.exact_numbers import (
    Exact,
    non_negative_number,
    one_of_names,
    positive_number,
    probability,
    set_frozen_fields,
    whole_number,
)
from crestline.guarantees.cost import Cost, repeat_step
from crestline.guarantees.gaussian import sigma_for as sigma_for
from crestline.guarantees.guarantee import GaussianDP
from crestline.mechanisms.limited_domain.additive import CLOSED, UNION, AdditiveNoise
from crestline.mechanisms.numerics.sensitivity import number_distance_squared, order_distance_squared
from crestline.mechanisms.numerics.thresholds import gaussian_threshold, gaussian_union_threshold
from crestline.mechanisms.privacy_total import PrivacyTotal
from crestline.mechanisms.slot_checks import check_contribution
from crestline.randomness.laws.gaussian import GAUSSIAN

# Slots for each item wanted, by default. Without a bound the noise grows with their number (P12.1); with one it does
# not, and the rarer the first item that is left out, the smaller the count that must be exceeded.
_SLOTS, _SLOTS_BOUNDED = 2, 100  # for utility: any number keeps the promise
# The accountant rounds ε up in its twelfth digit, which may be a part in 10^11, and searches it a tenth as closely.
_ROUNDING = 1 - Fraction(2, 10**11)


@value
class LimitedDomainGauss(AdditiveNoise):
    """Adds Gaussian noise to every count and to ⊥, and names items by descending noisy count until ⊥.

    The number of named items does not enter the cost.

    Attributes:
        k: Items wanted.
        k_bar: Slots that it sees.
        sigma: Standard deviation of the noise, in users.
        delta: δ for failures.
        contribution: Public bound on the items of one user; None: no bound.
        counts: Whether to publish the noisy counts; needs `contribution`.
        grid: Published counts are rounded to multiples of it.
        threshold: `"union"`, the exact tail of the largest noise, or `"closed"`, a union bound.
        slack: Failure probability of the accountant.
        bottom: Standard deviation of the noise of ⊥; `sigma` by default.
    """

    sigma: Number = field(positive_number)
    delta: Number = field(probability)
    contribution: WholeOrNone = field(check_contribution, default=None)
    counts: Flag = field(to_bool, default=False, kw_only=True)
    grid: Whole = field(whole_number, default=1, kw_only=True)
    threshold: Name = field(one_of_names((UNION, CLOSED)), default=UNION, kw_only=True)
    slack: Number = field(non_negative_number, default=0, kw_only=True)
    bottom: ConvertedField[Exact | None, Fraction] = field(none_or(positive_number), default=None, kw_only=True)

    noise = GAUSSIAN
    theorem = "P4.2"

    def __post_init__(self) -> None:
        if self.bottom is None:
            set_frozen_fields(self, bottom=self.sigma)
        super().__post_init__()

    @classmethod
    def fit(cls, total: PrivacyTotal, *, counts: bool = False) -> Self:
        """Two fifths of δ are for failures, the rest is for the noise.

        That share minimises the margin to within one percent, from ε = 0.1 to 3, δ = 1e-3 to 1e-8, 1 to 100 slots.
        """
        delta_failure, delta_slack = total.split_delta(Fraction(2, 5))
        bound = total.contribution
        slots = total.slots(_SLOTS if bound is None else _SLOTS_BOUNDED)
        quiet = _bottom_noise_ratio(slots, bound)
        squared = mu_squared(slots, bound, counts, Fraction(1), quiet)
        noise = least_sigma(total.epsilon, delta_slack, squared)
        return cls(total.k, slots, noise, delta_failure, bound, counts=counts, slack=delta_slack, bottom=noise * quiet)

    @property
    def scale(self) -> Fraction:
        return self.sigma

    @property
    def bottom_scale(self) -> Fraction:
        return self.bottom

    def bottom_height(self, unstable: int) -> Fraction:
        quiet = self.bottom / self.sigma
        if self.threshold == UNION:
            return gaussian_union_threshold(unstable, self.delta, quiet) * self.sigma
        return gaussian_threshold(self.delta / unstable, quiet) * self.sigma

    def margin_over_stop(self, chance: Exact) -> Fraction:
        wanted, quiet = probability(chance, "chance"), self.bottom / self.sigma
        unit = gaussian_threshold(1 - wanted, quiet) - gaussian_threshold(wanted, quiet)  # one of them is zero
        return unit * self.sigma

    def spread(self, chance: float = 0.95) -> float:
        """Error of a published count, in users and before rounding, that is not exceeded with probability `chance`."""
        unit = gaussian_threshold((1 - chance) / 2)  # of the difference of two noises: √2 times that of one
        return float(self.sigma * unit) / math.sqrt(2)

    def cost(self) -> Cost:
        squared = mu_squared(self.k_bar, self.contribution, self.counts, self.sigma, self.bottom)
        return repeat_step(GaussianDP(squared, theorem="P4.2"), delta=self.delta)


def mu_squared(k_bar: int, contribution: int | None, counts: bool, sigma: Fraction, bottom: Fraction) -> Fraction:
    """μ² of P4.2 for k_bar slots with noise `sigma` and ⊥ with noise `bottom`: of the numbers, or of their order."""
    slot, stop = 1 / sigma**2, 1 / bottom**2
    if counts:
        return number_distance_squared(k_bar, k_bar + 1 if contribution is None else contribution, slot, stop)
    return order_distance_squared(k_bar, contribution, slot, stop)


def least_sigma(epsilon: Exact, delta: Exact, sensitivity_squared: Exact) -> Fraction:
    """Least σ whose Gaussian noise costs at most `epsilon`, as the accountant rounds it."""
    return sigma_for(positive_number(epsilon, "epsilon") * _ROUNDING, delta, sensitivity_squared)


def _bottom_noise_ratio(k_bar: int, contribution: int | None) -> Fraction:
    """Ratio of the noise of ⊥ to that of a slot that gives the smallest margin at equal cost.

    If a user moves ⊥ and n slots, and ⊥'s weight is r times a slot's, μ² grows with n + r and the variance of a slot
    against ⊥ with (n + r)(1 + 1/r), which is least at r = √n.
    """
    moved = k_bar if contribution is None else min(contribution - 1, k_bar)
    return Fraction(round(1000 * max(1, moved) ** -0.25), 1000)
