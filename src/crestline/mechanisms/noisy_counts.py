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
from crestline.fields import Converted, Name, Number, Whole, WholeOrNone, field, value
from crestline.guarantees.accountants import total
from crestline.guarantees.conversion import largest_rho
from crestline.guarantees.cost import Cost, steps
from crestline.guarantees.guarantee import GaussianDP, Guarantee, PureDP
from crestline.guarantees.rounding import ball, precision, round_up, upper
from crestline.guarantees.search import largest_within
from crestline.histogram.histogram import Histogram, Multiplicities
from crestline.histogram.labels import Label, label_order
from crestline.histogram.views import SLOTS, view_of
from crestline.mechanisms.adopt import adopt, domain_of
from crestline.mechanisms.framework.contract import released
from crestline.mechanisms.limited_domain.gauss import sigma_within
from crestline.mechanisms.limited_domain.gumbel import LimitedDomain
from crestline.mechanisms.mechanism import AtChance, BuiltIn, Domain, Mechanism
from crestline.mechanisms.numerics.sensitivity import most_moved
from crestline.mechanisms.numerics.thresholds import gaussian_threshold
from crestline.mechanisms.selection import Selection
from crestline.mechanisms.slots import contribution_bound
from crestline.mechanisms.stages import better
from crestline.mechanisms.total import Total, TotalArguments
from crestline.parameters import Exact, not_negative, one_of, positive, probability, whole
from crestline.randomness.batches import batches
from crestline.randomness.compare import rounded
from crestline.randomness.entropy import Entropy
from crestline.randomness.keys import keys
from crestline.randomness.laws import GAUSSIAN, LAPLACE, Law
from crestline.randomness.scores import Linear

_NOISES: dict[str, Law] = {law.name: law for law in (GAUSSIAN, LAPLACE)}
_NEEDED = "noisy counts need a mechanism with guarantee(), release() and k, the items it names"
_DIGITS = 6  # of a scale that people will read
_CLOSE = 3  # digits to which a total ε is spent
_SHARE = Fraction(1, 3)  # of a total ε, for the counts


class _Fitting(Protocol):
    """A class of mechanisms that can be made within a total."""

    def for_budget(
        self, *, k: int, k_bar: int | None, epsilon: Exact, delta: Exact, contribution: int | None
    ) -> Mechanism: ...


def _selecting(mechanism: Mechanism, name: str) -> BuiltIn:
    """A mechanism whose items can be counted afterwards."""
    selecting = adopt(mechanism, _NEEDED)
    if selecting.k is None:
        raise MechanismError(_NEEDED)
    if not isinstance(selecting, BuiltIn) or view_of(selecting).kind != SLOTS.kind:
        raise MechanismError(
            f"{type(mechanism).__name__} names items whose counts it does not see: ask without counts, or take "
            "Observed with contribution and counts, which cost nothing there"
        )
    if selecting.counts:
        raise MechanismError("this mechanism publishes counts already, at no extra cost")
    selecting.cost()  # one that cannot be charged is refused here
    return selecting


