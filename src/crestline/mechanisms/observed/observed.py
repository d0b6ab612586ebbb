"""Observed items: noise on the score of every observed item, and the k largest that exceed a threshold.

Seed        the thresholded noisy histogram (Korolova et al. 2009), weighted as in Gopi et al. 2020, with an exact δ
Guarantee   (ε, δ*) of P17.3, certified; in a ledger one Gaussian step of Δ/σ² (or Laplace: ε) and δ (P17.4, P17.5);
            for users of several groups the same certificate for all of them together (P15.1)
Assumes     each user keeps at most `cap` items, and each weighs what `weights` says; every observed item is listed
Numerics    exact: whole-number scores, rational scale and threshold, ideal keys decided with certainty (P11)
Proof note  docs/proofs/observed.md
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field as plain_field
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Self, Unpack, cast

import numpy as np

from crestline.errors import HistogramError, ParameterError
from crestline.exact_fields import ConvertedField, Flag, Name, Number, Whole, WholeOrNone, field, to_bool, value
from crestline.exact_numbers import Exact, one_of_names, positive_number, probability, set_frozen_fields, whole_number
from crestline.guarantees.cost import Cost, repeat_step
from crestline.guarantees.gaussian import largest_mu_squared
from crestline.guarantees.guarantee import ApproxDP, GaussianDP, Guarantee, WorstOfSteps
from crestline.guarantees.rounding import ball, decimal_above, decimal_below, precision
from crestline.histogram.count_bounds import CountBounds
from crestline.histogram.histogram import Histogram
from crestline.histogram.histogram_table import HistogramTable
from crestline.histogram.observed_items import ObservedItems
from crestline.histogram.observed_table import ObservedTable
from crestline.histogram.view_kinds import SeenInGroups, View
from crestline.mechanisms.mechanism import BuiltIn
from crestline.mechanisms.observed import thresholds
from crestline.mechanisms.observed.exact_delta import is_certainly_private
from crestline.mechanisms.observed.law import threshold_law
from crestline.mechanisms.observed.named_counts import FULL_WEIGHT, NoisyScores, count_named
from crestline.mechanisms.observed.release import ReleasedRanks, ThresholdRule, draw_releases
from crestline.mechanisms.observed.release_groups import draw_in_groups
from crestline.mechanisms.observed.weights import UNIT, Weights, gaussian_weights, laplace_weights
from crestline.mechanisms.privacy_total import PrivacyTotal, TotalArguments
from crestline.mechanisms.selection import Selection
from crestline.mechanisms.slot_checks import check_contribution
from crestline.randomness.entropy import Entropy
from crestline.randomness.laws import GAUSSIAN, LAPLACE, Law
from crestline.randomness.unit_points import Floats

_NOISES: dict[str, Law] = {law.name: law for law in (GAUSSIAN, LAPLACE)}
# Shares of a total δ left unused, so that the certificate holds; the first share that suffices is taken.
_ROOM = (Fraction(1, 10**6), Fraction(1, 10**4), Fraction(1, 100), Fraction(1, 4), Fraction(1, 2))
# Laplace noise has the lower threshold up to two items of a user (ε = 1 to 8, δ = 1e-6 to 1e-10), Gaussian noise from
# three on (up to ε = 4).
_FEW_EACH = 2

_IN_GROUPS = "P15.1, P17.3"

LARGEST_CAP = 1 << 16
"""Largest cap: there is one weight for each number of items up to it, and one certificate that covers them all."""


def _whole_or_none(cap: int | None, name: str) -> int:
    """The cap as a whole number; None, which `__post_init__` replaces by the contribution, is returned unchanged."""
    return cast("int", None) if cap is None else whole_number(cap, name)


def _zero_or_probability(slack: Exact, name: str) -> Fraction:
    """The slack as an exact number: zero or a probability."""
    return Fraction(0) if slack == 0 else probability(slack, name)


@value
class Observed(BuiltIn):
    """Adds noise to the score of every observed item, and names the k largest above a threshold.

    Attributes:
        k: Items wanted.
        contribution: Δ, the items of one user that the noise covers.
        scale: σ of Gaussian noise, or Δ/ε of Laplace noise, in users.
        delta: Probability that an item which only one user has is named.
        noise: `"gaussian"` or `"laplace"`.
        cap: Most items of a user that are kept; above `contribution` each of them weighs less than one.
        counts: Whether to publish the noisy scores, which are numbers of users; only without weights.
        grid: Published counts are rounded to multiples of it.
        promise: A total (ε, δ) that the exact δ of P17.3 is certified to keep; None: steps are added up as in a
            ledger.
        slack: Failure probability of an accountant that composes the steps.
        groups: Groups in which one user counts, with one release in each, that the promise covers; None: one.
    """

    k: Whole = field(whole_number)
    contribution: Whole = field(whole_number)
    scale: Number = field(positive_number)
    delta: Number = field(probability)
    noise: Name = field(one_of_names(_NOISES), default=GAUSSIAN.name)
    cap: ConvertedField[int | None, int] = field(_whole_or_none, default=None, kw_only=True)
    counts: Flag = field(to_bool, default=False, kw_only=True)
    grid: Whole = field(whole_number, default=1, kw_only=True)
    promise: ApproxDP | None = plain_field(default=None, kw_only=True)
    slack: Number = field(_zero_or_probability, default=0, kw_only=True)
    groups: WholeOrNone = field(check_contribution, default=None, kw_only=True)

    theorem = "P17.3"

    def __post_init__(self) -> None:
        if self.cap is None:
            set_frozen_fields(self, cap=self.contribution)
        whole_number(self.cap, "cap", at_least=self.contribution, at_most=LARGEST_CAP)
        if self.counts and self.has_fractional_weights:
            raise ParameterError("with a cap above the contribution scores are weighted: they are no counts of users")
        if self.noise == LAPLACE.name and self.delta > Fraction(1, 2):
            raise ParameterError("Laplace noise needs a delta of at most one half")
        if self.promise is not None and not self._promise_holds(self.promise):
            raise ParameterError(
                "the promise is not kept with this noise and threshold: take more noise or a smaller δ"
            )
        super().__post_init__()

    @classmethod
    def for_budget(
        cls,
        *,
        counts: bool = False,
        cap: int | None = None,
        noise: str | None = None,
        groups: int | None = None,
        **total: Unpack[TotalArguments],
    ) -> Self:
        """Return the instance within a total (epsilon, delta) that has the lowest threshold.

        Args:
            counts: Whether to publish counts.
            cap: Most items of a user that are kept; None: `contribution`.
            noise: `"gaussian"` or `"laplace"`; None chooses by `contribution`.
            groups: Groups of one user that the total covers (P15.1).
            **total: `k`, `epsilon`, `delta`, `contribution`; `k_bar` has no effect, since every observed item is read.

        Raises:
            ParameterError: There is no contribution bound, or no noise is certain to keep the total.
        """
        return cls.fit(PrivacyTotal.from_arguments(cls, total), counts=counts, cap=cap, noise=noise, groups=groups)

    @classmethod
    def fit(
        cls,
        total: PrivacyTotal,
        *,
        counts: bool = False,
        cap: int | None = None,
        noise: str | None = None,
        groups: int | None = None,
    ) -> Self:
        """Laplace noise for up to two items of a user, else Gaussian noise with a certified promise.

        With `groups` the total covers one release in each of that number of groups of a user (P15.1).
        """
        if total.contribution is None:
            raise ParameterError("Observed needs a contribution bound; without one take Sieve, which finds its own")
        bound, (delta, _) = total.contribution, total.split_delta()
        several = None if groups == 1 else groups
        moved = bound * (several or 1)
        kind = noise or (LAPLACE.name if moved <= _FEW_EACH else GAUSSIAN.name)
        make = partial(cls, total.k, bound, noise=kind, cap=cap, counts=counts, groups=several)
        if kind == LAPLACE.name and several is None:
            return make(scale=bound / total.epsilon, delta=delta)
        promise = ApproxDP(total.epsilon, delta)
        for room in _ROOM:
            new = delta_in_each(delta * (1 - room), several or 1)
            if kind == LAPLACE.name:
                return make(scale=moved / total.epsilon, delta=new, promise=promise)
            sigma = _sigma_for_bound(moved, largest_mu_squared(total.epsilon, delta * (1 - room)))
            if is_certainly_private(total.epsilon, delta_in_all(new, several or 1), moved / sigma**2, delta):
                return make(scale=sigma, delta=new, promise=promise)
        raise ParameterError(
            "no Gaussian noise is certain to keep this total: take noise='laplace' or a larger epsilon"
        )

    @property
    def threshold(self) -> Fraction:
        """T: the number that a noisy score must exceed, in users."""
        solve = thresholds.gaussian_threshold if self.noise == GAUSSIAN.name else thresholds.laplace_threshold
        return solve(self.contribution, self.cap, self.scale, self.delta)

    @property
    def weights(self) -> Weights:
        """Weight of one item of a user who keeps 1, 2, …, `cap` items, in units of 2^-20."""
        table = gaussian_weights if self.noise == GAUSSIAN.name else laplace_weights
        return table(self.contribution, self.cap)

    @property
    def view(self) -> View:
        """View of the data: observed items with these weights; without weights, scores are numbers of users."""
        return View("observed", tuple(self.weights.tolist()) if self.has_fractional_weights else (1,) * self.cap)

    @property
    def has_fractional_weights(self) -> bool:
        """Whether scores are sums of weights rather than numbers of users."""
        return self.cap > self.contribution

    def cost(self) -> Cost:
        if self.noise == LAPLACE.name:
            rho = self.contribution / (2 * self.scale**2)
            return repeat_step(WorstOfSteps(self.contribution / self.scale, rho, theorem="P22.2"), delta=self.delta)
        return repeat_step(GaussianDP(self.contribution / self.scale**2, theorem="P17.4"), delta=self.delta)

    def guarantee(self) -> Guarantee:
        if self.promise is None:
            return super().guarantee()
        return ApproxDP(self.promise.epsilon, self.promise.delta, theorem=self.theorem)

    def guarantee_in_groups(self, groups: int) -> Guarantee | None:
        """The certificate for all groups of a user at once (P15.1); None without a promise, or for more groups."""
        kept = self.promise
        return None if kept is None or groups > (self.groups or 1) else replace(kept, theorem=_IN_GROUPS)

    def release_groups(self, table: SeenInGroups, entropy: Entropy) -> list[Selection]:
        if isinstance(table, ObservedTable):
            return self.release_each(table, entropy)
        return super().release_groups(table, entropy)

    def release_each(self, table: HistogramTable | ObservedTable, entropy: Entropy) -> list[Selection]:
        """Release once for every group, in one array operation; only named items become Python objects."""
        if not isinstance(table, ObservedTable):
            return super().release_each(table, entropy)  # raises, as for every other histogram
        self._check_unit(table.unit)
        found = draw_in_groups(table, self._threshold_rule, entropy)
        names = table.names(found.picks)
        counts, bounds = self._count_named(found.values.tolist(), found.bars)
        result = [Selection((), stopped=True)] * len(table)
        for row, part in found.rows_with_items():
            items = tuple(names[part])
            result[row] = Selection(items, len(items) < self.k, counts and counts[part], bounds=bounds and bounds[part])
        return result

    def release_many(self, histogram: Histogram, n: int, entropy: Entropy) -> list[Selection]:
        items = self._observed_or_refuse(histogram)
        return [self._selection(items, one) for one in draw_releases(items, self._threshold_rule, n, entropy)]

    @property
    def _threshold_rule(self) -> ThresholdRule:
        return ThresholdRule(self.k, _NOISES[self.noise], self.scale, self.threshold, Fraction(self.grid))

    def law(self, histogram: Histogram) -> Mapping[Selection, float]:
        """Exact probability of every selection, for a few observed items.

        Raises:
            ParameterError: Counts are published, or there are too many outcomes.
        """
        if self.counts:
            raise ParameterError("the law of published counts is not written down: ask for it without counts")
        items = self._observed_or_refuse(histogram)
        return threshold_law(items, self.k, _NOISES[self.noise], float(self.scale), float(self.threshold))

    def margin(self, chance: float = 0.95) -> float:
        """Users that an item needs to exceed the threshold with probability `chance`, if each weighs one."""
        return float(self.threshold) + float(self.scale) * self._noise_quantile(chance)

    def spread(self, chance: float = 0.95) -> float:
        """Error of a published count, in users and before rounding, that is not exceeded with probability `chance`."""
        return float(self.scale) * self._noise_quantile((1 + chance) / 2)

    def _noise_quantile(self, chance: float) -> float:
        if self.noise == LAPLACE.name:
            return math.copysign(-math.log1p(-abs(2 * chance - 1)), chance - 0.5)
        from scipy.special import ndtri  # imported here, since SciPy is slow to load

        return float(ndtri(chance))

    def _promise_holds(self, promise: ApproxDP) -> bool:
        """Whether a promise holds for users of `groups` groups: all items move, and each group may name a new one."""
        moved, new = self.contribution * (self.groups or 1), delta_in_all(self.delta, self.groups or 1)
        if self.noise == LAPLACE.name:
            return moved / self.scale <= promise.epsilon and new <= promise.delta
        return is_certainly_private(promise.epsilon, new, moved / self.scale**2, promise.delta)

    def _observed_or_refuse(self, histogram: Histogram) -> ObservedItems:
        if not isinstance(histogram, ObservedItems):
            raise HistogramError(
                "this mechanism looks at every observed item: make the histogram with ObservedItems.from_scores"
            )
        self._check_unit(histogram.unit)
        return histogram

    def _check_unit(self, unit: int) -> None:
        if self.has_fractional_weights and unit != UNIT:
            raise HistogramError("with a cap above the contribution scores are sums of weights, with unit 2^20")

    def _selection(self, items: ObservedItems, one: ReleasedRanks) -> Selection:
        counts, bounds = self._count_named(one.values, float(one.bar))
        return Selection(items.names(one.ranks), len(one.ranks) < self.k, counts, bounds=bounds)

    def _count_named(
        self, values: Sequence[int], bar: Floats | float
    ) -> tuple[tuple[Fraction, ...] | None, tuple[CountBounds, ...] | None]:
        """Published counts from noisy scores in steps of the grid, and their intervals (P23.1); None without counts."""
        if not self.counts:
            return None, None
        scores = np.multiply(np.array(values, dtype=np.float64), self.grid)
        _, bounds = count_named(NoisyScores(scores, float(self.scale), bar, _NOISES[self.noise]), FULL_WEIGHT)
        return tuple(Fraction(value * self.grid) for value in values), tuple(bounds)


def delta_in_each(delta: Fraction, groups: int) -> Fraction:
    """`1 - (1-δ)^(1/c)`, rounded down: δ of each of c releases, one of which names something new with δ."""
    if groups == 1:
        return delta
    with precision():
        return decimal_below(-((-ball(delta)).log1p() / groups).expm1())


def delta_in_all(delta: Fraction, groups: int) -> Fraction:
    """`1 - (1-δ)^c`, rounded up: the probability that one of c independent releases names something new (P15.1)."""
    if groups == 1:
        return delta
    with precision():
        return decimal_above(-((-ball(delta)).log1p() * groups).expm1())


def _sigma_for_bound(bound: int, mu_squared: Fraction) -> Fraction:
    """σ with Δ/σ² ≤ μ², rounded up."""
    with precision():
        return decimal_above((ball(bound) / ball(mu_squared)).sqrt())
