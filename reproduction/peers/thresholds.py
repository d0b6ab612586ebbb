"""OpenDP: noisy counts of bounded contributions, of which those above a threshold are released.

Scale and threshold are the least for which OpenDP's own privacy map stays within (ε, δ).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from reproduction.peers.setting import Setting

_FARTHEST = 1 << 24
_DIGITS = 30  # halvings of a scale


def available() -> bool:
    """Whether OpenDP is installed."""
    return find_spec("opendp") is not None


def noisy_top(counts: Sequence[int], setting: Setting) -> list[int]:
    """The items with the k largest released counts; item i has `counts[i]`, of users in at most `bound` items."""
    release = (_laplace if setting.noise == "laplace" else _gaussian)(setting.bound, setting.epsilon, setting.delta)
    released: dict[int, int] = release({item: count for item, count in enumerate(counts) if count})
    return sorted(released, key=lambda item: -released[item])[: setting.k]


@lru_cache(maxsize=64)
def _laplace(bound: int, epsilon: float, delta: float) -> Any:
    dp, space = _space("l01inf_distance")
    reach = (bound, float(bound), 1.0)

    def made(scale: float, threshold: int) -> Any:
        return space >> dp.m.then_laplace_threshold(scale=scale, threshold=threshold)

    scale = _least(lambda scale: made(scale, _FARTHEST).map(reach)[0] <= epsilon)
    return made(scale, _threshold(lambda threshold: made(scale, threshold).map(reach)[1] <= delta))


def _gaussian(bound: int, epsilon: float, delta: float) -> Any:
    dp, space = _space("l02inf_distance")
    scale, threshold = gaussian_setting(bound, epsilon, delta)
    return space >> dp.m.then_gaussian_threshold(scale=scale, threshold=threshold)


@lru_cache(maxsize=64)
def gaussian_setting(bound: int, epsilon: float, delta: float) -> tuple[float, int]:
    """Scale and threshold: half of δ is for the threshold, the rest for the conversion from zCDP."""
    dp, space = _space("l02inf_distance")
    reach = (bound, math.sqrt(bound), 1.0)

    def made(scale: float, threshold: int) -> Any:
        return space >> dp.m.then_gaussian_threshold(scale=scale, threshold=threshold)

    def within(scale: float) -> bool:
        converted = dp.c.make_zCDP_to_approxDP(made(scale, _FARTHEST))
        found: float = dp.c.make_fix_delta(converted, delta / 2).map(reach)[0]
        return found <= epsilon

    scale = _least(within)
    return scale, _threshold(lambda threshold: made(scale, threshold).map(reach)[1] <= delta / 2)


def _space(metric: str) -> tuple[Any, Any]:
    dp = import_module("opendp.prelude")
    dp.enable_features("contrib", "honest-but-curious")
    counts = dp.map_domain(dp.atom_domain(T=int), dp.atom_domain(T=int))
    return dp, (counts, getattr(dp, metric)(dp.absolute_distance(T=float)))


def _least(enough: Callable[[float], bool]) -> float:
    """The least scale that is enough; larger ones are."""
    low, high = 1e-3, 1.0
    while not enough(high):
        low, high = high, 2 * high
    for _ in range(_DIGITS):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _threshold(enough: Callable[[int], bool]) -> int:
    low, high = 0, _FARTHEST
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
