"""Around every request: a number, a limit on its size, a count, safe headers; and no error that says too much."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable
from typing import Any

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from crestline.deadline import end_within
from crestline.web.metrics import Metrics
from crestline.web.problems import Problem, internal_error
from crestline.web.requests.access_log import AccessLog

LARGEST_BODY = 64 * 1024
SECONDS_FOR_BODY = 10.0
SETTLING = 10
"""A question may take `limits.seconds`, and this number of seconds more to be settled."""
_HEADERS = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
)


class Middleware:
    """The outermost layer."""

    def __init__(
        self,
        app: ASGIApp,
        metrics: Metrics,
        journal: AccessLog,
        deadline: Callable[[], float],
        seconds: float = SECONDS_FOR_BODY,
    ) -> None:
        self._app = app
        self._metrics = metrics
        self._journal = journal
        self._deadline = deadline
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        number, begun, error = secrets.token_hex(8), time.perf_counter(), ""
        state = scope.setdefault("state", {})
        state["request_id"] = number
        started = 0

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = int(message["status"])
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", number.encode()), *_HEADERS]
            await send(message)

        try:
            if _content_length(scope) > LARGEST_BODY:
                raise Problem(413, "too_large", f"A request holds at most {LARGEST_BODY} bytes.")
            with end_within(self._deadline(), SETTLING):
                await self._app(scope, _limit_body_time(receive, self._seconds), send_with_headers)
        except Problem as problem:
            await _send_problem(send_with_headers, problem, number)
        except Exception as failure:  # its words may quote private rows: not even a log gets them
            error = type(failure).__name__
            if not started:
                await _send_problem(send_with_headers, internal_error(), number)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            self._metrics.count_response(route, started or 500)
            known = {"request_id": number, "analyst": state.get("analyst"), "route": route, "status": started or 500}
            told = {**known, "error": error or state.get("error")}
            if state.get("reason"):
                told["reason"] = state["reason"]
            self._journal.write(told, time.perf_counter() - begun)


def error_body(problem: Problem, number: str) -> dict[str, Any]:
    """The one shape of everything that is not an answer."""
    return {"error": {**problem.to_json(), "request_id": number}}


def _content_length(scope: Scope) -> int:
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value)
    return 0


def _limit_body_time(receive: Receive, seconds: float) -> Receive:
    """A body that is sent in parts is counted as it comes, and must have come within a number of seconds."""
    taken, whole, deadline = 0, False, anyio.current_time() + seconds

    async def receive_in_time() -> Message:
        nonlocal taken, whole
        with anyio.fail_after(None if whole else max(0.0, deadline - anyio.current_time())):
            message = await receive()
        whole = not message.get("more_body", False)
        taken += len(message.get("body", b""))
        if taken > LARGEST_BODY:
            raise ValueError("too large")
        return message

    return receive_in_time


async def _send_problem(send: Send, problem: Problem, number: str) -> None:
    body = json.dumps(error_body(problem, number)).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
