"""What a thresholding library is told."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Setting:
    """The total (ε, δ), the most items a user counts for, the kind of noise (`laplace` or `gaussian`), and k."""

    epsilon: float
    delta: float
    bound: int
    noise: str
    k: int
