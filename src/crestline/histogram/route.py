"""Route: the result of a noisy query, and the mechanism that it chose."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Route:
    """The choice between two mechanisms, and the noisy number that decided it; both are released and paid for.

    Attributes:
        taken: Name of the mechanism that was chosen.
        other: Name of the other mechanism.
        lead: Users by which the k-th item leads the first item left out, with noise.
        needed: Lead from which the mechanism with slots is chosen; a public number.
        spread: 95% of the noise of `lead` is at most this; a public number.
    """

    taken: str
    other: str
    lead: int
    needed: int
    spread: int
