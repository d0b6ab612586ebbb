"""The queue of questions: in turn, in threads of their own, refused for free where there is no room."""

from __future__ import annotations

import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
from tests.patience import PATIENCE

from crestline.web.problems import Problem
from crestline.web.requests.cancellation import GONE, Ticket
from crestline.web.requests.queue import QuestionQueue


async def still_there() -> bool:
    return False


async def gone() -> bool:
    return True


def run(attempt: Callable[[], Awaitable[Any]]) -> Any:
    return anyio.run(attempt)


def test_a_question_is_answered_in_another_thread() -> None:
    async def attempt() -> str:
        return await QuestionQueue(1, 0, 60.0).run_in_turn(lambda: threading.current_thread().name, still_there)

    assert run(attempt) != threading.current_thread().name


def test_the_queue_runs_some_keeps_some_waiting_and_refuses_the_next() -> None:
    running, go_on, most = threading.Semaphore(0), threading.Event(), []

    async def attempt() -> None:
        queue = QuestionQueue(2, 3, 1e6)

        def question() -> None:
            running.release()
            most.append(queue.waiting_or_running)
            assert go_on.wait(PATIENCE)

        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(queue.run_in_turn, question, still_there)
            while queue.waiting_or_running < 5:
                await anyio.sleep(0.001)
            for _ in range(2):
                assert await anyio.to_thread.run_sync(running.acquire, True, PATIENCE)
            assert not running.acquire(blocking=False)
            with pytest.raises(Problem) as refused:
                await queue.run_in_turn(question, still_there)
            assert (refused.value.status, refused.value.code, refused.value.wait) == (503, "busy", 1)
            assert not refused.value.charged
            go_on.set()
        assert queue.waiting_or_running == 0

    run(attempt)
    assert len(most) == 5


def test_once_the_queue_is_closed_what_runs_ends_and_what_waits_or_comes_is_refused() -> None:
    running, go_on, answers = threading.Event(), threading.Event(), list[object]()

    def first() -> int:
        running.set()
        assert go_on.wait(PATIENCE)
        return 1

    async def attempt() -> None:
        queue = QuestionQueue(1, 2, 1e6)

        async def ask(question: Callable[[], int]) -> None:
            try:
                answers.append(await queue.run_in_turn(question, still_there))
            except Problem as refused:
                answers.append((refused.code, refused.wait, refused.charged))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, first)
            assert await anyio.to_thread.run_sync(running.wait, PATIENCE)
            tasks.start_soon(ask, lambda: 2)
            while queue.waiting_or_running < 2:
                await anyio.sleep(0.001)
            queue.close()
            await ask(lambda: 3)
            while len(answers) < 2:
                await anyio.sleep(0.001)
            go_on.set()

    run(attempt)
    assert answers == [("busy", 1, False), ("busy", 1, False), 1]


def test_a_question_that_waits_for_too_long_is_refused_and_leaves_its_place() -> None:
    go_on = threading.Event()

    async def attempt() -> None:
        queue = QuestionQueue(1, 1, 0.01)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(queue.run_in_turn, lambda: go_on.wait(PATIENCE), still_there)
            await anyio.sleep(0)
            with pytest.raises(Problem, match="busy for too long"):
                await queue.run_in_turn(lambda: None, still_there)
            go_on.set()
        assert await queue.run_in_turn(lambda: 7, still_there) == 7

    run(attempt)


def test_a_caller_who_has_gone_is_not_charged() -> None:
    asked: list[int] = []

    async def attempt() -> None:
        queue = QuestionQueue(1, 0, 60.0)
        with pytest.raises(Problem) as dropped:
            await queue.run_in_turn(lambda: asked.append(1), gone)
        assert dropped.value.status == GONE
        await queue.run_in_turn(lambda: asked.append(2), still_there)

    run(attempt)
    assert asked == [2]


class Leaving:
    """An asker who leaves when told to."""

    def __init__(self) -> None:
        self.left = False
        self.noticed = threading.Event()

    async def __call__(self) -> bool:
        if self.left:
            self.noticed.set()
        return self.left


def test_one_who_leaves_while_the_question_waits_leaves_the_queue() -> None:
    go_on, leaving, ran = threading.Event(), Leaving(), list[int]()

    async def attempt() -> None:
        queue = QuestionQueue(1, 1, 1e6)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(queue.run_in_turn, lambda: go_on.wait(PATIENCE), still_there)
            await anyio.sleep(0)
            leaving.left = True
            with pytest.raises(Problem) as dropped:
                await queue.run_in_turn(lambda: ran.append(1), leaving)
            assert (dropped.value.status, dropped.value.charged) == (GONE, False)
            assert queue.waiting_or_running == 1
            go_on.set()

    run(attempt)
    assert ran == []


def is_given_up(ticket: Ticket) -> bool:
    """What is noticed is written down a moment later."""
    end = time.monotonic() + PATIENCE
    while not ticket._given_up and time.monotonic() < end:
        time.sleep(0.001)
    return ticket._given_up


@pytest.mark.parametrize("charged_first", [False, True])
def test_one_who_leaves_while_the_question_runs_pays_only_what_was_charged(charged_first: bool) -> None:
    leaving, done, ticket = Leaving(), list[str](), Ticket()

    def question() -> str:
        if charged_first:
            ticket.charge()
        leaving.left = True
        assert leaving.noticed.wait(PATIENCE)
        if not charged_first:
            assert is_given_up(ticket)
            ticket.charge()
        done.append("answered")
        return "answer"

    async def attempt() -> str:
        return await QuestionQueue(1, 0, 60.0).run_in_turn(question, leaving, ticket)

    if charged_first:
        assert run(attempt) == "answer"
        assert done == ["answered"]
    else:
        with pytest.raises(Problem) as dropped:
            run(attempt)
        assert (dropped.value.status, dropped.value.charged, done) == (GONE, False, [])


def test_an_error_comes_through_as_it_is() -> None:
    def broken() -> None:
        raise LookupError("ours")

    async def attempt() -> None:
        await QuestionQueue(1, 0, 60.0).run_in_turn(broken, still_there)

    with pytest.raises(LookupError, match="ours"):
        run(attempt)
