"""Confidence bounds for the probability of an event: Clopper and Pearson's, exact for every sample size."""

from __future__ import annotations


def lower_bound(hits: int, trials: int, error: float) -> float:
    """The probability behind `hits` of `trials` is at least this, except with probability `error`."""
    from scipy.special import betaincinv

    return float(betaincinv(hits, trials - hits + 1, error)) if hits else 0.0


def upper_bound(hits: int, trials: int, error: float) -> float:
    """The probability behind `hits` of `trials` is at most this, except with probability `error`."""
    return 1.0 - lower_bound(trials - hits, trials, error)
