"""Steps whose worst case is one known pair of laws, as a law of the loss on a grid.

Randomised response dominates every pure step, the Gaussian mechanism is its own worst case. A loss between two grid
points is split between them so that both laws keep their mass: by convexity of V in e^a this only raises
`E[V(a - loss)]`. Weights are masses on the first data set, rounded up; `infinite` is mass whose loss is unbounded.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, comb, floor

import numpy as np
from flint import arb  # type: ignore[import-untyped, unused-ignore] # python-flint ships no types

from crestline.guarantees.gaussian import normal_cdf
from crestline.guarantees.grid import PAD, TINY, Floats, Grid, floats_up
from crestline.guarantees.rounding import ball, precision


@dataclass(frozen=True)
class LossLaw:
    """Masses at the losses `start·h, (start + 1)·h, …`."""

    start: int
    masses: Floats
    infinite: float = 0.0

    def __add__(self, other: LossLaw) -> LossLaw:
        """The law of the sum of two independent losses."""
        masses = np.convolve(self.masses, other.masses) * (PAD + len(self.masses) * 2.0**-50)
        return LossLaw(self.start + other.start, masses, (self.infinite + other.infinite) * PAD)

    def before(self, grid: Grid, values: Floats) -> Floats:
        """`E[V(a - loss)]` at every grid point, for this law before the steps that `values` bound."""
        wide = _reaching(grid, values, self)
        total = np.convolve(wide, self.masses, mode="valid")
        result: Floats = total * (PAD + len(self.masses) * 2.0**-50) + self.infinite + TINY
        return result


def _reaching(grid: Grid, values: Floats, law: LossLaw) -> Floats:
    """The numbers from `-(last loss)` to `top - (first loss)`, as far as the law reads."""
    first, last = -(law.start + len(law.masses) - 1), grid.top - law.start
    wide = Grid(grid.width, grid.top, max(1, -first, last - grid.top)).extended(values)
    origin = (len(wide) - grid.top - 1) // 2
    return wide[origin + first : origin + last + 1]


def randomised_response(grid: Grid, epsilon: Fraction, times: int) -> LossLaw:
    """`times` pure steps: losses `(times - 2l)ε` with binomial masses."""
    with precision():
        growth = ball(epsilon).exp()
        total = (1 + growth) ** times
        atoms = [
            (epsilon * (times - 2 * fewer), comb(times, fewer) * growth ** (times - fewer) / total)
            for fewer in range(times + 1)
        ]
        return _split(grid, atoms)


def _split(grid: Grid, atoms: Iterable[tuple[Fraction, arb]]) -> LossLaw:
    """Each atom shared between its two grid neighbours; V is read at `a - loss`, so the chord is that of `-loss`."""
    shares: dict[int, float] = {}
    for loss, mass in atoms:
        index, low, high = grid.chord(-loss)
        bound = float(floats_up([mass])[0])
        for place, share in ((-index, low), (-index - 1, high)):
            shares[place] = (shares.get(place, 0.0) + bound * share) * PAD
    start = min(shares)
    masses = np.zeros(max(shares) - start + 1)
    for place, share in shares.items():
        masses[place - start] = share
    return LossLaw(start, masses)


def gaussian(grid: Grid, mu_squared: Fraction, delta: Fraction) -> LossLaw:
    """Gaussian steps: the loss is N(μ²/2, μ²) on the first data set and N(-μ²/2, μ²) on the second.

    Mass beyond a point that one part in a million of δ lies above is called infinite; mass as far below is moved up.
    """
    with precision(120):
        mu = ball(mu_squared).sqrt()
        middle = ball(mu_squared) / 2
        reach = mu * (-2 * (ball(delta) / 10**6).log()).sqrt()
        low, high = _places(grid, middle - reach, middle + reach)
        edges = [ball(grid.width * index) for index in range(low, high + 1)]
        on_first = [normal_cdf((edge - middle) / mu) for edge in edges]
        on_second = [normal_cdf((edge + middle) / mu) for edge in edges]
        masses = np.zeros(high - low + 1)
        shrink, whole = (-ball(grid.width)).exp(), -(-ball(grid.width)).expm1()
        for cell in range(high - low):
            mass, other = on_first[cell + 1] - on_first[cell], on_second[cell + 1] - on_second[cell]
            # Masses m0 + m1 = P and m0 e^-l + m1 e^-(l+h) = Q of the cell.
            lifted = other * edges[cell].exp()
            pair = floats_up([((lifted - shrink * mass) / whole).max(arb(0)), ((mass - lifted) / whole).max(arb(0))])
            masses[cell : cell + 2] = (masses[cell : cell + 2] + pair) * PAD
        masses[0] = (masses[0] + float(floats_up([on_first[0]])[0])) * PAD
        tail = normal_cdf((middle - edges[-1]) / mu)
        return LossLaw(low, masses, float(floats_up([tail])[0]))


def _places(grid: Grid, low: arb, high: arb) -> tuple[int, int]:
    """Grid points around an interval."""
    width = float(grid.width)
    return floor(float(low) / width) - 1, ceil(float(high) / width) + 1
