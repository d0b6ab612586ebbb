"""Tokens: signed by a key that is not in the database, listed in the chain, shown once, revocable.

A token says its number, whose it is and when it ends, and is signed, so that none can be made, or changed, without the
key. Its creation and its end are entries of the ledger's chain. It holds while its creation is the one entry about it:
whatever else is written there, by the ledger or by another hand, can end a token and cannot make one.
"""

from __future__ import annotations

import base64
import re
import secrets
from dataclasses import dataclass
from datetime import datetime

from itsdangerous import BadData

from crestline.access.keys import Keys
from crestline.errors import ParameterError
from crestline.ledger.entries import UNREADABLE, Draft, Entry, entry_hash, utc_text
from crestline.ledger.storage.store import Store

_SHAPE = re.compile(r"cl_([a-z2-7]{13})_([A-Za-z0-9_.-]{1,2000})", re.ASCII)


@dataclass(frozen=True)
class Token:
    """What may be listed of a token: its number, whose it is, since when it holds, and until when.

    `revoked` says when it was ended, `expires` when it ends by itself; None where it was not, or does not.
    """

    id: str
    analyst: str
    created: str
    revoked: str | None
    expires: str | None


class Tokens:
    """All tokens of a service."""

    def __init__(self, store: Store, keys: Keys) -> None:
        self._store = store
        self._signer = keys.signer("token")

    def create(self, analyst: str, expires: datetime | None = None, *, by: str | None = None) -> str:
        """A new token, which ends by itself at `expires`; this is the only time it can be seen. `by` made it."""
        number = base64.b32encode(secrets.token_bytes(8)).decode().rstrip("=").lower()
        end = None if expires is None else utc_text(expires)
        details = {"token": {"id": number, "analyst": analyst, "expires": end}, "by": by}
        self._store.post(Draft("token", "", answer_key=_entry_key(number), details=details))
        return f"cl_{number}_{self._signer.dumps([number, analyst, end])}"

    def list_tokens(self) -> list[Token]:
        """Every token, the oldest first."""
        created, ended = dict[str, Entry](), dict[str, str]()
        for entry in self._store.entries_about_tokens():
            if "token" in entry.content:
                created[entry.content["token"]["id"]] = entry
            else:
                ended.setdefault(entry.content["ended"], entry.time)
        return [
            Token(number, told["analyst"], entry.time, ended.get(number), told["expires"])
            for number, entry in created.items()
            for told in (entry.content["token"],)
        ]

    def revoke(self, number: str, *, by: str | None = None) -> None:
        """End a token, at once and for good. `by` ended it.

        Raises:
            ParameterError: There is no token of this number.
        """
        about = self._store.entries_with_key(_entry_key(number))
        if not about:
            raise ParameterError(f"there is no token {number!r}; `crestline token list` shows their numbers")
        if len(about) == 1:
            self._store.post(Draft("token", "", answer_key=_entry_key(number), details={"ended": number, "by": by}))

    def find_holder(self, text: str) -> tuple[str, str] | None:
        """The number of a valid token and whose it is, or None."""
        shape = _SHAPE.fullmatch(text)
        try:
            number, analyst, end = self._signer.loads(shape[2] if shape else "")
        except BadData:
            return None
        if shape is None or number != shape[1] or (end is not None and utc_text(self._store.now()) >= end):
            return None
        return (number, analyst) if self.holds(number, analyst) else None

    def holds(self, number: str, analyst: str) -> bool:
        """Whether the chain has the creation of this token, for this analyst, and no end. No signature is checked."""
        about = self._store.entries_with_key(_entry_key(number))
        return len(about) == 1 and self._states(about[0], number, analyst)

    def _states(self, entry: Entry, number: str, analyst: str) -> bool:
        try:
            told = entry.content["token"]
            in_time = told["expires"] is None or utc_text(self._store.now()) < told["expires"]
            is_unedited = entry.kind == "token" and entry_hash(entry.body) == entry.hash
            return in_time and is_unedited and (told["id"], told["analyst"]) == (number, analyst)
        except UNREADABLE:
            return False


def _entry_key(number: str) -> str:
    """The key of the entries about a token."""
    return f"token:{number}"
