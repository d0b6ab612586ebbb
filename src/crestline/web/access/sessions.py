"""Sessions: a cookie that stands for a token for some hours.

They are kept beside the ledger, so that every server knows them, a restart does not end them, and signing out does. The
cookie is 256 random bits; only a hash of it is kept.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from datetime import datetime, timedelta

from sqlalchemy import delete, insert, select

from crestline.ledger.entries import utc_text
from crestline.ledger.storage.books import Books
from crestline.ledger.storage.database import Database
from crestline.web.schema import sessions

HOURS = 8


class Sessions:
    """All sessions of a service."""

    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock

    def create_cookie(self, number: str) -> str:
        """A new session for the token of this number; sessions whose time is over are removed."""
        cookie, now = secrets.token_urlsafe(32), self._clock()
        row = {"id": _hash_cookie(cookie), "token": number, "ends": utc_text(now + timedelta(hours=HOURS))}

        def begin(books: Books) -> None:
            books.connection.execute(delete(sessions).where(sessions.c.ends <= utc_text(now)))
            books.connection.execute(insert(sessions), row)

        self._database.write(begin)
        return cookie

    def token_of_cookie(self, cookie: str) -> str | None:
        """The number of the token that a cookie stands for, or None."""
        query = select(sessions.c.token).where(
            sessions.c.id == _hash_cookie(cookie), sessions.c.ends > utc_text(self._clock())
        )
        return self._database.read(lambda connection: connection.execute(query).scalar_one_or_none())

    def end(self, cookie: str) -> None:
        """Sign out: the cookie stands for nobody any more, wherever it was copied to."""
        query = delete(sessions).where(sessions.c.id == _hash_cookie(cookie))
        self._database.write(lambda books: books.connection.execute(query))


def _hash_cookie(cookie: str) -> str:
    return hashlib.sha256(cookie.encode("utf-8", "surrogatepass")).hexdigest()
