"""From a question to its answer or its refusal, once for each key: what the API and the dashboard share."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from crestline.errors import CrestlineError, EngineDefect, StatementTimeout
from crestline.question import Question
from crestline.randomness.entropy import system
from crestline.web.asking import Caller, answered
from crestline.web.problems import Problem, problem_of
from crestline.web.requests.once import CONFLICT, RequestResult
from crestline.web.state import Served, ServiceState


@dataclass(frozen=True)
class Asked:
    """Who asks what of which data set, and the key of the request, if it has one."""

    caller: Caller
    dataset: str
    question: Question
    key: str | None


def answer_once(state: ServiceState, caller: Caller, name: str, question: Question, key: str | None) -> dict[str, Any]:
    """The answer as JSON, or a `Problem`. With a key, a question that is sent again is not paid again."""
    served = caller.dataset(state, name)

    def run() -> RequestResult:
        return _result(state, served, caller, question)

    result = (
        run()
        if key is None
        else state.requests.once(
            caller.person.name,
            key,
            [name, {**question.to_json(), "domain": question.domain, "groups": question.groups}],
            run,
        )
    )
    if isinstance(result, str):
        raise _not_once(result)
    if result.status >= 400:
        raise Problem(result.status, **result.body, wait=result.wait)
    body: dict[str, Any] = result.body
    return body


async def answer_in_turn(state: ServiceState, asked: Asked, gone: Callable[[], Awaitable[bool]]) -> dict[str, Any]:
    """The same, in the queue of its data set."""
    served = asked.caller.dataset(state, asked.dataset)
    issued = state.tickets.issue(asked.caller.person.name, asked.key)
    with served.metrics.question() as answers, issued as ticket:
        body = await served.queue.run(
            lambda: answer_once(state, asked.caller, asked.dataset, asked.question, asked.key), gone, ticket
        )
        answers.append(body)
        return body


def _result(state: ServiceState, served: Served, caller: Caller, question: Question) -> RequestResult:
    """The answer, or the refusal; a refusal that cannot have cost anything is not kept."""
    asked = (caller.person.name, served.config.name, question)
    try:
        _not_again(state.timeouts.wait(*asked))
        return RequestResult(200, answered(served, caller, question, state.config.limits, system()))
    except CrestlineError as error:
        if isinstance(error, EngineDefect):
            state.metrics.defect(error.kind)
        if isinstance(error, StatementTimeout):
            state.timeouts.note(*asked)
        problem = problem_of(error)
    except Problem as refusal:
        problem = refusal
    return RequestResult(problem.status, problem.body(), kept=problem.charged, wait=problem.wait)


def _not_again(wait: float) -> None:
    """Refuse a question that was given up a while ago: it would take as long, and be charged for nothing."""
    if wait:
        message = "This question took too long a while ago, and was charged. It is not asked again yet; this was free."
        raise Problem(503, "took_too_long", message, wait=math.ceil(wait))


def _not_once(why: str) -> Problem:
    if why == CONFLICT:
        return Problem(409, "key_reused", "This idempotency key was used for another question: use a new one.")
    return Problem(
        409,
        "unfinished",
        "The request with this idempotency key was begun and has not ended. Try again in a moment; if this stays, the "
        "service stopped in the middle, what was reserved stays charged, and a new key asks anew.",
    )
