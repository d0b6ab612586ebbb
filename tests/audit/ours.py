"""Every mechanism of the catalogue, as it is attacked for false alarms."""

from __future__ import annotations

from typing import Any

import crestline as cl
from crestline.mechanisms.catalogue import CATALOGUE
from crestline.mechanisms.framework.gap_tests.sparse import ExponentialTest, LaplaceTest

TEST = ExponentialTest("0.35", "0.15", "0.01")
NAMES = (*(line.name for line in CATALOGUE), "NoisyCounts")


def made(name: str) -> list[Any]:
    """Instances with a large δ, where an error of ours would show soonest."""
    kind: Any = getattr(cl.mechanisms, name)
    own: dict[str, list[tuple[Any, ...]]] = {
        "LimitedDomain": [(2, 3, 1, "0.02"), (2, 3, 1, "0.02", 1), (1, 2, 1, "0.02", None, True)],
        "LimitedDomainLaplace": [(2, 3, "0.5", "0.02", 2)],
        "LimitedDomainGauss": [(2, 3, 2, "0.02", 2), (2, 3, 2, "0.02")],
        "Restricted": [(cl.mechanisms.Lipschitz(2, "0.5"), 3, TEST)],
        "RestrictedGumbel": [(2, 3, "0.5", TEST), (2, 2, "0.5", LaplaceTest("0.5", "0.02"))],
        "RestrictedNormal": [(2, 3, 2, TEST, 2)],
        "RestrictedPermuteAndFlip": [(2, 3, "0.5", TEST)],
        "RestrictedLaplace": [(2, 3, "0.5", TEST)],
        "Lipschitz": [(2, 1), (2, 1, "exponential")],
        "Canonical": [(2, 1)],
        "CanonicalBottom": [(2, 3, 1, "0.02")],
        "Observed": [(2, 2, 2, "0.02"), (2, 2, 2, "0.02", "laplace")],
        "FirstStable": [(3, 1, "0.02"), (3, 1, "0.02", None, "laplace")],
        "StableAnswers": [(3, 2, 1, "0.02")],
        "NoisyCounts": [
            (cl.mechanisms.LimitedDomain(2, 3, "0.5", "0.02"), 2, "gaussian"),
            (cl.mechanisms.LimitedDomain(2, 3, "0.5", "0.02"), 4, "laplace"),
        ],
    }
    if name == "Sieve":  # few buckets: a release is quick, and they are shared by items
        return [kind(2, 1, "0.02", buckets=4)]
    if name in own:
        return [kind(*arguments) for arguments in own[name]]
    return [kind.for_budget(k=2, k_bar=3, epsilon=1, delta="0.02")]
