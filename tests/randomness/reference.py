"""A slow, obviously right reference for the comparison engine: every key to 320 bits, then plain sorting.

It shares only the definition of the keys with the engine (which bits make a uniform, score plus scaled quantile); the
quantiles are written once more, from the distribution functions of P8.1, with mpmath.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import mpmath
from mpmath import mpf

from crestline.randomness.uniforms import Uniforms

BITS = 320

QUANTILES: dict[str, Callable[[mpf], mpf]] = {
    "gumbel": lambda p: -mpmath.log(-mpmath.log(p)),
    "exponential": lambda p: -mpmath.log(1 - p),
    "laplace": lambda p: mpmath.log(2 * p) if p < 0.5 else -mpmath.log(2 * (1 - p)),
    "logistic": lambda p: mpmath.log(p / (1 - p)),
    "half-logistic": lambda p: mpmath.log((1 + p) / (1 - p)),
    "gaussian": lambda p: mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1),
}


def uniform(uniforms: Uniforms, index: int) -> mpf:
    return (mpf(uniforms.prefix(index, BITS)) + mpf(1) / 2) / mpf(2) ** BITS


def value(score: mpf, law: str, p: mpf, scale: Fraction = Fraction(1), copies: int = 1) -> mpf:
    """`score + scale · quantile(p^(1/copies))`."""
    return score + mpf(scale.numerator) / scale.denominator * QUANTILES[law](p ** (mpf(1) / copies))


def rational(number: Fraction | int) -> mpf:
    exact = Fraction(number)
    return mpf(exact.numerator) / exact.denominator
