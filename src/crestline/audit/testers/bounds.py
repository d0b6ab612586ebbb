"""Confidence bounds of Clopper and Pearson for the probability of an event; exact for every sample size."""

from __future__ import annotations


def lower_bound(hits: int, trials: int, error: float) -> float:
    """Lower bound on the probability of an event with `hits` in `trials`; wrong with probability at most `error`."""
    from scipy.special import betaincinv

    return float(betaincinv(hits, trials - hits + 1, error)) if hits else 0.0


def upper_bound(hits: int, trials: int, error: float) -> float:
    """Upper bound on the probability of an event with `hits` in `trials`; wrong with probability at most `error`."""
    return 1.0 - lower_bound(trials - hits, trials, error)
