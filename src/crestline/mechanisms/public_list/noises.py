"""The five noises of P8.1: `ln(1 - F)` is 1-Lipschitz, and the density grows by at most `e^s` over a step of s down."""

from __future__ import annotations

from crestline.errors import ParameterError
from crestline.exact_numbers import one_of_names
from crestline.guarantees.root_finding import bisect_floats
from crestline.mechanisms.numerics.quadrature import quadrature_between
from crestline.randomness.laws import EXPONENTIAL, GUMBEL, HALF_LOGISTIC, LAPLACE, LOGISTIC
from crestline.randomness.laws.law import Law

NOISES = tuple(law.name for law in (GUMBEL, EXPONENTIAL, LAPLACE, LOGISTIC, HALF_LOGISTIC))
_FAR = 45.0  # every density is negligible beyond
_FARTHEST = 800.0  # the upper end of a search: margins are far below


def lipschitz_noise(noise: str, name: str = "noise") -> str:
    """The name of one of these noises, or an error that lists the names."""
    return one_of_names(NOISES)(noise, name)


def winning_margin(law: Law, losing: float) -> float:
    """Difference of scores at which the lower key exceeds the higher one with probability `losing`.

    `losing`, at most one half, is `∫ f(z) S(z + margin) dz`, computed without cancellation: it may be tiny.
    """
    if not 0 < losing <= 0.5:
        raise ParameterError(f"the chance must be at least one half and less than one, not {1 - losing!r}")

    def is_enough(margin: float) -> bool:
        # The survival function has a kink where z + margin is zero.
        grid = quadrature_between(-_FAR, _FAR, [0.0, -margin], piece=1.0)
        return float(grid.integral(law.density(grid.points) * law.survival(grid.points + margin))) <= losing

    return bisect_floats(is_enough, 0.0, _FARTHEST)[1]
