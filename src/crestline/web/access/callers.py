"""Who is let in: by a token, or by a session that a token has opened."""

from __future__ import annotations

import math

from crestline.web.asking import Caller
from crestline.web.problems import Problem, forbidden
from crestline.web.state import ServiceState


def caller_by_token(state: ServiceState, token: str) -> Caller:
    """Who holds a token, if anybody does and has not asked too often."""
    holder = state.tokens.holder(token)
    if holder is None:
        raise forbidden()
    return _caller(state, *holder)


def caller_by_cookie(state: ServiceState, cookie: str | None) -> Caller | None:
    """Who signed in with this cookie, if it still holds and so does the token."""
    number = None if cookie is None else state.sessions.token(cookie)
    analyst = None if number is None else state.tokens.analyst(number)
    return None if number is None or analyst is None else _caller(state, number, analyst)


def _caller(state: ServiceState, number: str, analyst: str) -> Caller:
    person = state.config.analysts.get(analyst)
    if person is None:
        raise forbidden()
    wait = state.rate_limit.wait(number)
    if wait:
        raise Problem(429, "too_many_requests", "Too many requests with this token.", wait=math.ceil(wait))
    return Caller(person, number)
