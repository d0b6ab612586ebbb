"""Requests to a service: sent again with the same idempotency key until they are answered, so that they pay once."""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from crestline.errors import (
    BudgetExhausted,
    BudgetMismatch,
    CrestlineError,
    LedgerError,
    ParameterError,
    QuestionError,
    SourceError,
)
from crestline.sql_questions.refusals import SqlError

if TYPE_CHECKING:
    import httpx

ATTEMPTS = 5
LONGEST_WAIT = 30.0  # seconds between two attempts
SECONDS_TO_CONNECT = 10.0
SECONDS_TO_ANSWER = 330.0  # a question may wait for its turn and run for as long as the service allows

_ERRORS: Mapping[str, type[CrestlineError]] = {
    "budget_exhausted": BudgetExhausted,
    "budget_mismatch": BudgetMismatch,
    "ledger_unavailable": LedgerError,
    "source_unavailable": SourceError,
    "took_too_long": SourceError,
}
_SQLSTATE_LENGTH = 5


@dataclass(frozen=True)
class Response:
    """What a service answered.

    Attributes:
        status: Status of the response.
        body: Its JSON object.
        wait: Seconds after which the service asks to be called again; None where it does not.
    """

    status: int
    body: Mapping[str, Any]
    wait: float | None = None

    @property
    def is_temporary(self) -> bool:
        """Whether the same request may be answered when it is sent again."""
        return self.wait is not None or self.status in (502, 504) or self.code == "unfinished"

    @property
    def code(self) -> str:
        """Code of the error; empty for an answer."""
        return str(self._error.get("code", ""))

    @property
    def message(self) -> str:
        """Message of the error."""
        return str(self._error.get("message") or f"The service answered with status {self.status}.")

    @property
    def _error(self) -> Mapping[str, Any]:
        found = self.body.get("error")
        return found if isinstance(found, Mapping) else {}

    def to_error(self) -> CrestlineError:
        """The error of a request that was not answered, of the class that the local call raises."""
        if len(self.code) == _SQLSTATE_LENGTH and self.code.isupper() | self.code.isdecimal():
            return SqlError(self.code, self.message)
        if self.code in _ERRORS:
            return _ERRORS[self.code](self.message)
        kind = SourceError if self.status >= 500 or self.wait is not None else QuestionError
        return kind(self.message)


@dataclass(frozen=True)
class Service:
    """A service over HTTP, with the token of one analyst.

    Attributes:
        url: Address of the service.
        token: Token made by `crestline token create`; it appears in no message and not in `repr`.
        http: HTTP client.
        sleep: Waits between attempts.
    """

    url: str
    token: str = field(repr=False)
    http: httpx.Client = field(repr=False, compare=False)
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False, compare=False)

    @classmethod
    def open(cls, url: str, token: str) -> Service:
        """A service at an address; nothing is sent yet.

        Raises:
            ParameterError: The address is not usable, would send the token unencrypted, or httpx is missing.
        """
        try:
            import httpx
        except ImportError:
            raise ParameterError("the client needs httpx: pip install 'crestline[client]'") from None
        try:
            parsed = httpx.URL(url)
        except (httpx.InvalidURL, TypeError):
            raise ParameterError("the address of a service is written https://top.example.org") from None
        local = parsed.host in ("localhost", "127.0.0.1", "::1")
        if not parsed.host or not (parsed.scheme == "https" or (parsed.scheme == "http" and local)):
            raise ParameterError(
                "a service is called at https://…; http:// is for this machine alone: it shows the token"
            )
        if not token or not token.isascii() or not token.isprintable():
            raise ParameterError("the token is not usable: give the one that `crestline token create` printed")
        timeout = httpx.Timeout(SECONDS_TO_ANSWER, connect=SECONDS_TO_CONNECT)
        return cls(str(parsed).rstrip("/"), token, httpx.Client(timeout=timeout, follow_redirects=False))

    def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        """The JSON object that the service answers.

        Raises:
            CrestlineError: The service refused, of the class that the local call raises; or it did not answer.
        """
        response = self.send(method, path, body)
        if response.status != 200:
            raise response.to_error()
        return response.body

    def send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Response:
        """The response of the service, after up to `ATTEMPTS` attempts with one idempotency key.

        Raises:
            SourceError: There was no response.
        """
        key, last = new_key(), Response(503, {})
        for attempt in range(ATTEMPTS):
            if attempt:
                pause = 0.25 * 2**attempt * random.uniform(0.5, 1)  # noqa: S311 -- spreads attempts, hides nothing
                self.sleep(min(LONGEST_WAIT, max(pause, last.wait or 0)))
            last = self._send_once(method, path, body, key)
            if not last.is_temporary:
                return last
        if last.body:
            return last
        raise SourceError(
            f"{self.url} did not answer {ATTEMPTS} times. If the question was charged, its answer is stored: ask the "
            "same question again, and the stored answer is free"
        )

    def _send_once(self, method: str, path: str, body: Mapping[str, Any] | None, key: str) -> Response:
        """One attempt; without a response, a temporary one without a body."""
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/json"}
        headers |= {"Idempotency-Key": key} if method == "POST" else {}
        try:
            found = self.http.request(method, self.url + path, json=body, headers=headers)
        except Exception as failure:
            if not isinstance(failure, OSError) and type(failure).__module__.split(".")[0] not in ("httpx", "httpx2"):
                raise
            return Response(504, {})
        return read_response(found.status_code, found.content, found.headers.get("retry-after"))


def new_key() -> str:
    """A new idempotency key."""
    return secrets.token_hex(16)


def read_response(status: int, content: bytes, retry_after: str | None = None) -> Response:
    """A response from its parts; one whose content is no JSON object has none."""
    import json

    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        body = {}
    wait = float(retry_after) if retry_after and retry_after.isdecimal() else None
    return Response(status, body if isinstance(body, dict) else {}, wait)
