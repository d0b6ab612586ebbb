"""What was measured of counts on real data, as `reproduction.counts` keeps it and pages read it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean

KEPT = Path(__file__).resolve().parents[1] / "docs" / "results" / "counts.json"


@dataclass
class Cell:
    """One data set, ε and k.

    Attributes:
        shares: Of each run, the share of the true top k that is named.
        named: Of each run, the number of items named.
        errors: Median relative error of a count over all runs, and of bounded counts.
        held: Number of intervals that hold, of all named items.
        width: Median half width of an interval, relative to the true number of users.
        peers: Of each bound: the share of the true top k, the share of k that is named, the median relative error.
    """

    data: str
    epsilon: float
    k: int
    shares: list[float] = field(default_factory=list)
    named: list[int] = field(default_factory=list)
    error: float | None = None
    held: int = 0
    width: float | None = None
    peers: list[tuple[float, float, float | None]] = field(default_factory=list)

    @property
    def share(self) -> float:
        return mean(self.shares)

    @property
    def ours_names_half(self) -> bool:
        return mean(self.named) >= self.k / 2

    @property
    def best_share(self) -> tuple[float, float, float | None]:
        """The bound at which the library has the largest share."""
        return max(self.peers, key=lambda peer: peer[0])

    @property
    def least_error(self) -> float | None:
        """The least error of a bound at which the library names half."""
        return min((error for _, named, error in self.peers if named >= 0.5 and error is not None), default=None)


def read_cells() -> list[Cell]:
    """All cells that were measured; none where nothing was."""
    return [Cell(**one) for one in json.loads(KEPT.read_text())["cells"]] if KEPT.is_file() else []
