"""From a question to its answer or its refusal, once for each key: what the API and the dashboard share."""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from crestline.deadline import seconds_left
from crestline.errors import CrestlineError, EngineDefect, StatementTimeout
from crestline.ledger.receipt import LONGEST_WAIT, RequestKey, RequestProblem, RequestRefused
from crestline.question import Question
from crestline.web.permissions import Caller, answer_json, ask_as_json, find_answer
from crestline.web.problems import Problem, problem_of
from crestline.web.requests.cancellation import Ticket
from crestline.web.requests.idempotency import request_key
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
    identity = [name, {**question.to_json(), "domain": question.domain, "groups": question.groups}]
    request = None if key is None else request_key(caller.person.name, key, identity)
    try:
        body = _find_own_answer(state, served, caller, request)
        if body is None:
            body = _run_question(state, served, asked, ticket, request)
            if body["stored"]:  # it may have been paid for under the same key meanwhile
                body = _find_own_answer(state, served, caller, request) or body
        return body
    except RequestRefused as refusal:
        raise _idempotency_problem(refusal.why) from None


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
        begun = time.thread_time()
        try:
            return work()
        finally:
            state.free_work.take(caller.token, time.thread_time() - begun)

    return await caller.dataset(state, dataset).queue.run_in_turn(run, has_left)


def _refuse_free_work(state: ServiceState, caller: Caller) -> None:
    """Refuse more work of a token whose forecasts and refused questions took the processor for too long."""
    wait = state.free_work.wait(caller.token, 0.0)
    if wait:
        message = "Forecasts and refused questions of this token took too much time of the processor."
        raise Problem(429, "too_many_requests", message, wait=math.ceil(wait))


def _find_own_answer(
    state: ServiceState, dataset: ServedDataset, caller: Caller, request: RequestKey | None
) -> dict[str, Any] | None:
    """The answer to what was asked under this key, as it was given; None where nothing was."""
    found = None if request is None else dataset.ledger.find_request(request, seconds_left(LONGEST_WAIT))
    if found is None:
        return None
    return answer_json(find_answer(state, caller, found.analyst_number)[0], found.analyst_number)


def _run_question(
    state: ServiceState, dataset: ServedDataset, sent: QueuedQuestion, ticket: Ticket, request: RequestKey | None
) -> dict[str, Any]:
    """The answer as JSON.

    Raises:
        Problem: It is refused, or failed.
        RequestRefused: Another process has used the key meanwhile.
    """
    caller, question = sent.caller, sent.question
    asked, begun = (caller.person.name, dataset.config.name, question), time.thread_time()
    _refuse_repeated_timeout(state.timeouts.wait(*asked))
    try:
        return ask_as_json(dataset, caller, question, state.config.limits, request, ticket.charge)
    except RequestRefused:
        raise
    except CrestlineError as error:
        if isinstance(error, EngineDefect):
            state.metrics.count_defect(error.kind)
        if isinstance(error, StatementTimeout):
            state.timeouts.note_timeout(*asked)
        problem = problem_of(error)
        if not problem.charged:
            state.free_work.take(caller.token, time.thread_time() - begun)
        raise problem from error


def _refuse_repeated_timeout(wait: float) -> None:
    """Refuse a question that was given up a while ago: it would take as long, and be charged for nothing."""
    if wait:
        message = "This question took too long a while ago, and was charged. It is not asked again yet; this was free."
        raise Problem(503, "took_too_long", message, wait=math.ceil(wait))


def _idempotency_problem(why: RequestProblem) -> Problem:
    if why in ("conflict", "cancelled"):
        return Problem(409, "key_reused", "This idempotency key was used for another question: use a new one.")
    return Problem(
        409,
        "unfinished",
        "The request with this idempotency key was begun and has not ended. Try again in a moment; if this stays, the "
        "service stopped in the middle, what was reserved stays charged, and a new key asks anew.",
    )
