"""Rules for tests without a mark: little processor time, no process, no server (see tests/tiers.py).

They are checked where `--gate` is `quick` or `test`, and not while a tracer or a profiler runs. What fixtures take that
several tests share is not counted. A test that takes too much is run once more: only the second time counts, so that no
test fails because it was the first to import a package or to fill a cache.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from tests.tiers import SERVERS, TIERS

LIMIT = 0.3
"""Seconds of processor time, child processes included; on a machine slower than `_REFERENCE` so much more."""

_REFERENCE = 0.017  # seconds of `_work` where LIMIT was chosen
_STARTS_PROCESS = {"os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.startfile", "os.system"}
_STARTS_PROCESS |= {"pty.spawn", "subprocess.Popen"}


class QuickTier:
    """A plugin of pytest: a test without a mark fails when it breaks a rule."""

    def __init__(self) -> None:
        self.limit = LIMIT * max(1.0, min(_seconds_of_work() for _ in range(3)) / _REFERENCE)
        self.started: list[str] = []
        self._begin = 0.0
        self._shared = 0.0
        self._spent = 0.0
        sys.addaudithook(self._audit)

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in _STARTS_PROCESS:
            self.started.append(event)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        self.started.clear()
        self._shared, self._begin = 0.0, processor_seconds()
        yield

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[object]:
        before = processor_seconds()
        result = yield
        if fixturedef.scope != "function":
            self._shared += processor_seconds() - before
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        try:
            yield
        finally:
            self._spent = processor_seconds() - self._begin - self._shared

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[object]:
        self._spent = 0.0
        result = yield
        if any(mark.name in TIERS for mark in item.iter_markers()) or measured():
            return result
        if self._spent > self.limit and isinstance(item, pytest.Function):
            item._initrequest()  # what a plugin does that repeats tests
            runtestprotocol(item, log=False, nextitem=nextitem)
        fault = broken_rule(self._spent, self.limit, self.started, set(getattr(item, "fixturenames", ())))
        if fault:
            words = f"a test without a mark {fault}; give it one of the marks in tests/tiers.py"
            report = pytest.TestReport(item.nodeid, item.location, {}, "failed", words, "teardown")
            item.ihook.pytest_runtest_logreport(report=report)
        return result


def broken_rule(spent: float, limit: float, started: list[str], fixtures: set[str]) -> str | None:
    """What a test without a mark must not do, and this one did."""
    if fixtures & SERVERS:
        return f"uses {', '.join(sorted(fixtures & SERVERS))}"
    if started:
        return f"starts a process ({started[0]})"
    return f"took {spent:.2f} s of processor time, and {limit:.2f} is the limit" if spent > limit else None


def processor_seconds() -> float:
    """Processor time of this process, and of those that it started and waited for."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def measured() -> bool:
    """Whether a tracer, a profiler or coverage slows this process down."""
    coverage = sys.modules.get("coverage")
    return bool(sys.gettrace() or sys.getprofile() or (coverage and coverage.Coverage.current()))


def _seconds_of_work() -> float:
    start = time.process_time()
    sum(number * number % 7 for number in range(300_000))
    return time.process_time() - start
