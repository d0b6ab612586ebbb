"""Who is let in: by a token, or by a session that a token has opened."""

from __future__ import annotations

import math
from urllib.parse import urlsplit

from starlette.requests import Request

from crestline.web.permissions import Caller
from crestline.web.problems import Problem, forbidden_problem
from crestline.web.service_state import ServiceState

_HERE = ("127.0.0.1", "::1", "localhost")
_PASSED_ON = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip")


def caller_by_token(state: ServiceState, token: str) -> Caller:
    """Who holds a token, if anybody does and has not asked too often."""
    holder = state.tokens.find_holder(token)
    if holder is None:
        raise forbidden_problem()
    return _checked_caller(state, *holder)


def caller_by_cookie(state: ServiceState, cookie: str | None) -> Caller | None:
    """Who signed in with this cookie, if it still holds and so does the token."""
    holder = None if cookie is None else state.sessions.find_holder(cookie)
    return None if holder is None else _checked_caller(state, *holder)


def sent_from_this_machine(request: Request) -> bool:
    """Whether a request comes from this machine, and no proxy has passed it on, as far as proxies say so."""
    named = urlsplit(f"//{request.headers.get('host', '')}").hostname
    here = request.client is not None and request.client.host in _HERE
    return here and named in _HERE and not any(name in request.headers for name in _PASSED_ON)


def _checked_caller(state: ServiceState, number: str, analyst: str) -> Caller:
    person = state.config.analysts.get(analyst)
    if person is None:
        raise forbidden_problem()
    wait = state.rate_limit.wait(number)
    if wait:
        raise Problem(429, "too_many_requests", "Too many requests with this token.", wait=math.ceil(wait))
    return Caller(person, number)
