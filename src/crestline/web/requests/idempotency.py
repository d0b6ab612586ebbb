"""Requests that carry a key: sent twice, answered once, paid once; also at the same time, also on two servers.

A request is written down before anything is reserved. What it came to is kept under its key; where nothing was charged
(a refusal, an error before the charge), it is forgotten again, and the key can be used anew. One that was begun and
never ended (the server died) is not asked anew. Keys are remembered for some days, and then forgotten.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from crestline.deadline import seconds_left, settle_charged
from crestline.errors import LedgerError, was_charged
from crestline.ledger.entries import canonical_json, utc_text
from crestline.ledger.storage.books import Books
from crestline.ledger.storage.database import Database
from crestline.web.schema import requests


@dataclass(frozen=True)
class RequestResult:
    """What a request came to: a status and a body. `may_be_stored` is false where nothing can have been charged."""

    status: int
    body: dict[str, Any]
    may_be_stored: bool = True
    wait: int | None = None
    reason: str | None = None  # for the log; it is not stored


CONFLICT = "conflict"
UNFINISHED = "unfinished"
CANCELLED = "cancelled"
DAYS = 30
_BETWEEN = timedelta(hours=1)


class KeyedRequests:
    """All requests with a key, of the last so many days."""

    def __init__(self, database: Database, clock: Callable[[], datetime], days: int = DAYS) -> None:
        self._database = database
        self._clock = clock
        self._days = timedelta(days=days)
        self._pruned: datetime | None = None
        self._guard = threading.Lock()
        self._waiting: dict[str, tuple[threading.Lock, int]] = {}

    def run_once(self, who: str, key: str, question: object, run: Callable[[], RequestResult]) -> RequestResult | str:
        """What `run` came to, now or earlier; or CONFLICT (the key is another question's), or UNFINISHED."""
        name = _hashed_key(who, key)
        asked = hashlib.sha256(canonical_json(question).encode()).hexdigest()
        self._delete_expired()
        with self._lock_key(name):
            before = self._database.write(lambda books: self._claim_key(books.lock().connection, name, asked))
            if before is not None:
                return before
            try:
                result = run()
            except Exception as error:
                if not was_charged(error):  # the key is free again
                    with settle_charged():
                        self._database.write(lambda books: _delete_key(books.connection, name))
                raise
            with settle_charged():
                self._database.write(lambda books: _store_result(books.connection, name, result))
            return result

    def set_days(self, days: int) -> None:
        """Keep keys for so many days from now on."""
        self._days = timedelta(days=days)

    def cancel(self, who: str, key: str) -> RequestResult | str:
        """What became of a request that its sender gave up: CANCELLED (it was not charged, and never will be),
        UNFINISHED (it may be charged), or what it came to."""
        name = _hashed_key(who, key)

        def work(books: Books) -> RequestResult | str:
            connection = books.lock().connection
            row = connection.execute(select(requests).where(requests.c.key == name)).first()
            if row is None:  # from now on the key is nobody's: the request can never be begun
                now = utc_text(self._clock())
                connection.execute(insert(requests), {"key": name, "question": CANCELLED, "created": now})
                return CANCELLED
            if row.question == CANCELLED:
                return CANCELLED
            return UNFINISHED if row.outcome is None else RequestResult(**json.loads(row.outcome))

        return self._database.write(work)

    def _claim_key(self, connection: Connection, name: str, asked: str) -> RequestResult | str | None:
        row = connection.execute(select(requests).where(requests.c.key == name)).first()
        if row is None:
            now = utc_text(self._clock())
            connection.execute(insert(requests), {"key": name, "question": asked, "created": now})
            return None
        if row.question != asked:
            return CONFLICT
        return UNFINISHED if row.outcome is None else RequestResult(**json.loads(row.outcome))

    def _delete_expired(self) -> None:
        """Forget old keys, once an hour."""
        now = self._clock()
        if self._pruned is not None and now - self._pruned < _BETWEEN:
            return
        self._pruned = now
        old = delete(requests).where(requests.c.created < utc_text(now - self._days))
        self._database.write(lambda books: books.connection.execute(old))

    @contextmanager
    def _lock_key(self, name: str) -> Iterator[None]:
        """One at a time for each key in this process; a lock lives as long as somebody waits for it."""
        with self._guard:
            own, users = self._waiting.get(name, (threading.Lock(), 0))
            self._waiting[name] = (own, users + 1)
        try:
            if not own.acquire(timeout=min(seconds_left(), threading.TIMEOUT_MAX)):
                raise LedgerError("the request with the same key took too long")
            try:
                yield
            finally:
                own.release()
        finally:
            with self._guard:
                own, users = self._waiting.pop(name)
                if users > 1:
                    self._waiting[name] = (own, users - 1)


def _hashed_key(who: str, key: str) -> str:
    return hashlib.sha256(canonical_json([who, key]).encode()).hexdigest()


def _store_result(connection: Connection, name: str, result: RequestResult) -> None:
    if not result.may_be_stored:
        _delete_key(connection, name)
        return
    kept = canonical_json({"status": result.status, "body": result.body})
    connection.execute(update(requests).where(requests.c.key == name).values(outcome=kept))


def _delete_key(connection: Connection, name: str) -> None:
    connection.execute(delete(requests).where(requests.c.key == name))
