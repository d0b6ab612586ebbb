"""Joint law of the loss, on a grid, of steps whose worst case is one known pair of laws.

Randomised response dominates every pure step, the Gaussian mechanism is its own worst case. A loss between two grid
points is split between them so that both laws keep their mass: by convexity of V in e^a this only raises `E[V(a -
loss)]`. Weights are masses on the first data set, rounded up; `infinite` is mass whose loss is unbounded.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, comb, floor

import numpy as np
from flint import arb

from crestline.guarantees.gaussian import normal_cdf
from crestline.guarantees.optimum.grid import PAD, TINY, CurveGrid, Floats, float_up
from crestline.guarantees.root_finding import is_rough
from crestline.guarantees.rounding import ball, precision

_LEFT_OUT = Fraction(1, 10**6)  # share of δ beyond the upper end of a law, and mass beyond the lower one
_CELLS_PER_DEVIATION = 32  # fine enough that a chord over a cell adds less than 2e-4 of the variance
_ROUGH_CELLS = 8  # less than three thousandths


@dataclass(frozen=True)
class LossLaw:
    """Law of a loss: masses at the losses `start·h, (start + 1)·h, …`, and at infinity."""

    start: int
    masses: Floats
    infinite: float = 0.0

    def __add__(self, other: LossLaw) -> LossLaw:
        """Law of the sum of two independent losses."""
        few, many = sorted((self, other), key=lambda law: np.count_nonzero(law.masses))
        masses = np.zeros(len(few.masses) + len(many.masses) - 1)
        places = np.flatnonzero(few.masses)
        for place in places:
            masses[place : place + len(many.masses)] += few.masses[place] * many.masses
        rounding = PAD + len(places) * sys.float_info.epsilon
        return LossLaw(few.start + many.start, masses * rounding, (self.infinite + other.infinite) * PAD)

    def apply_to(self, grid: CurveGrid, values: Floats) -> Callable[[int], float]:
        """Function of a grid point that bounds `E[V(a - loss)]`, for this law before the steps that `values` bound."""
        last = self.start + len(self.masses) - 1
        reach = max(last, -self.start)
        wide = CurveGrid(grid.width, grid.top, reach).extend(values)
        backwards, rounding = self.masses[::-1].copy(), PAD + len(self.masses) * sys.float_info.epsilon

        def value(index: int) -> float:
            first = reach + index - last
            mean = float(wide[first : first + len(backwards)] @ backwards)
            return mean * rounding + self.infinite + TINY

        return value


def randomised_response(grid: CurveGrid, epsilon: Fraction, times: int) -> LossLaw:
    """Law of the loss of `times` pure steps: losses `(times - 2l)ε` with binomial masses."""
    with precision():
        growth = ball(epsilon).exp()
        total = (1 + growth) ** times
        atoms = [
            (epsilon * (times - 2 * fewer), comb(times, fewer) * growth ** (times - fewer) / total)
            for fewer in range(times + 1)
        ]
        return _split_atoms(grid, atoms)


def _split_atoms(grid: CurveGrid, atoms: Iterable[tuple[Fraction, arb]]) -> LossLaw:
    """Law with each atom split between its two grid neighbours, by the chord of `-loss`, at which V is read."""
    shares: dict[int, float] = {}
    for loss, mass in atoms:
        index, low, high = grid.chord(-loss)
        bound = float_up(mass)
        for place, share in ((-index, low), (-index - 1, high)):
            shares[place] = (shares.get(place, 0.0) + bound * share) * PAD
    start = min(shares)
    masses = np.zeros(max(shares) - start + 1)
    for place, share in shares.items():
        masses[place - start] = share
    return LossLaw(start, masses)


def gaussian(grid: CurveGrid, mu_squared: Fraction, delta: Fraction) -> LossLaw:
    """Law of the loss of Gaussian steps: N(μ²/2, μ²) on the first data set and N(-μ²/2, μ²) on the second.

    The law is cut: mass above, a millionth of δ, is counted as infinite; mass below, a millionth of all, is moved up to
    the lowest point, where it counts with a value that is hardly above δ.
    """
    with precision(120):  # enough bits; balls carry their own error
        mu, middle = ball(mu_squared).sqrt(), ball(mu_squared) / 2
        near, far = (float(mu * (-2 * ball(part).log()).sqrt()) for part in (_LEFT_OUT, delta * _LEFT_OUT))
        per_deviation = _ROUGH_CELLS if is_rough() else _CELLS_PER_DEVIATION
        stride = max(1, floor(float(mu / ball(grid.width)) / per_deviation))
        low = floor((float(middle) - near) / float(grid.width))
        cells = ceil((far + float(middle) - low * float(grid.width)) / float(grid.width) / stride)
        edges = [ball(grid.width * (low + stride * cell)) for cell in range(cells + 1)]
        on_first = [normal_cdf((edge - middle) / mu) for edge in edges]
        on_second = [normal_cdf((edge + middle) / mu) for edge in edges]
        masses = np.zeros(stride * cells + 1)
        masses[0] = float_up(on_first[0])
        shrink = (-ball(grid.width * stride)).exp()
        for cell in range(cells):
            mass, other = on_first[cell + 1] - on_first[cell], on_second[cell + 1] - on_second[cell]
            # Masses m0 at the lower edge l and m1 at the upper: m0 + m1 = P and m0 + m1 e^-width = Q e^l.
            lifted = other * edges[cell].exp()
            place = stride * cell
            masses[place] = (masses[place] + float_up((lifted - shrink * mass) / (1 - shrink))) * PAD
            masses[place + stride] = float_up((mass - lifted) / (1 - shrink))
        return LossLaw(low, masses, float_up(normal_cdf((middle - edges[-1]) / mu)))
