"""Fixtures and settings that several parts of the tree share."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler.loadscope import LoadScopeScheduling

from tests.tiers import GATES, choose, tiers_of, together

pytest_plugins = ["tests.servers"]


class Together(LoadScopeScheduling):
    """Tests that share something go to one worker. (The mark `xdist_group` would do the same, but pytest-xdist
    3.8 loses it under pytest 9.2, silently: every worker then starts a Spark and a browser of its own.)"""

    def _split_scope(self, nodeid: str) -> str:
        return together(nodeid)


# The same examples on every run, and no clock: a test that passed yesterday on a busy machine passes today.
settings.register_profile("crestline", deadline=None, derandomize=True)
settings.load_profile("crestline")


_TURN = "CRESTLINE_TEST_TURN"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--gate", choices=GATES, default="all", help="which tests to run; see tests/tiers.py")


def pytest_configure(config: pytest.Config) -> None:
    """Count commits, once for all workers."""
    if _TURN not in os.environ:
        git = ["git", "-C", str(Path(__file__).parent), "rev-list", "--count", "HEAD"]
        try:
            os.environ[_TURN] = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
        except (OSError, subprocess.CalledProcessError):  # an archive of the sources
            os.environ[_TURN] = "0"


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give every test its tiers, choose those of the gate, and begin with the slow ones, then with what has most tests
    and is run as a whole: what begins last keeps all workers waiting."""
    for item in items:
        for name in tiers_of(item):
            item.add_marker(name)
    chosen = choose(items, config.getoption("gate"), int(os.environ[_TURN]))
    if chosen.left_out:
        config.hook.pytest_deselected(items=chosen.left_out)
    items[:] = chosen.run
    many = Counter(together(item.nodeid) for item in items)
    items.sort(key=lambda item: (item.get_closest_marker("slow") is None, -many[together(item.nodeid)]))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    return Together(config, log)
