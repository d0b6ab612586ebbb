"""The catalogue: one entry for each mechanism. Classes are loaded on first access."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from crestline.errors import MechanismError


@dataclass(frozen=True)
class CatalogueEntry:
    """One row of `crestline mechanisms`."""

    name: str
    module: str
    section: str
    output: str
    domain: str
    contribution: str
    price: str

    @property
    def selects_items(self) -> bool:
        """Whether it selects items from a histogram within a total; other mechanisms answer queries of the caller."""
        return self.domain != "queries"

    def load(self) -> Any:
        return getattr(import_module(f"crestline.mechanisms.{self.module}"), self.name)


CATALOGUE = (
    CatalogueEntry(
        "LimitedDomain", "limited_domain.gumbel", "P3.1, P3.4", "ordered, may stop", "unknown", "any", "per drawn item"
    ),
    CatalogueEntry(
        "OptimalThreshold",
        "limited_domain.optimal_threshold",
        "P3.5",
        "ordered, may stop",
        "unknown",
        "any",
        "per drawn item and one",
    ),
    CatalogueEntry(
        "LimitedDomainLaplace", "limited_domain.laplace", "P4.1", "ordered, may stop", "unknown", "any", "per move"
    ),
    CatalogueEntry("LimitedDomainGauss", "limited_domain.gauss", "P4.2", "ordered, may stop", "unknown", "any", "one"),
    CatalogueEntry(
        "Restricted", "framework.restricted", "P5.1", "ordered, may stop", "unknown", "any", "black box and test"
    ),
    CatalogueEntry(
        "RestrictedGumbel", "framework.gumbel", "P5.4", "ordered, may stop", "unknown", "any", "k items and test"
    ),
    CatalogueEntry(
        "RestrictedNormal", "framework.normal", "P5.5", "ordered, may stop", "unknown", "any", "one and test"
    ),
    CatalogueEntry(
        "RestrictedPermuteAndFlip",
        "framework.one_shot",
        "P5.1, P8.1",
        "ordered, may stop",
        "unknown",
        "any",
        "one and test",
    ),
    CatalogueEntry(
        "RestrictedLaplace", "framework.one_shot", "P5.1, P8.1", "ordered, may stop", "unknown", "any", "one and test"
    ),
    CatalogueEntry("TopStable", "stability.top_stable", "P6.1, P6.2", "set", "unknown", "any", "one and inner"),
    CatalogueEntry(
        "FixedThreshold", "limited_domain.fixed_threshold", "P7.1, P7.2", "set", "unknown", "any", "k items"
    ),
    CatalogueEntry("Lipschitz", "public_list.lipschitz", "P8.1", "ordered or set", "known", "any", "one"),
    CatalogueEntry("Canonical", "canonical.canonical", "P8.2", "set", "known", "any", "one"),
    CatalogueEntry(
        "CanonicalOrPeeling",
        "routes.canonical_or_peeling",
        "P20.2, P20.3",
        "ordered or set",
        "known",
        "any",
        "look, and one or k items",
    ),
    CatalogueEntry("CanonicalBottom", "canonical.canonical_bottom", "P9.1", "set or stop", "unknown", "any", "one"),
    CatalogueEntry("Staircase", "canonical.staircase", "P19.1, P19.2", "set, may stop", "unknown", "any", "one"),
    CatalogueEntry(
        "RestrictedCanonical", "framework.canonical", "P9.2", "set, may stop", "unknown", "any", "one and test"
    ),
    CatalogueEntry("JointExponential", "public_list.joint_exponential", "P14.4", "ordered", "known", "any", "one"),
    CatalogueEntry(
        "Observed",
        "observed.observed",
        "P17.3, P17.4, P17.5",
        "ordered, may stop",
        "unknown",
        "bounded",
        "one",
    ),
    CatalogueEntry("Sieve", "observed.sieve", "P18.2", "ordered, may stop", "unknown", "any", "one"),
    CatalogueEntry(
        "OrderedStaircase",
        "routes.ordered_staircase",
        "P19.2, P2.7",
        "ordered, may stop",
        "unknown",
        "any",
        "set and order",
    ),
    CatalogueEntry("Routed", "routes.routed", "P18.5", "ordered, may stop", "unknown", "any", "look and one of two"),
    CatalogueEntry("FirstStable", "stability.first_stable", "P14.2", "query answer, may stop", "queries", "any", "one"),
    CatalogueEntry(
        "StableAnswers", "stability.stable_answers", "P14.3", "query answers, may stop", "queries", "any", "one"
    ),
)

# Parts of mechanisms that `cl.mechanisms` also exports: name to module.
PARTS = {
    "ExponentialTest": "framework.gap_tests.sparse",
    "JointTest": "framework.gap_tests.gap_test",
    "LaplaceTest": "framework.gap_tests.sparse",
    "NoisyCounts": "noisy_counts",
    "StableAnswer": "stability.query",
    "stable_mode": "stability.query",
    "stable_top_set": "stability.query",
}


def entry(name: str) -> CatalogueEntry:
    """Return the catalogue's entry for a mechanism.

    Raises:
        MechanismError: There is no mechanism of this name; the message suggests the closest one.
    """
    for line in CATALOGUE:
        if line.name == name:
            return line
    known = [line.name for line in CATALOGUE]
    close = get_close_matches(name.lower(), [one.lower() for one in known], n=1)
    hint = next((f"; did you mean {one}?" for one in known if [one.lower()] == close), "; choose one of: ")
    raise MechanismError(f"there is no mechanism {name!r}{hint}{'' if close else ', '.join(known)}")
