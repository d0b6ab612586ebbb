"""Sessions: a cookie that stands for a token for some hours.

They are kept beside the ledger, so that every server knows them, a restart does not end them, and signing out does. The
cookie is 256 random bits; only a hash of it is kept.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from datetime import datetime, timedelta

from sqlalchemy import Connection, delete, insert, select

from crestline.ledger.entries import stamp
from crestline.ledger.storage.database import Database
from crestline.web.tables import sessions

HOURS = 8


class Sessions:
    """All sessions of a service."""

    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock

    def cookie(self, number: str) -> str:
        """A new session for the token of this number; sessions whose time is over are removed."""
        cookie, now = secrets.token_urlsafe(32), self._clock()
        row = {"id": _kept(cookie), "token": number, "ends": stamp(now + timedelta(hours=HOURS))}

        def begin(connection: Connection) -> None:
            connection.execute(delete(sessions).where(sessions.c.ends <= stamp(now)))
            connection.execute(insert(sessions), row)

        self._database.write(begin)
        return cookie

    def token(self, cookie: str) -> str | None:
        """The number of the token that a cookie stands for, or None."""
        query = select(sessions.c.token).where(sessions.c.id == _kept(cookie), sessions.c.ends > stamp(self._clock()))
        return self._database.read(lambda connection: connection.execute(query).scalar_one_or_none())

    def end(self, cookie: str) -> None:
        """Sign out: the cookie stands for nobody any more, wherever it was copied to."""
        query = delete(sessions).where(sessions.c.id == _kept(cookie))
        self._database.write(lambda connection: connection.execute(query))


def _kept(cookie: str) -> str:
    return hashlib.sha256(cookie.encode("utf-8", "surrogatepass")).hexdigest()
