"""Fixtures and settings that several parts of the tree share."""

from __future__ import annotations

import pytest
from hypothesis import settings

from tests.tiers import tier

pytest_plugins = ["tests.servers"]

# The same examples on every run, and no clock: a test that passed yesterday on a busy machine passes today.
settings.register_profile("crestline", deadline=None, derandomize=True)
settings.load_profile("crestline")


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        name = tier(item.nodeid, set(getattr(item, "fixturenames", ())))
        if name is not None:
            item.add_marker(name)
