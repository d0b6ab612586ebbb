"""Mechanisms: each takes a histogram or another view of the data and returns a selection. None samples noise itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the same names as in the catalogue, for type checkers: a test compares them
    from crestline.mechanisms.canonical.canonical import Canonical as Canonical
    from crestline.mechanisms.canonical.canonical_bottom import CanonicalBottom as CanonicalBottom
    from crestline.mechanisms.canonical.staircase import Staircase as Staircase
    from crestline.mechanisms.framework.canonical import RestrictedCanonical as RestrictedCanonical
    from crestline.mechanisms.framework.gap_tests.gap_test import JointTest as JointTest
    from crestline.mechanisms.framework.gap_tests.sparse import ExponentialTest as ExponentialTest
    from crestline.mechanisms.framework.gap_tests.sparse import LaplaceTest as LaplaceTest
    from crestline.mechanisms.framework.gumbel import RestrictedGumbel as RestrictedGumbel
    from crestline.mechanisms.framework.normal import RestrictedNormal as RestrictedNormal
    from crestline.mechanisms.framework.one_shot import RestrictedLaplace as RestrictedLaplace
    from crestline.mechanisms.framework.one_shot import RestrictedPermuteAndFlip as RestrictedPermuteAndFlip
    from crestline.mechanisms.framework.restricted import Restricted as Restricted
    from crestline.mechanisms.limited_domain.fixed_threshold import FixedThreshold as FixedThreshold
    from crestline.mechanisms.limited_domain.gauss import LimitedDomainGauss as LimitedDomainGauss
    from crestline.mechanisms.limited_domain.gumbel import LimitedDomain as LimitedDomain
    from crestline.mechanisms.limited_domain.laplace import LimitedDomainLaplace as LimitedDomainLaplace
    from crestline.mechanisms.limited_domain.optimal_threshold import OptimalThreshold as OptimalThreshold
    from crestline.mechanisms.noisy_counts import NoisyCounts as NoisyCounts
    from crestline.mechanisms.observed.observed import Observed as Observed
    from crestline.mechanisms.observed.sieve import Sieve as Sieve
    from crestline.mechanisms.public_list.joint_exponential import JointExponential as JointExponential
    from crestline.mechanisms.public_list.lipschitz import Lipschitz as Lipschitz
    from crestline.mechanisms.routes.canonical_or_peeling import CanonicalOrPeeling as CanonicalOrPeeling
    from crestline.mechanisms.routes.ordered_staircase import OrderedStaircase as OrderedStaircase
    from crestline.mechanisms.routes.routed import Routed as Routed
    from crestline.mechanisms.stability.first_stable import FirstStable as FirstStable
    from crestline.mechanisms.stability.query import StableAnswer as StableAnswer
    from crestline.mechanisms.stability.query import stable_mode as stable_mode
    from crestline.mechanisms.stability.query import stable_top_set as stable_top_set
    from crestline.mechanisms.stability.stable_answers import StableAnswers as StableAnswers
    from crestline.mechanisms.stability.top_stable import TopStable as TopStable
else:

    def __getattr__(name: str) -> object:
        """Load the class or function of this name on first access."""
        from importlib import import_module

        from crestline.mechanisms.catalogue import CATALOGUE, PARTS

        for line in CATALOGUE:
            if line.name == name:
                return line.load()
        if name in PARTS:
            return getattr(import_module(f"crestline.mechanisms.{PARTS[name]}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    from crestline.mechanisms.catalogue import CATALOGUE, PARTS

    return [*(line.name for line in CATALOGUE), *PARTS]
