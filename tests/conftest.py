"""Fixtures and settings that several parts of the tree share."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler.loadscope import LoadScopeScheduling

from tests.tiers import tier, together

pytest_plugins = ["tests.servers"]


class Together(LoadScopeScheduling):
    """Tests that share something go to one worker. (The mark `xdist_group` would do the same, but pytest-xdist
    3.8 loses it under pytest 9.2, silently: every worker then starts a Spark and a browser of its own.)"""

    def _split_scope(self, nodeid: str) -> str:
        return together(nodeid)


# The same examples on every run, and no clock: a test that passed yesterday on a busy machine passes today.
settings.register_profile("crestline", deadline=None, derandomize=True)
settings.load_profile("crestline")


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give every test its tier, and begin with the slow ones, then with what has most tests and is run as a whole: what
    begins last keeps all workers waiting."""
    for item in items:
        name = tier(item.nodeid, set(getattr(item, "fixturenames", ())))
        if name is not None:
            item.add_marker(name)
    many = Counter(together(item.nodeid) for item in items)
    items.sort(key=lambda item: (item.get_closest_marker("slow") is None, -many[together(item.nodeid)]))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    return Together(config, log)
