"""The exact chance that the k largest noisy counts hold the best `head` items and nothing beyond rank `tail` (P8.1).

The lowest chosen key is integrated out. When it lies at z, all head items lie above z, all items beyond the tail below
it, and the right number of the items between above it; one item, of the head or of those between, lies at z itself.
Nothing is subtracted: a chance is good to about nine digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import kl_div

from crestline.histogram.count_levels import CountLevels
from crestline.randomness.unit_points import Floats
from reproduction.noise_logs import NoiseLogs, noise_logs
from reproduction.tilted import exactly

_NEGLIGIBLE = 46.0  # exp(-46) is 1e-20
_TOLERANCE = 1e-7
_NODES = 4
_HALVINGS = 40
_LEAST = 1e-11
_PIECE = 0.5


@dataclass(frozen=True)
class _Keys:
    """Noiseless keys relative to the k-th item's; those of the head and beyond the tail in groups of equal ones."""

    head: Floats
    heads: Floats
    between: Floats
    beyond: Floats
    beyonds: Floats
    wanted: int  # how many of those between are chosen
    low: float
    high: float

    def log_head(self, z: Floats, noise: NoiseLogs) -> Floats:
        result: Floats = noise.log_survival(z[:, None] - self.head) @ self.heads
        return result

    def log_beyond(self, z: Floats, noise: NoiseLogs) -> Floats:
        result: Floats = noise.log_cdf(z[:, None] - self.beyond) @ self.beyonds
        return result


def one_shot_chance(domain: CountLevels, k: int, rate: float, noise: str, head: int, tail: int) -> float:
    """The chance that the first `head` ranks are chosen and none after `tail`; `head ≤ k ≤ tail`, ranks from 1."""
    if domain.items <= k:
        return 1.0
    law = noise_logs(noise)
    keys = _keys(domain, k, rate, law, head, min(tail, domain.items))
    starts, ends = _pieces_that_matter(keys, law)
    return min(1.0, _integral(lambda z: _density(z, keys, law), starts, ends))


def _keys(domain: CountLevels, k: int, rate: float, law: NoiseLogs, head: int, tail: int) -> _Keys:
    """All keys that are not decided wherever the lowest chosen key can be."""
    leading = domain.leading_counts(tail)
    middle = int(leading[k - 1])
    low = law.lowest(-_NEGLIGIBLE - math.log(k))
    high = law.highest(-_NEGLIGIBLE - math.log(domain.items))
    best, between = np.split((leading - middle).astype(np.float64) * rate, [head])
    certain, hopeless = high - law.lowest(-_NEGLIGIBLE), low - law.highest(-_NEGLIGIBLE)
    heads, sizes = np.unique(best[best < certain], return_counts=True)
    beyond, beyonds = _after(domain, tail)
    rest = (beyond - middle) * rate
    open_ones = rest > hopeless
    return _Keys(
        head=heads,
        heads=sizes.astype(np.float64),
        between=between[(between < certain) & (between > hopeless)],
        beyond=rest[open_ones],
        beyonds=beyonds[open_ones],
        wanted=k - head - int((between >= certain).sum()),
        low=low,
        high=high,
    )


def _after(domain: CountLevels, tail: int) -> tuple[Floats, Floats]:
    """The counts after a rank, and how many items have each."""
    sizes = np.minimum(domain.sizes, domain.starts[1:] - tail)
    some = sizes > 0
    return domain.counts[some].astype(np.float64), sizes[some].astype(np.float64)


def _pieces_that_matter(keys: _Keys, law: NoiseLogs) -> tuple[Floats, Floats]:
    """Pieces of the line on which the density is not negligible, cut where it has a kink: at the keys themselves."""
    edges = np.arange(keys.low, keys.high + _PIECE, _PIECE)
    kept = _log_bound(keys, law, edges) > -_NEGLIGIBLE
    kinks = np.concatenate([keys.head, keys.between, keys.beyond[:1]]) if law.kinked else np.zeros(0)
    cuts = np.unique(np.concatenate([edges, kinks]))
    starts, finish = cuts[:-1], cuts[1:]
    place = np.searchsorted(edges, (starts + finish) / 2, side="right") - 1
    matters = (place >= 0) & (place < len(kept)) & kept[np.clip(place, 0, len(kept) - 1)]
    return starts[matters], finish[matters]


def _log_bound(keys: _Keys, law: NoiseLogs, edges: Floats) -> Floats:
    """For each piece between two edges, more than the logarithm of the density anywhere on it."""
    bound = keys.log_head(edges[:-1], law) + keys.log_beyond(edges[1:], law)  # one falls with z, the other rises
    events, m = len(keys.between), keys.wanted
    bound += math.log(float(keys.heads.sum()) + events + 1)  # hazards are at most one
    if 0 < m < events:
        mean = np.exp(law.log_survival(edges[:, None] - keys.between)).sum(axis=1) / events
        nearest = np.clip(m / events, mean[1:], mean[:-1])
        bound -= events * kl_div([m / events, 1 - m / events], np.stack([nearest, 1 - nearest], axis=1)).sum(axis=1)
    return bound


def _density(z: Floats, keys: _Keys, law: NoiseLogs) -> Floats:
    """The density of the lowest chosen key, on the event."""
    offset = z[:, None] - keys.between
    middle = exactly(keys.wanted, law.log_survival(offset), law.log_cdf(offset), law.hazard(offset))
    falls = law.hazard(z[:, None] - keys.head) @ keys.heads
    logs = keys.log_head(z, law) + keys.log_beyond(z, law) + middle.log
    result: Floats = np.exp(logs) * (middle.share * falls + middle.rates)
    return result


def _integral(density: Callable[[Floats], Floats], starts: Floats, ends: Floats) -> float:
    """Gauss-Legendre on each piece; pieces are halved until halving changes nothing."""
    total, whole = 0.0, _pieces(density, starts, ends)
    for _ in range(_HALVINGS):
        if not len(starts):
            break
        middle = (starts + ends) / 2
        left, right = _pieces(density, starts, middle), _pieces(density, middle, ends)
        allowed = _TOLERANCE * (total + float(whole.sum())) + _LEAST
        fine = np.abs(left + right - whole) <= allowed
        total += float((left + right)[fine].sum())
        rough = ~fine
        starts, ends = np.concatenate([starts[rough], middle[rough]]), np.concatenate([middle[rough], ends[rough]])
        whole = np.concatenate([left[rough], right[rough]])
    return total + float(whole.sum()) if len(starts) else total


def _pieces(density: Callable[[Floats], Floats], starts: Floats, ends: Floats) -> Floats:
    """The integral over each piece."""
    place, weight = np.polynomial.legendre.leggauss(_NODES)
    half = (ends - starts)[:, None] / 2
    points = starts[:, None] + half + half * place
    values = density(points.ravel()).reshape(points.shape)
    result: Floats = (values * weight * half).sum(axis=1)
    return result
