"""What was run on each engine, as `scripts/engines.py` wrote it down."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

RECORD = Path(__file__).with_name("record.json")


@dataclass(frozen=True)
class Run:
    """The tests of one engine.

    version   of the engine
    passed    how many tests passed
    missing   how many tests are known to fail there
    gaps      why they fail
    """

    version: str
    passed: int
    missing: int
    gaps: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.version}: {self.passed} tests passed" + (f", {self.missing} cannot" if self.missing else "")


@cache
def recorded_runs() -> dict[str, Run]:
    """By the name of the engine's record."""
    lines = json.loads(RECORD.read_text(encoding="utf-8"))
    return {name: Run(**{**line, "gaps": tuple(line["gaps"])}) for name, line in lines.items()}
