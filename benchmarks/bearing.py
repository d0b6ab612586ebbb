"""What the ledger and the service bear, each measured by its own script in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.measuring import Row

LIMIT = 240.0
SIZES = ("writers", "servers", "clients")


def measured(script: str, *options: str) -> Iterator[Row]:
    """The figures that `python -m benchmarks.<script> --json FILE` writes, one row for each."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "figures.json"
        command = [sys.executable, "-m", f"benchmarks.{script}", "--json", str(file), *options]
        try:
            subprocess.run(command, check=False, capture_output=True, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            yield Row(script, {}, note=f"> {LIMIT:g} s")
            return
        if not file.exists():
            yield Row(script, {}, note="failed")
            return
        for figures in json.loads(file.read_text()):
            yield _row(figures)


def _row(figures: dict[str, Any]) -> Row:
    """Text names the row, sizes are its setting, other numbers its figures; what is nested is left to the script."""
    named = [str(value) for value in figures.values() if isinstance(value, str)]
    numbers = {key: value for key, value in figures.items() if isinstance(value, int | float)}
    setting = {key: numbers.pop(key) for key in SIZES if key in numbers}
    return Row(", ".join(named), setting, extra=numbers)
