"""Sessions: a signed cookie that lets the holder of a token in, for some hours.

Every server that has the key knows them, and a restart does not end them. Signing out is an entry of the ledger, so a
copied cookie ends everywhere; the start of a session is a line of the log.
"""

from __future__ import annotations

import secrets
from datetime import timedelta

from itsdangerous import BadData

from crestline.access.keys import Keys
from crestline.access.tokens import Tokens
from crestline.ledger.entries import Draft, utc_text
from crestline.ledger.storage.store import Store
from crestline.web.requests.access_log import AccessLog

HOURS = 8


class Sessions:
    """All sessions of a service."""

    def __init__(self, store: Store, keys: Keys, tokens: Tokens) -> None:
        self._store = store
        self._tokens = tokens
        self._signer = keys.signer("session")

    def create_cookie(self, number: str, analyst: str) -> str:
        """A new session of the token of this number, which was verified, and is this analyst's."""
        session, end = secrets.token_urlsafe(16), utc_text(self._store.now() + timedelta(hours=HOURS))
        AccessLog(self._store.now).write_event("session", "begun", f"token {number}")
        return str(self._signer.dumps([session, number, analyst, end]))

    def find_holder(self, cookie: str) -> tuple[str, str] | None:
        """The number of the token that opened a session, and whose it is, while both last; or None."""
        try:
            session, number, analyst, end = self._signer.loads(cookie)
        except (BadData, UnicodeEncodeError):
            return None
        if utc_text(self._store.now()) >= end or self._store.entries_with_key(_entry_key(session)):
            return None
        return (number, analyst) if self._tokens.holds(number, analyst) else None

    def end(self, cookie: str) -> None:
        """Sign out: the cookie lets no one in any more, wherever it was copied to."""
        if self.find_holder(cookie) is not None:
            session, number, analyst, _ = self._signer.loads(cookie)
            details = {"session": session, "token": number, "by": analyst}
            self._store.post(Draft("session", "", answer_key=_entry_key(session), details=details))


def _entry_key(session: str) -> str:
    """The key of the entry that ends a session."""
    return f"session:{session}"
