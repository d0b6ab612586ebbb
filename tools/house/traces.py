"""How much code one question runs: functions and modules of the package, counted while it runs."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any


def functions_of_top_k(source: Path) -> int:
    """Functions that a second `cl.top_k` on a CSV file runs."""
    return len(_calls_of_top_k(source))


def modules_of_top_k(source: Path) -> int:
    """Modules whose functions a second `cl.top_k` on a CSV file runs."""
    return len({file for file, _ in _calls_of_top_k(source)})


@cache
def _calls_of_top_k(source: Path) -> frozenset[tuple[str, str]]:
    import crestline as cl

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        path.write_text("user,item\n" + "".join(f"u{user},{'abc'[user % 3]}\n" for user in range(3_000)))
        cl.top_k(path, user="user", item="item", k=3, epsilon=1, delta="1e-6")
        with _record_calls(source) as called:
            cl.top_k(path, user="user", item="item", k=3, epsilon=1, delta="1e-6")
    return frozenset(called)


@contextmanager
def _record_calls(source: Path) -> Iterator[set[tuple[str, str]]]:
    """Collect the file and the qualified name of every function of the package that this thread calls."""
    called: set[tuple[str, str]] = set()
    root = str(source)

    def record(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(root):
            called.add((frame.f_code.co_filename, frame.f_code.co_qualname))

    sys.setprofile(record)
    try:
        yield called
    finally:
        sys.setprofile(None)