@value
class NoisyCounts(BuiltIn):
    """Lets `mechanism` select items, then publishes a noisy count for each of them, as a second release.

    `scale` of the noise, in users: σ for Gaussian noise, 1/ε for Laplace noise. `slack` is that of the counts.
    """

    mechanism: Converted[Mechanism, BuiltIn] = field(_selecting)
    scale: Number = field(positive)
    noise: Name = field(one_of(_NOISES), default=GAUSSIAN.name)
    contribution: WholeOrNone = field(contribution_bound, default=None)
    grid: Whole = field(whole, default=1, kw_only=True)
    slack: Number = field(not_negative, default=0, kw_only=True)

    theorem = "P3.7"

    @classmethod
    def for_budget(
        cls, *, mechanism: _Fitting = LimitedDomain, share: Exact = _SHARE, **total: Unpack[TotalArguments]
    ) -> Self:
        """The instance within a total (epsilon, delta) whose counts are the least noisy; a `share` of ε is for them.

        `mechanism` is a class with `for_budget`. Laplace noise needs no δ; Gaussian noise gets the same share of it.
        """
        return cls.fit(Total.of(cls, total), mechanism=mechanism, share=share)

    @classmethod
    def fit(cls, total: Total, *, mechanism: _Fitting = LimitedDomain, share: Exact = _SHARE) -> Self:
        part, bound = probability(share, "share"), total.contribution
        moved = most_moved(total.k, bound)
        epsilon = part * total.epsilon  # of the counts
        delta_selection, delta_slack = total.split_delta(1 - part)

        def selection(delta: Fraction) -> BuiltIn:
            left = total.epsilon - epsilon
            made = mechanism.for_budget(k=total.k, k_bar=total.k_bar, epsilon=left, delta=delta, contribution=bound)
            return _selecting(made, "mechanism")

        thrifty = selection(delta_selection)
        composed = _sigmas_left(thrifty, total.epsilon, delta_slack, moved)
        sigma = min([sigma_within(epsilon, delta_slack, moved), *composed])
        laplace = moved / epsilon
        if sigma_within(total.epsilon, delta_slack, moved) ** 2 < 2 * laplace**2:  # were all of ε for the counts
            made = cls(thrifty, sigma, GAUSSIAN.name, bound, slack=delta_slack)._spending(total.epsilon)
            if made.scale**2 < 2 * laplace**2:  # the smaller variance
                return made
        return cls(selection(total.delta), laplace, LAPLACE.name, bound)._spending(total.epsilon)

    @property
    def k(self) -> int:
        return int(self.mechanism.k or 0)  # never 0: it was checked

    @property
    def k_bar(self) -> int | None:
        return self.mechanism.k_bar

    @property
    def domain(self) -> Domain | None:
        """That of the selection: both look at the same histogram."""
        return domain_of(self.mechanism)

    @property
    def ordered(self) -> bool:
        """Whether the selection's order means anything."""
        return self.mechanism.ordered

    @property
    def margin(self) -> AtChance | None:
        """The margin of the selection inside: counting afterwards does not change it."""
        return self.mechanism.margin

    @property
    def selecting(self) -> BuiltIn:
        return self.mechanism

    def cost(self) -> Cost:
        return self.mechanism.cost() + self._counts_cost(self.k)

    def settled(self, selection: Selection) -> Cost:
        """What the selection is settled for, and the counts that were in fact published (P3.7, P10.6)."""
        return self.mechanism.settled(selection) + self._counts_cost(len(selection))

    def guarantee(self) -> Guarantee:
        """All steps composed at once, or selection and counts each on their own, whichever is less."""
        return self._promise(self.mechanism.guarantee())

    def _promise(self, selection: Guarantee) -> Guarantee:
        together = total(self.cost(), self.slack + self.mechanism.slack, theorem=self.theorem)
        return better(together, selection, total(self._counts_cost(self.k), self.slack, self.theorem))

    def _spending(self, epsilon: Fraction) -> Self:
        """The same with as little noise as a total ε allows: what composition saves is spent on the counts."""
        selection = self.mechanism.guarantee()

        def spent(precise: Fraction) -> Fraction:
            promise: Fraction | None = self._scaled(round_up(1 / precise, _DIGITS))._promise(selection).epsilon
            assert promise is not None, "a promise within a total has an epsilon"
            return promise

        if spent(1 / self.scale) > epsilon * (1 - Fraction(1, 10**_CLOSE)):  # also where rounding would exceed it
            return self
        precise = largest_within(spent, epsilon, start=1 / self.scale, digits=_CLOSE)
        return self._scaled(round_up(1 / precise, _DIGITS))

    def _scaled(self, scale: Fraction) -> Self:
        return type(self)(self.mechanism, scale, self.noise, self.contribution, grid=self.grid, slack=self.slack)

    def release_many(self, histogram: Histogram, n: int, entropy: Entropy) -> list[Selection]:
        if histogram.unit != 1 and self.noise == LAPLACE.name and self.contribution is not None:
            raise HistogramError("Laplace noise is charged by the items one user has: count distinct users per item")
        count_of = _lookup(histogram)
        result: list[Selection] = []
        for trials in batches(n, self.k):
            named = released(self.mechanism, histogram, trials, entropy)
            table = np.zeros((trials, self.k), dtype=np.int64)
            for row, selection in enumerate(named):
                table[row, : len(selection)] = [count_of(item) for item in _in_order(selection)]
            values = self._noisy(table, histogram.unit, entropy)
            result += [_with_counts(*pair) for pair in zip(named, values.tolist(), strict=True)]
        return result

    def spread(self, chance: float = 0.95) -> float:
        """The error of a published count, in users and before rounding, that is not exceeded with this chance."""
        if self.noise == LAPLACE.name:
            return float(self.scale) * -float(np.log(1 - chance))
        return float(self.scale * gaussian_threshold((1 - chance) / 2)) / float(np.sqrt(2))

    def _counts_cost(self, items: int) -> Cost:
        moved = most_moved(items, self.contribution)
        if self.noise == LAPLACE.name:
            return steps(PureDP(1 / self.scale, theorem=self.theorem), moved)
        return steps(GaussianDP(moved / self.scale**2, theorem=self.theorem), min(1, moved))

    def _noisy(self, counts: NDArray[np.int64], unit: int, entropy: Entropy) -> NDArray[np.int64]:
        """Every count with fresh noise, on the grid. Columns beyond a row's items are noise on zero, and dropped."""
        noise = entropy.uniforms(*counts.shape)
        noisy = keys(Linear(counts, Fraction(1)), _NOISES[self.noise], noise, scale=self.scale * unit)
        return rounded(noisy, Fraction(self.grid)) * self.grid


def _sigmas_left(selection: BuiltIn, budget: Fraction, delta_slack: Fraction, moved: int) -> list[Fraction]:
    """σ for the zCDP that the selection leaves of the budget, if it leaves any: composed at once, noise may be less."""
    left = largest_rho(budget, delta_slack + selection.slack) - selection.cost().rho
    if left <= 0:
        return []
    with precision():
        return [upper((ball(moved) / ball(2 * left)).sqrt())]


def _lookup(histogram: Histogram) -> Callable[[Label], int]:
    """The count of an item by its label."""
    if isinstance(histogram, Multiplicities):
        return lambda item: item[0]
    counts = dict(zip(histogram.items, histogram.counts, strict=True))
    return counts.__getitem__


def _in_order(selection: Selection) -> Sequence[Label]:
    """A tuple as it is; a set in byte order, which depends on nothing but the set."""
    return selection.items if isinstance(selection.items, tuple) else sorted(selection.items, key=label_order)


def _with_counts(selection: Selection, counts: list[int]) -> Selection:
    published = tuple(Fraction(count) for count in counts[: len(selection)])
    return Selection(selection.items, selection.stopped, published)
