"""Whether questions can be answered: the ledger and its witness can be written, which every charge does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from sqlalchemy import update

from crestline.deadline import end_within
from crestline.errors import LedgerError
from crestline.ledger.storage.books import Books
from crestline.ledger.storage.database import Database
from crestline.ledger.storage.tables import chain_head

SECONDS = 3.0
"""A ledger that takes longer to write a row is not ready."""

_PAUSE = 5.0  # seconds for which a finding holds: strangers may ask


class Readiness:
    """Writes the head of the ledger again now and then, under the lock and with the checks of every charge."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._clock = clock
        self._turn = threading.Lock()
        self._looked: float | None = None
        self._fault: str | None = None

    def find_fault(self) -> str | None:
        """What is wrong, in the words of the ledger or of its witness; None while questions can be answered."""
        if self._is_due() and self._turn.acquire(blocking=self._looked is None):
            try:
                if self._is_due():
                    self._fault, self._looked = self._look(), self._clock()
            finally:
                self._turn.release()
        return self._fault

    def _is_due(self) -> bool:
        return self._looked is None or self._clock() - self._looked >= _PAUSE

    def _look(self) -> str | None:
        try:
            with end_within(SECONDS):
                self._database.write(_write_row)
        except LedgerError as error:
            return str(error)
        return None


def _write_row(books: Books) -> None:
    books.lock().connection.execute(update(chain_head).values(length=chain_head.c.length))
