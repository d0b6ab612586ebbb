"""Whether questions can be answered: the ledger and its witness can be written, which every charge does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from sqlalchemy import delete, insert

from crestline.deadline import end_within
from crestline.errors import LedgerError
from crestline.ledger.storage.books import Books
from crestline.ledger.storage.store import Signer, Store
from crestline.ledger.storage.tables import chain_head

SECONDS = 3.0
"""A ledger that takes longer to write a row is not ready."""

PAUSE = 5.0
"""Seconds for which a finding about readiness holds, since strangers may ask."""

_PAUSE_OF_CHECKS = 300.0
_SPARE_ROW = -1  # of the table of the head, which has one row


class LedgerFault:
    """A fault of the ledger, looked for at most once in `pause` seconds; meanwhile the previous finding holds."""

    def __init__(self, look: Callable[[], object], pause: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._look_for = look
        self._pause = pause
        self._clock = clock
        self._turn = threading.Lock()
        self._looked: float | None = None
        self._fault: str | None = None

    def find(self) -> str | None:
        """The fault in the words of the ledger or of its witness; None where there is none."""
        if self._is_due() and self._turn.acquire(blocking=self._looked is None):
            try:
                if self._is_due():
                    self._fault, self._looked = self._look(), self._clock()
            finally:
                self._turn.release()
        return self._fault

    def _is_due(self) -> bool:
        return self._looked is None or self._clock() - self._looked >= self._pause

    def _look(self) -> str | None:
        try:
            self._look_for()
        except LedgerError as error:
            return str(error)
        return None


def readiness_of(store: Store) -> LedgerFault:
    """Whether a row can be written beside the ledger's head, under the lock and with the checks of every charge."""

    def look() -> None:
        with end_within(SECONDS):
            store.database.write(_write_row)

    return LedgerFault(look, PAUSE)


def damage_of(store: Store, signer: Signer) -> LedgerFault:
    """Whether the ledger holds: what was added since it was last checked, and all balances."""
    return LedgerFault(lambda: store.refuse_damaged(signer), _PAUSE_OF_CHECKS)


def _write_row(books: Books) -> None:
    """Write a row and delete it: SQLite would write nothing where a value stays as it is."""
    connection = books.lock().connection
    connection.execute(insert(chain_head), {"id": _SPARE_ROW, "version": 0, "length": 0, "head": ""})
    connection.execute(delete(chain_head).where(chain_head.c.id == _SPARE_ROW))
