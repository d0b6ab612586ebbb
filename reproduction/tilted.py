"""How many of many independent events happen: the chance of exactly m, also where it is astronomically small.

The odds of all events are first multiplied by one factor, so that m becomes the expected number; the law of the number
is then near its peak, and a few points of its Fourier transform give it to about fourteen digits. What the factor did
is undone in logarithms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crestline.randomness.unit_points import Floats

_NEWTON = 40
_SMALLEST = 37.0  # exp(-37) is below the last bit of one
_CELLS = 1 << 20


@dataclass(frozen=True)
class Exactly:
    """For each row: exactly m events happen with chance `exp(log) · share`; `rates` is their sum of rates, likewise."""

    log: Floats
    share: Floats
    rates: Floats


def exactly(m: int, log_in: Floats, log_out: Floats, rates: Floats) -> Exactly:
    """The chance that exactly `m` of the events of each row happen, and the expected sum of rates of those that do.

    `log_in` and `log_out` are the logarithms of the chances that an event happens and that it does not; `log_in` must
    be finite. Events that are certain must have rate zero.
    """
    points, events = log_in.shape
    if not 0 <= m <= events:
        return Exactly(np.full(points, -np.inf), np.zeros(points), np.zeros(points))
    if m == events:
        return Exactly(log_in.sum(axis=1), np.ones(points), rates.sum(axis=1))
    certain = np.isneginf(log_out).sum(axis=1)
    log = np.where(certain == m, np.where(np.isneginf(log_out), 0.0, log_out).sum(axis=1), -np.inf)
    result = Exactly(log, np.ones(points), np.zeros(points))
    if m == 0:
        return result
    rows = np.flatnonzero(certain < m)
    many = max(1, _CELLS // (30 * events))
    for start in range(0, len(rows), many):
        some = rows[start : start + many]
        part = _tilted(m, log_in[some], log_out[some], rates[some])
        for target, found in ((result.log, part.log), (result.share, part.share), (result.rates, part.rates)):
            target[some] = found
    return result


def _tilted(m: int, log_in: Floats, log_out: Floats, rates: Floats) -> Exactly:
    tilt = _tilt(log_in - log_out, m)[:, None]
    total = np.logaddexp(log_out, log_in + tilt)
    inside = np.exp(log_in + tilt - total)
    outside = np.exp(log_out - total)
    angles, weights = _angles((inside * outside).sum(axis=1))
    turn = np.exp(1j * angles)[:, None, :]
    factors = outside[:, :, None] + inside[:, :, None] * turn
    transform = np.prod(factors, axis=1) * weights * np.exp(-1j * m * angles)
    # an event that happens contributes its rate: its factor is replaced by its part that happens
    weighted = np.einsum("pb,pbj->pj", rates * inside, turn / factors)
    return Exactly(
        total.sum(axis=1) - m * tilt[:, 0], transform.real.sum(axis=1), (transform * weighted).real.sum(axis=1)
    )


def _tilt(logits: Floats, m: int) -> Floats:
    """The shift of all logits that makes the expected number about `m`; the result need not be precise."""
    ranked = np.partition(logits, len(logits[0]) - m, axis=1)
    shift = -ranked[:, len(logits[0]) - m]
    for _ in range(_NEWTON):
        chance = np.exp(-np.logaddexp(0.0, -(logits + shift[:, None])))
        missing, spread = m - chance.sum(axis=1), (chance * (1 - chance)).sum(axis=1)
        if np.all(np.abs(missing) < 0.1 * np.maximum(np.sqrt(spread), 1.0)):
            break
        shift = shift + np.clip(missing / np.maximum(spread, 1e-3), -1.0, 1.0)
    return shift


def _angles(variance: Floats) -> tuple[Floats, Floats]:
    """Points of the transform and their weights: as few as keep what wraps around below the last bit (Bernstein)."""
    spread = np.sqrt(variance)
    period = 2 * np.ceil(15 + 4.5 * spread) + 1  # odd: no factor vanishes
    cosine = np.maximum(1 - _SMALLEST / np.maximum(variance, 1e-9), -1.0)
    needed = np.minimum((period - 1) / 2, np.ceil(np.arccos(cosine) * period / (2 * np.pi)))
    place = np.arange(int(needed.max()) + 1)
    weights = np.where(place <= needed[:, None], np.where(place == 0, 1.0, 2.0), 0.0) / period[:, None]
    return 2 * np.pi * place / period[:, None], weights
