"""Points of the unit interval in the coordinates that noise laws need, accurate at both ends.

A uniform U is also an arrival time `E = -ln U` (standard exponential) and a Gumbel value `g = -ln E`. The largest of n
independent uniforms has the law of `g + ln n` in the last coordinate, for any n, so a group of n equal counts is one
draw (D9).
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LN2 = float(np.log(2.0))
_LN_LN2 = float(np.log(LN2))
_TINY = np.finfo(np.float64).tiny


class Points:
    """Uniforms given by `u` and `v = 1 - u`, each with a small relative error."""

    def __init__(self, u: Floats, v: Floats) -> None:
        self._u = u
        self._v = v

    @cached_property
    def log_u(self) -> Floats:
        """Logarithm of U."""
        with np.errstate(divide="ignore"):  # minus infinity is the correct value at U = 0
            return np.where(self._u < 0.5, np.log(self._u), np.log1p(-self._v))

    @cached_property
    def log_v(self) -> Floats:
        """Logarithm of 1 - U."""
        with np.errstate(divide="ignore"):
            return np.where(self._v < 0.5, np.log(self._v), np.log1p(-self._u))

    @cached_property
    def gumbel(self) -> Floats:
        """Gumbel value, -ln(-ln U)."""
        with np.errstate(divide="ignore"):
            return -np.log(-self.log_u)


class RoughPoints(Points):
    """Points computed from u alone, for speed; the error is below 2^-26 while u is at least 2^-24 away from 0 and 1."""

    def __init__(self, u: Floats) -> None:
        super().__init__(u, u)

    @cached_property
    def log_u(self) -> Floats:
        return np.log(self._u)

    @cached_property
    def log_v(self) -> Floats:
        return np.log(np.subtract(1.0, self._u))

    @cached_property
    def gumbel(self) -> Floats:
        work = np.log2(self._u)  # vectorised by NumPy on processors where the natural logarithm is not
        np.negative(work, out=work)
        np.log2(work, out=work)
        work *= -LN2
        work -= _LN_LN2  # -ln(-ln u) = -ln 2 · log2(-log2 u) - ln(ln 2)
        return work


class GumbelPoints(Points):
    """Uniforms given by their Gumbel value, which may be as large as the logarithm of any number of copies."""

    def __init__(self, gumbel: Floats) -> None:
        self.__dict__["gumbel"] = gumbel

    @cached_property
    def log_u(self) -> Floats:
        with np.errstate(over="ignore"):  # an overflow gives the correct value, minus infinity
            return -np.exp(-self.gumbel)

    @cached_property
    def log_v(self) -> Floats:
        with np.errstate(over="ignore"):
            arrival = np.maximum(np.exp(-self.gumbel), _TINY)
        # ln(1 - e^-E) by expm1 for small E and by log1p for large E, so that neither end cancels.
        with np.errstate(divide="ignore"):
            close = np.where(arrival < LN2, np.log(-np.expm1(-arrival)), np.log1p(-np.exp(-arrival)))
        return np.minimum(close, -self.gumbel)  # a bound, since 1 - e^-E < E, and accurate for tiny E
