"""Logarithms of the distribution and survival functions of the five Lipschitz noises (P8.1), good far into both tails.

The hazard is `density / survival`; it never exceeds one, which is the Lipschitz property itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from crestline.mechanisms.public_list.noises import lipschitz_noise
from crestline.randomness.unit_points import Floats

Function = Callable[[Floats], Floats]

_FARTHEST = 2_000.0
_LOG_2 = math.log(2.0)
_KINKED = ("exponential", "laplace", "half-logistic")


@dataclass(frozen=True)
class NoiseLogs:
    """One noise law, in logarithms."""

    log_cdf: Function
    log_survival: Function
    hazard: Function
    kinked: bool  # whether the density is not smooth at zero

    def lowest(self, log_chance: float) -> float:
        """A value the noise falls below with at most this chance, `exp(log_chance)`."""
        return _crossing(lambda z: float(self.log_cdf(np.array([z]))[0]) - log_chance)[0]

    def highest(self, log_chance: float) -> float:
        """A value the noise exceeds with at most this chance."""
        return _crossing(lambda z: log_chance - float(self.log_survival(np.array([z]))[0]))[1]


def noise_logs(name: str) -> NoiseLogs:
    """The noise of this name."""
    return _KNOWN[lipschitz_noise(name)]


def _crossing(rising: Callable[[float], float]) -> tuple[float, float]:
    """Two close points, at the lower of which a rising function is negative, and at the upper not."""
    low, high = -_FARTHEST, _FARTHEST
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < 0 else (low, middle)
    return low, high


def _quietly(function: Function) -> Function:
    """Logarithms of zero and overflowing exponentials are meant: they are exact zeros and infinities here."""

    def quiet(z: Floats) -> Floats:
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            return function(z)

    return quiet


def _gumbel_log_survival(z: Floats) -> Floats:
    arrival = np.exp(-z)
    return np.where(z > 30, -z, np.log(-np.expm1(-arrival)))


def _gumbel_hazard(z: Floats) -> Floats:
    arrival = np.exp(-z)
    return np.where(z > 30, 1.0, arrival / np.expm1(np.minimum(arrival, 700.0)))


def _exponential_log_cdf(z: Floats) -> Floats:
    return np.log(-np.expm1(-np.maximum(z, 0.0)))


def _laplace_log_survival(z: Floats) -> Floats:
    return np.where(z >= 0, -_LOG_2 - z, np.log1p(-0.5 * np.exp(np.minimum(z, 0.0))))


def _laplace_hazard(z: Floats) -> Floats:
    tail = 0.5 * np.exp(np.minimum(z, 0.0))
    return np.where(z >= 0, 1.0, tail / (1.0 - tail))


def _logistic_log_survival(z: Floats) -> Floats:
    return -np.logaddexp(0.0, z)


def _half_logistic_log_survival(z: Floats) -> Floats:
    return _LOG_2 - np.logaddexp(0.0, np.maximum(z, 0.0))


def _half_logistic_log_cdf(z: Floats) -> Floats:
    reach = np.maximum(z, 0.0)
    return np.where(reach < 1, np.log(np.tanh(reach / 2)), np.log1p(-2 * np.exp(-np.logaddexp(0.0, reach))))


def _logistic_cdf(z: Floats) -> Floats:
    return np.exp(_logistic_log_survival(-z))


_KNOWN: Mapping[str, NoiseLogs] = {
    name: NoiseLogs(_quietly(log_cdf), _quietly(log_survival), _quietly(hazard), name in _KINKED)
    for name, log_cdf, log_survival, hazard in (
        ("gumbel", lambda z: -np.exp(-z), _gumbel_log_survival, _gumbel_hazard),
        ("exponential", _exponential_log_cdf, lambda z: -np.maximum(z, 0.0), lambda z: np.where(z > 0, 1.0, 0.0)),
        ("laplace", lambda z: _laplace_log_survival(-z), _laplace_log_survival, _laplace_hazard),
        ("logistic", lambda z: _logistic_log_survival(-z), _logistic_log_survival, _logistic_cdf),
        (
            "half-logistic",
            _half_logistic_log_cdf,
            _half_logistic_log_survival,
            lambda z: np.where(z > 0, _logistic_cdf(z), 0.0),
        ),
    )
}
