"""Gaps of engines: tests that are known to fail there, and that must not pass unnoticed."""

from __future__ import annotations

import pytest

from tests.sources.gaps import gap


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        engine = getattr(getattr(item, "cls", None), "tested_engine", None)
        reason = None if engine is None else gap(engine, item.name)
        if reason is not None:
            item.add_marker(pytest.mark.xfail(reason=f"{engine}: {reason}", strict=True))
