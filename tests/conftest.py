"""Fixtures and settings that several parts of the tree share; which tests a gate runs is in tests/tiers.py."""

from __future__ import annotations

import gc
import os
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler.loadscope import LoadScopeScheduling

from tests.quick_tier import QuickTier
from tests.tiers import GATES, choose, summary, tiers_of, together

pytest_plugins = ["tests.servers"]

_TURN = "CRESTLINE_TEST_TURN"
_LEFT_OUT = pytest.StashKey[Counter[str]]()


class Together(LoadScopeScheduling):
    """Tests that share something go to one worker. (The mark `xdist_group` would do the same, but pytest-xdist
    3.8 loses it under pytest 9.2, silently: every worker then starts a Spark and a browser of its own.)"""

    def _split_scope(self, nodeid: str) -> str:
        return together(nodeid)


# The same examples on every run, and no clock: a test that passed yesterday on a busy machine passes today.
settings.register_profile("tests", deadline=None, derandomize=True)
settings.load_profile("tests")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--gate", choices=GATES, default="all", help="which tests to run; see tests/tiers.py")


def pytest_configure(config: pytest.Config) -> None:
    """Count commits, once for all workers, and hold the quick tier to its rules."""
    config.stash[_LEFT_OUT] = Counter()
    if _TURN not in os.environ:
        git = ["git", "-C", str(Path(__file__).parent), "rev-list", "--count", "HEAD"]
        try:
            os.environ[_TURN] = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
        except (OSError, subprocess.CalledProcessError):  # an archive of the sources
            os.environ[_TURN] = "0"
    if config.getoption("gate") in ("quick", "test"):
        config.pluginmanager.register(QuickTier())


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
        config.stash[_LEFT_OUT].update(item.nodeid.partition("::")[0] for item in chosen.left_out)
    items[:] = chosen.run
    many = Counter(together(item.nodeid) for item in items)
    items.sort(key=lambda item: (item.get_closest_marker("slow") is None, -many[together(item.nodeid)]))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Items live to the end: without them the collector has less to walk (4% of the time of all tests)."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def pytest_sessionfinish(session: pytest.Session) -> None:
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        left_out = session.config.stash[_LEFT_OUT]
        output["left_out"] = dict(left_out)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Every worker leaves out the same tests."""
    left_out = node.config.stash[_LEFT_OUT]
    for file, count in getattr(node, "workeroutput", {}).get("left_out", {}).items():
        left_out[file] = max(left_out[file], count)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    lines = summary(config.getoption("gate"), int(os.environ[_TURN]), config.stash[_LEFT_OUT])
    if lines:
        terminalreporter.section("what ran")
        for line in lines:
            terminalreporter.write_line(line)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    return Together(config, log)
