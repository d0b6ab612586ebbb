"""From a question to its answer or its refusal, once for each key: what the API and the dashboard share."""

from __future__ import annotations

from typing import Any

from crestline.errors import CrestlineError, EngineDefect
from crestline.question import Question
from crestline.randomness.entropy import system
from crestline.web.asking import Caller, answered
from crestline.web.once import CONFLICT, RequestResult
from crestline.web.problems import Problem, problem_of
from crestline.web.state import Served, ServiceState


def answer_once(state: ServiceState, caller: Caller, name: str, question: Question, key: str | None) -> dict[str, Any]:
    """The answer as JSON, or a `Problem`. With a key, a question that is sent again is not paid again."""
    served = caller.dataset(state, name)

    def run() -> RequestResult:
        return _result(state, served, caller, question)

    result = (
        run()
        if key is None
        else state.requests.once(
            caller.person.name, key, [name, {**question.to_json(), "domain": question.domain}], run
        )
    )
    if isinstance(result, str):
        raise _not_once(result)
    if result.status >= 400:
        raise Problem(result.status, **result.body)
    body: dict[str, Any] = result.body
    return body


def _result(state: ServiceState, served: Served, caller: Caller, question: Question) -> RequestResult:
    """The answer, or the refusal; a refusal that cannot have cost anything is not kept."""
    try:
        return RequestResult(200, answered(served, caller, question, state.config.limits, system()))
    except CrestlineError as error:
        if isinstance(error, EngineDefect):
            state.metrics.defect(error.kind)
        problem = problem_of(error)
    except Problem as refusal:
        problem = refusal
    return RequestResult(problem.status, problem.body(), kept=problem.charged)


def _not_once(why: str) -> Problem:
    if why == CONFLICT:
        return Problem(409, "key_reused", "This idempotency key was used for another question: use a new one.")
    return Problem(
        409,
        "unfinished",
        "The request with this idempotency key was begun and has not ended. Try again in a moment; if this stays, the "
        "service stopped in the middle, what was reserved stays charged, and a new key asks anew.",
    )
