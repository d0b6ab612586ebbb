"""From a question to its answer or its refusal, once for each key: what the API and the dashboard share."""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from crestline.errors import CrestlineError, EngineDefect, StatementTimeout
from crestline.question import Question
from crestline.randomness.entropy import system
from crestline.web.permissions import Caller, ask_as_json
from crestline.web.problems import Problem, problem_of
from crestline.web.requests.cancellation import Ticket
from crestline.web.requests.idempotency import CONFLICT, RequestResult
from crestline.web.service_state import ServedDataset, ServiceState

Result = TypeVar("Result")


@dataclass(frozen=True)
class QueuedQuestion:
    """Who asks what of which data set, and the key of the request, if it has one."""

    caller: Caller
    dataset: str
    question: Question
    key: str | None


def answer_once(state: ServiceState, asked: QueuedQuestion, ticket: Ticket) -> dict[str, Any]:
    """The answer as JSON, or a `Problem`. With a key, a question that is sent again is not paid again."""
    caller, name, question, key = asked.caller, asked.dataset, asked.question, asked.key
    served = caller.dataset(state, name)

    def run_question() -> RequestResult:
        return _run_question(state, served, asked, ticket)

    result = (
        run_question()
        if key is None
        else state.requests.run_once(
            caller.person.name,
            key,
            [name, {**question.to_json(), "domain": question.domain, "groups": question.groups}],
            run_question,
        )
    )
    if isinstance(result, str):
        raise _idempotency_problem(result)
    if result.status >= 400:
        raise Problem(result.status, **result.body, wait=result.wait, reason=result.reason)
    body: dict[str, Any] = result.body
    return body


async def answer_from_queue(
    state: ServiceState, question: QueuedQuestion, has_left: Callable[[], Awaitable[bool]]
) -> dict[str, Any]:
    """The same, in the queue of its data set."""
    _refuse_free_work(state, question.caller)
    served = question.caller.dataset(state, question.dataset)
    issued = state.tickets.open_ticket(question.caller.person.name, question.key)
    with served.metrics.question() as answers, issued as ticket:
        body = await served.queue.run_in_turn(lambda: answer_once(state, question, ticket), has_left, ticket)
        answers.append(body)
        return body


async def run_unpaid(
    state: ServiceState,
    caller: Caller,
    dataset: str,
    work: Callable[[], Result],
    has_left: Callable[[], Awaitable[bool]],
) -> Result:
    """What `work` gives, run in the queue of a data set; its processor time counts as unpaid work of the token."""
    _refuse_free_work(state, caller)

    def run() -> Result:
        with _count_unpaid(state, caller):
            return work()

    return await caller.dataset(state, dataset).queue.run_in_turn(run, has_left)


@contextmanager
def _count_unpaid(state: ServiceState, caller: Caller) -> Iterator[None]:
    begun = time.thread_time()
    try:
        yield
    finally:
        state.free_work.take(caller.token, time.thread_time() - begun)


def _refuse_free_work(state: ServiceState, caller: Caller) -> None:
    """Refuse more work of a token whose forecasts and refused questions took the processor for too long."""
    wait = state.free_work.wait(caller.token, 0.0)
    if wait:
        message = "Forecasts and refused questions of this token took too much time of the processor."
        raise Problem(429, "too_many_requests", message, wait=math.ceil(wait))


def _run_question(state: ServiceState, dataset: ServedDataset, sent: QueuedQuestion, ticket: Ticket) -> RequestResult:
    """The answer, or the refusal; a refusal that cannot have cost anything is not kept."""
    caller, question, limits = sent.caller, sent.question, state.config.limits
    asked = (caller.person.name, dataset.config.name, question)
    begun = time.thread_time()
    try:
        _refuse_repeated_timeout(state.timeouts.wait(*asked))
        return RequestResult(200, ask_as_json(dataset, caller, question, limits, system(), ticket.charge))
    except CrestlineError as error:
        if isinstance(error, EngineDefect):
            state.metrics.count_defect(error.kind)
        if isinstance(error, StatementTimeout):
            state.timeouts.note_timeout(*asked)
        problem = problem_of(error)
    except Problem as refusal:
        problem = refusal
    if not problem.charged:
        state.free_work.take(caller.token, time.thread_time() - begun)
    return RequestResult(problem.status, problem.to_json(), problem.charged, problem.wait, problem.reason)


def _refuse_repeated_timeout(wait: float) -> None:
    """Refuse a question that was given up a while ago: it would take as long, and be charged for nothing."""
    if wait:
        message = "This question took too long a while ago, and was charged. It is not asked again yet; this was free."
        raise Problem(503, "took_too_long", message, wait=math.ceil(wait))


def _idempotency_problem(why: str) -> Problem:
    if why == CONFLICT:
        return Problem(409, "key_reused", "This idempotency key was used for another question: use a new one.")
    return Problem(
        409,
        "unfinished",
        "The request with this idempotency key was begun and has not ended. Try again in a moment; if this stays, the "
        "service stopped in the middle, what was reserved stays charged, and a new key asks anew.",
    )
