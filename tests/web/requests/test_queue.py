"""The queue of questions: in turn, in threads of their own, refused for free where there is no room."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
from tests.patience import PATIENCE

from crestline.web.problems import Problem
from crestline.web.requests.queue import GONE, QuestionQueue


async def still_there() -> bool:
    return False


async def gone() -> bool:
    return True


def run(attempt: Callable[[], Awaitable[Any]]) -> Any:
    return anyio.run(attempt)


def test_a_question_is_answered_in_another_thread() -> None:
    async def attempt() -> str:
        return await QuestionQueue(1, 0, 60.0).run(lambda: threading.current_thread().name, still_there)

    assert run(attempt) != threading.current_thread().name


def test_so_many_run_so_many_wait_and_the_next_is_refused() -> None:
    running, go_on, most = threading.Semaphore(0), threading.Event(), []

    async def attempt() -> None:
        queue = QuestionQueue(2, 3, 1e6)

        def question() -> None:
            running.release()
            most.append(queue.length)
            assert go_on.wait(PATIENCE)

        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(queue.run, question, still_there)
            while queue.length < 5:
                await anyio.sleep(0.001)
            for _ in range(2):
                assert await anyio.to_thread.run_sync(running.acquire, True, PATIENCE)
            assert not running.acquire(blocking=False)
            with pytest.raises(Problem) as refused:
                await queue.run(question, still_there)
            assert (refused.value.status, refused.value.code, refused.value.wait) == (503, "busy", 1)
            assert not refused.value.charged
            go_on.set()
        assert queue.length == 0

    run(attempt)
    assert len(most) == 5


def test_a_question_that_waits_for_too_long_is_refused_and_leaves_its_place() -> None:
    go_on = threading.Event()

    async def attempt() -> None:
        queue = QuestionQueue(1, 1, 0.01)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(queue.run, lambda: go_on.wait(PATIENCE), still_there)
            await anyio.sleep(0)
            with pytest.raises(Problem, match="busy for too long"):
                await queue.run(lambda: None, still_there)
            go_on.set()
        assert await queue.run(lambda: 7, still_there) == 7

    run(attempt)


def test_nobody_is_charged_who_has_gone() -> None:
    asked: list[int] = []

    async def attempt() -> None:
        queue = QuestionQueue(1, 0, 60.0)
        with pytest.raises(Problem) as dropped:
            await queue.run(lambda: asked.append(1), gone)
        assert dropped.value.status == GONE
        await queue.run(lambda: asked.append(2), still_there)

    run(attempt)
    assert asked == [2]
