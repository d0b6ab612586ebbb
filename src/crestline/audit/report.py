"""The report of an audit, as a value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from crestline.audit.finding import Found
from crestline.audit.neighbours import Counts, Shape


@dataclass(frozen=True)
class Report:
    """What was attacked, with how much effort, and the worst that was found."""

    mechanism: str
    promise: str
    unit: str
    claimed: float
    contribution: int | None
    shapes: tuple[Shape, ...]
    found: tuple[Found, ...]
    significance: float
    pairs: int
    releases: int
    seconds: float
    notes: tuple[str, ...] = ()

    @property
    def broken(self) -> bool:
        return any(found.broken for found in self.found)

    @property
    def worst(self) -> Found | None:
        """A broken promise before an unbroken one, then the larger strength."""
        return max(self.found, key=lambda found: (found.broken, found.strength), default=None)

    @property
    def verdict(self) -> str:
        return "the promise is broken" if self.broken else "nothing was found"

    def to_dict(self) -> dict[str, Any]:
        """For JSON. An infinite strength is written as the string `infinite`."""
        return {
            "mechanism": self.mechanism,
            "promise": self.promise,
            "broken": self.broken,
            "verdict": self.verdict,
            "claimed": {"unit": self.unit, "value": self.claimed},
            "found": [_found(found) for found in sorted(self.found, key=lambda f: (not f.broken, -f.strength))],
            "histograms": [_shape(shape) for shape in self.shapes],
            "contribution": self.contribution,
            "significance": self.significance,
            "pairs": self.pairs,
            "releases": self.releases,
            "seconds": round(self.seconds, 2),
            "notes": list(self.notes),
        }


def table_text(counts: Counts) -> str:
    """A small table in one line: `a 6, b 5, …`; long runs of equal counts are shortened."""
    rows = sorted(((label, count) for label, count in counts.items() if count), key=lambda row: (-row[1], row[0]))
    if not rows:
        return "(empty)"
    said = [f"{label} {count}" for label, count in rows[:8]]
    return ", ".join(said) + (f", … ({len(rows)} items)" if len(rows) > 8 else "")


def _found(found: Found) -> dict[str, Any]:
    return {
        "method": found.method,
        "broken": found.broken,
        "strength": found.strength if math.isfinite(found.strength) else "infinite",
        "with_user": {label: count for label, count in found.pair.with_user.items() if count},
        "without_user": {label: count for label, count in found.pair.without.items() if count},
        "why": found.pair.why,
        "histogram": _shape(found.pair.shape),
        "event": found.event,
        "likelier": "with the user" if found.likelier_with_user else "without the user",
        "chance": found.chance,
        "chance_on_neighbour": found.chance_on_neighbour,
    }


def _shape(shape: Shape) -> dict[str, Any]:
    if shape.k_bar is None:
        return {"domain": "known", "items": list(shape.domain)}
    return {"domain": "unknown", "k_bar": shape.k_bar}
