"""Route: what a noisy look released of a histogram, and which mechanism it led to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Route:
    """Which of two mechanisms made a selection, and the noisy number that decided it: both are released, and paid for.

    taken    the mechanism's name
    other    the name of the one that was not taken
    lead     by how many users the k-th item leads the first one left out, with noise
    needed   the lead from which on the one that looks at slots is taken; a public number
    spread   95% of the noise in `lead` stays within so many users; a public number
    """

    taken: str
    other: str
    lead: int
    needed: int
    spread: int
