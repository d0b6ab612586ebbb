"""The deadline of work: the earliest holds, what was charged has longer, and other threads have none."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

from crestline.deadline import end_within, is_late, seconds_left, settle_charged


def test_without_a_deadline_work_waits_as_long_as_its_settings_say() -> None:
    assert seconds_left() == math.inf
    assert seconds_left(3.0) == 3.0
    assert not is_late()


def test_the_earliest_deadline_holds_and_ends_with_its_context() -> None:
    with end_within(100.0):
        with end_within(1000.0):
            assert seconds_left() <= 100.0
        with end_within(0.0):
            assert seconds_left() == 0.0
            assert is_late()
            assert not is_late(50.0)
        assert 0.0 < seconds_left(7.0) <= 7.0
    assert seconds_left() == math.inf


def test_what_was_charged_may_be_settled_until_a_later_deadline() -> None:
    with end_within(0.0, settling=100.0):
        assert is_late()
        with settle_charged():
            assert 50.0 < seconds_left() <= 100.0
        with end_within(1000.0, settling=1000.0), settle_charged():
            assert seconds_left() <= 100.0
        assert is_late()


def test_another_thread_has_no_deadline_of_ours() -> None:
    with end_within(0.0), ThreadPoolExecutor(1) as other:
        assert other.submit(seconds_left).result() == math.inf
