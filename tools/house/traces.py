"""How much code one question runs: functions and modules of the package, counted while it runs."""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

_ROWS = "user,item\n" + "".join(f"u{user},{'abc'[user % 3]}\n" for user in range(3_000))


def functions_of_top_k(source: Path) -> int:
    """Functions that a second `cl.top_k` on a CSV file runs."""
    return len(_calls_of_top_k(source))


def modules_of_top_k(source: Path) -> int:
    """Modules whose functions a second `cl.top_k` on a CSV file runs."""
    return len({file for file, _ in _calls_of_top_k(source)})


def functions_of_request(source: Path) -> int:
    """Functions that the second question over HTTP runs: CSV file, ledger in SQLite, no idempotency key."""
    return len(_calls_of_request(source))


def modules_of_request(source: Path) -> int:
    """Modules whose functions the second question over HTTP runs."""
    return len({file for file, _ in _calls_of_request(source)})


@cache
def _calls_of_top_k(source: Path) -> frozenset[tuple[str, str]]:
    import crestline as cl

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        path.write_text(_ROWS)
        cl.top_k(path, user="user", item="item", k=3, epsilon=1, delta="1e-6")
        with _record_calls(source) as called:
            cl.top_k(path, user="user", item="item", k=3, epsilon=1, delta="1e-6")
    return frozenset(called)


_SERVICE = """
ledger = "ledger.db"
[datasets.rows]
source = "rows.csv"
user = "user"
items = ["item"]
version = "1"
budget = { epsilon = 8, delta = 1e-4 }
[analysts.ann.budgets]
rows = { epsilon = 4, delta = 1e-5 }
"""


@cache
def _calls_of_request(source: Path) -> frozenset[tuple[str, str]]:
    from fastapi.testclient import TestClient

    from crestline.config import load_config
    from crestline.web.app import create_app
    from crestline.web.service_state import open_state

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "rows.csv").write_text(_ROWS)
        (Path(folder) / "crestline.toml").write_text(_SERVICE)
        with _record_calls(source) as called:
            state = open_state(load_config(Path(folder) / "crestline.toml"))
            headers = {"Authorization": f"Bearer {state.tokens.create('ann')}"}
            with TestClient(create_app(state)) as client:
                for k in (2, 3):
                    called.clear()
                    body = {"k": k, "item": "item", "epsilon": 1, "delta": "1e-6"}
                    client.post("/v1/datasets/rows/top", json=body, headers=headers).raise_for_status()
                return frozenset(called)


@contextmanager
def _record_calls(source: Path) -> Iterator[set[tuple[str, str]]]:
    """Collect the file and the qualified name of every function of the package that is called.

    Covers this thread and all threads that start within the context.
    """
    called: set[tuple[str, str]] = set()
    root = str(source)

    def record(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(root):
            called.add((frame.f_code.co_filename, frame.f_code.co_qualname))

    sys.setprofile(record)
    threading.setprofile(record)
    try:
        yield called
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
