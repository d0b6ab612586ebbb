"""Noisy counts: any selection, then a noisy count for each item it named, as a second release that is charged.

Seed        P3.7; the Gaussian and the Laplace mechanism
Guarantee   the selection's, and one Gaussian step of μ² = c/σ² or c pure steps of 1/scale; c = min(Δ, items named)
Assumes     what the selection assumes; no user has more items than `contribution`; the grid is public
Numerics    exact: integer counts, rational scales, the ideal noisy count rounded to a public grid with certainty (P11)
Proof note  docs/proofs/noisy_counts.md
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Protocol, Self, Unpack

import numpy as np
from numpy.typing import NDArray

from crestline.errors import HistogramError, MechanismError
from crestline.exact_fields import ConvertedField, Name, Number, Whole, WholeOrNone, field, value
from crestline.exact_numbers import Exact, non_negative_number, one_of_names, positive_number, probability, whole_number
from crestline.guarantees.accountants import total
from crestline.guarantees.conversion import largest_rho
from crestline.guarantees.cost import Cost, repeat_step
from crestline.guarantees.guarantee import GaussianDP, Guarantee, PureDP
from crestline.guarantees.root_finding import largest_within
from crestline.guarantees.rounding import ball, decimal_above, precision, round_up
from crestline.histogram.histogram import CountHistogram, Histogram
from crestline.histogram.label_order import Label, label_order
from crestline.histogram.view_kinds import SLOTS, view_of
from crestline.mechanisms.framework.equivariance import release_n
from crestline.mechanisms.limited_domain.gauss import least_sigma
from crestline.mechanisms.limited_domain.gumbel import LimitedDomain
from crestline.mechanisms.mechanism import BuiltIn, Domain, FunctionOfChance, Mechanism
from crestline.mechanisms.numerics.sensitivity import numbers_moved
from crestline.mechanisms.numerics.thresholds import gaussian_threshold
from crestline.mechanisms.privacy_total import PrivacyTotal, TotalArguments
from crestline.mechanisms.selection import Selection
from crestline.mechanisms.slot_checks import check_contribution
from crestline.mechanisms.third_party import adopt, domain_of
from crestline.mechanisms.two_stage import tighter_guarantee
from crestline.randomness.batch_sizes import batch_sizes
from crestline.randomness.compare import round_to_grid
from crestline.randomness.entropy import Entropy
from crestline.randomness.keys import build_keys
from crestline.randomness.laws import GAUSSIAN, LAPLACE, Law
from crestline.randomness.scores import LinearScores

_NOISES: dict[str, Law] = {law.name: law for law in (GAUSSIAN, LAPLACE)}
_NEEDED = "noisy counts need a mechanism with guarantee(), release() and k, the items it names"
_DIGITS = 6  # digits of a scale, short enough to read
_CLOSE = 3  # digits to which a total ε is spent
_SHARE = Fraction(1, 3)  # share of a total ε for the counts


class _FittableMechanism(Protocol):
    """A class of mechanisms that can be made within a total."""

    def for_budget(
        self, *, k: int, k_bar: int | None, epsilon: Exact, delta: Exact, contribution: int | None
    ) -> Mechanism: ...


def _adopt_selecting(mechanism: Mechanism, name: str) -> BuiltIn:
    """A mechanism whose items can be counted afterwards."""
    selecting = adopt(mechanism, _NEEDED)
    if selecting.k is None:
        raise MechanismError(_NEEDED)
    if not isinstance(selecting, BuiltIn) or view_of(selecting).kind != SLOTS.kind:
        raise MechanismError(
            f"{type(mechanism).__name__} does not see the counts of the items it names: ask without counts, or take "
            "Observed with contribution and counts, where counts cost nothing"
        )
    if selecting.counts:
        raise MechanismError("this mechanism publishes counts already, at no extra cost")
    selecting.cost()  # raises if it cannot be charged
    return selecting


@value
class NoisyCounts(BuiltIn):
    """Lets `mechanism` select items, then publishes a noisy count for each of them, as a second release.

    Attributes:
        mechanism: The mechanism that selects.
        scale: Scale of the noise, in users: σ for Gaussian noise, 1/ε for Laplace noise.
        noise: `"gaussian"` or `"laplace"`.
        contribution: Public bound on the items of one user; None: no bound.
        grid: Counts are rounded to multiples of it.
        slack: Failure probability of the accountant for the steps of the counts.
    """

    mechanism: ConvertedField[Mechanism, BuiltIn] = field(_adopt_selecting)
    scale: Number = field(positive_number)
    noise: Name = field(one_of_names(_NOISES), default=GAUSSIAN.name)
    contribution: WholeOrNone = field(check_contribution, default=None)
    grid: Whole = field(whole_number, default=1, kw_only=True)
    slack: Number = field(non_negative_number, default=0, kw_only=True)

    theorem = "P3.7"

    @classmethod
    def for_budget(
        cls, *, mechanism: _FittableMechanism = LimitedDomain, share: Exact = _SHARE, **total: Unpack[TotalArguments]
    ) -> Self:
        """Return the instance within a total (epsilon, delta) whose counts have the least noise.

        Args:
            mechanism: Class of the selecting mechanism; it must have `for_budget`.
            share: Share of ε for the counts; Gaussian noise gets the same share of δ, Laplace noise needs none.
            **total: `k`, `epsilon`, `delta`, `k_bar`, `contribution`.
        """
        return cls.fit(PrivacyTotal.from_arguments(cls, total), mechanism=mechanism, share=share)

    @classmethod
    def fit(cls, total: PrivacyTotal, *, mechanism: _FittableMechanism = LimitedDomain, share: Exact = _SHARE) -> Self:
        part, bound = probability(share, "share"), total.contribution
        moved = numbers_moved(total.k, bound)
        epsilon = part * total.epsilon  # for the counts
        delta_selection, delta_slack = total.split_delta(1 - part)

        def fit_selection(delta: Fraction) -> BuiltIn:
            left = total.epsilon - epsilon
            made = mechanism.for_budget(k=total.k, k_bar=total.k_bar, epsilon=left, delta=delta, contribution=bound)
            return _adopt_selecting(made, "mechanism")

        thrifty = fit_selection(delta_selection)
        composed = _possible_sigmas(thrifty, total.epsilon, delta_slack, moved)
        sigma = min([least_sigma(epsilon, delta_slack, moved), *composed])
        laplace = moved / epsilon
        if least_sigma(total.epsilon, delta_slack, moved) ** 2 < 2 * laplace**2:  # even with all of ε for the counts
            made = cls(thrifty, sigma, GAUSSIAN.name, bound, slack=delta_slack)._with_least_noise(total.epsilon)
            if made.scale**2 < 2 * laplace**2:  # the smaller variance
                return made
        return cls(fit_selection(total.delta), laplace, LAPLACE.name, bound)._with_least_noise(total.epsilon)

    @property
    def k(self) -> int:
        return int(self.mechanism.k or 0)  # never 0: the constructor checks it

    @property
    def k_bar(self) -> int | None:
        return self.mechanism.k_bar

    @property
    def domain(self) -> Domain | None:
        """Domain of the selection: both see the same histogram."""
        return domain_of(self.mechanism)

    @property
    def ordered(self) -> bool:
        """Whether the order of the selection carries information."""
        return self.mechanism.ordered

    @property
    def margin(self) -> FunctionOfChance | None:
        """Margin of the selection, which the counts do not change."""
        return self.mechanism.margin

    @property
    def selecting_mechanism(self) -> BuiltIn:
        return self.mechanism

    def cost(self) -> Cost:
        return self.mechanism.cost() + self._counts_cost(self.k)

    def settlement_cost(self, selection: Selection) -> Cost:
        """Settlement cost of the selection, and the cost of the counts that were published (P3.7, P10.6)."""
        return self.mechanism.settlement_cost(selection) + self._counts_cost(len(selection))

    def guarantee(self) -> Guarantee:
        """The smaller of all steps composed at once, and the sum for selection and counts."""
        return self._smallest_guarantee(self.mechanism.guarantee())

    def _smallest_guarantee(self, selection: Guarantee) -> Guarantee:
        together = total(self.cost(), self.slack + self.mechanism.slack, theorem=self.theorem)
        return tighter_guarantee(together, selection, total(self._counts_cost(self.k), self.slack, self.theorem))

    def _with_least_noise(self, epsilon: Fraction) -> Self:
        """The same with as little noise as a total ε allows: ε that composition saves is spent on the counts."""
        selection = self.mechanism.guarantee()

        def epsilon_of_scale(precise: Fraction) -> Fraction:
            promise: Fraction | None = (
                self._with_scale(round_up(1 / precise, _DIGITS))._smallest_guarantee(selection).epsilon
            )
            assert promise is not None, "a promise within a total has an epsilon"
            return promise

        if epsilon_of_scale(1 / self.scale) > epsilon * (
            1 - Fraction(1, 10**_CLOSE)
        ):  # also if rounding would exceed it
            return self
        precise = largest_within(epsilon_of_scale, epsilon, start=1 / self.scale, digits=_CLOSE)
        return self._with_scale(round_up(1 / precise, _DIGITS))

    def _with_scale(self, scale: Fraction) -> Self:
        return type(self)(self.mechanism, scale, self.noise, self.contribution, grid=self.grid, slack=self.slack)

    def release_many(self, histogram: Histogram, n: int, entropy: Entropy) -> list[Selection]:
        if histogram.unit != 1 and self.noise == LAPLACE.name and self.contribution is not None:
            raise HistogramError("Laplace noise is charged by the items one user has: count distinct users per item")
        count_of = _lookup(histogram)
        result: list[Selection] = []
        for trials in batch_sizes(n, self.k):
            named = release_n(self.mechanism, histogram, trials, entropy)
            table = np.zeros((trials, self.k), dtype=np.int64)
            for row, selection in enumerate(named):
                table[row, : len(selection)] = [count_of(item) for item in _items_in_order(selection)]
            values = self._add_noise(table, histogram.unit, entropy)
            result += [_add_counts(*pair) for pair in zip(named, values.tolist(), strict=True)]
        return result

    def spread(self, chance: float = 0.95) -> float:
        """Error of a published count, in users and before rounding, that is not exceeded with probability `chance`."""
        if self.noise == LAPLACE.name:
            return float(self.scale) * -float(np.log(1 - chance))
        return float(self.scale * gaussian_threshold((1 - chance) / 2)) / float(np.sqrt(2))

    def _counts_cost(self, items: int) -> Cost:
        moved = numbers_moved(items, self.contribution)
        if self.noise == LAPLACE.name:
            return repeat_step(PureDP(1 / self.scale, theorem=self.theorem), moved)
        return repeat_step(GaussianDP(moved / self.scale**2, theorem=self.theorem), min(1, moved))

    def _add_noise(self, counts: NDArray[np.int64], unit: int, entropy: Entropy) -> NDArray[np.int64]:
        """Every count with independent noise, on the grid; columns beyond a row's items are noise, to be dropped."""
        noise = entropy.uniforms(*counts.shape)
        noisy = build_keys(LinearScores(counts, Fraction(1)), _NOISES[self.noise], noise, scale=self.scale * unit)
        return round_to_grid(noisy, Fraction(self.grid)) * self.grid


def _possible_sigmas(selection: BuiltIn, budget: Fraction, delta_slack: Fraction, moved: int) -> list[Fraction]:
    """σ for the zCDP that the selection leaves of the budget, if any: composed at once, less noise may do."""
    left = largest_rho(budget, delta_slack + selection.slack) - selection.cost().rho
    if left <= 0:
        return []
    with precision():
        return [decimal_above((ball(moved) / ball(2 * left)).sqrt())]


def _lookup(histogram: Histogram) -> Callable[[Label], int]:
    """Function from the label of an item to its count."""
    if isinstance(histogram, CountHistogram):
        return lambda item: item[0]
    counts = dict(zip(histogram.items, histogram.counts, strict=True))
    return counts.__getitem__


def _items_in_order(selection: Selection) -> Sequence[Label]:
    """Items of a list as they are, of a set in byte order, which depends on the set alone."""
    return selection.items if isinstance(selection.items, tuple) else sorted(selection.items, key=label_order)


def _add_counts(selection: Selection, counts: list[int]) -> Selection:
    published = tuple(Fraction(count) for count in counts[: len(selection)])
    return Selection(selection.items, selection.stopped, published)
