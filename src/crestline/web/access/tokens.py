"""Tokens: shown once, kept as a keyed hash, found by their number, compared in constant time, revocable.

A token is 256 random bits, which nobody can guess: one SHA-256 is enough, and a made-up token costs the service next to
nothing. (A slow hash is for passwords that people make up.)

Its creation and its end are entries of the ledger's chain: a row that somebody wrote into the table of tokens is none.
"""

from __future__ import annotations

import base64
import hmac
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, insert, select, update

from crestline.errors import ParameterError
from crestline.ledger.entries import Entry, entry_hash, utc_text
from crestline.ledger.storage.books import Books
from crestline.ledger.storage.database import Database
from crestline.ledger.storage.rows import to_entry
from crestline.ledger.storage.tables import entries
from crestline.web.schema import note_token, token_entry_key, tokens

_SHAPE = re.compile(r"cl_([a-z2-7]{13})_([A-Za-z0-9_-]{43})", re.ASCII)
_KEYED = "hmac-sha256:"


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


class _TokenRow(NamedTuple):
    """What is kept of a token, besides its number and its time."""

    analyst: str
    salt: str
    hash: str
    revoked: str | None
    expires: str | None


# What an unknown number is compared with, so that it takes as long.
_NOBODY = _TokenRow("", "00" * 16, _KEYED + "00" * 32, None, None)


class Tokens:
    """All tokens of a service."""

    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock

    def create(self, analyst: str, expires: datetime | None = None) -> str:
        """A new token, which ends by itself at `expires`; this is the only time it can be seen."""
        number = base64.b32encode(secrets.token_bytes(8)).decode().rstrip("=").lower()
        secret, salt = secrets.token_urlsafe(32), secrets.token_bytes(16)
        kept = _TokenRow(
            analyst, salt.hex(), _keyed_hash(secret, salt), None, None if expires is None else utc_text(expires)
        )
        row = {"id": number, **kept._asdict()}
        now = self._clock()

        def work(books: Books) -> None:
            books.lock().connection.execute(insert(tokens), {**row, "created": utc_text(now)})
            note_token(books, row, now)

        self._database.write(work)
        return f"cl_{number}_{secret}"

    def list_tokens(self) -> list[Token]:
        """Every token, the oldest first."""
        columns = (tokens.c.id, tokens.c.analyst, tokens.c.created, tokens.c.revoked, tokens.c.expires)
        query = select(*columns).order_by(tokens.c.created)
        return self._database.read(lambda connection: [Token(*row) for row in connection.execute(query)])

    def revoke(self, number: str) -> None:
        """End a token, at once and for good."""
        if not any(token.id == number for token in self.list_tokens()):
            raise ParameterError(f"there is no token {number!r}; `crestline token list` shows their numbers")
        self._change(number, tokens.c.revoked.is_(None), revoked=utc_text(self._clock()))

    def _change(self, number: str, *where: ColumnElement[bool], **values: str) -> None:
        """Change a token, where it is still as expected: in the chain, and in its row."""

        def work(books: Books) -> None:
            connection, this = books.lock().connection, (tokens.c.id == number, *where)
            row = connection.execute(select(tokens).where(*this)).mappings().first()
            if row is not None:
                connection.execute(update(tokens).where(*this).values(**values))
                note_token(books, {**row, **values}, self._clock())

        self._database.write(work)

    def find_holder(self, text: str) -> tuple[str, str] | None:
        """The number of a valid token and whose it is, or None. One hash is computed, known number or not."""
        shape = _SHAPE.fullmatch(text)
        number, secret = shape.groups() if shape else ("", "")
        found = self._read_row(number)
        kept = found or _NOBODY
        salt = bytes.fromhex(kept.salt)
        same = hmac.compare_digest(_keyed_hash(secret, salt), kept.hash)
        return (number, kept.analyst) if same and found and self._is_valid(found) else None

    def analyst_of_token(self, number: str) -> str | None:
        """Whose token this is, while it holds. The caller must have verified the token itself before."""
        found = self._read_row(number)
        return found.analyst if found is not None and self._is_valid(found) else None

    def _is_valid(self, row: _TokenRow) -> bool:
        return row.revoked is None and (row.expires is None or utc_text(self._clock()) < row.expires)

    def _read_row(self, number: str) -> _TokenRow | None:
        """What is kept of a token, if its row says what the chain says: a row that somebody forged is no token."""
        columns = (tokens.c.analyst, tokens.c.salt, tokens.c.hash, tokens.c.revoked, tokens.c.expires)
        own = select(*columns).where(tokens.c.id == number)
        noted = select(entries).where(entries.c.answer_key == token_entry_key(number), entries.c.kind == "token")
        newest = noted.order_by(entries.c.sequence.desc()).limit(1)

        def work(connection: Connection) -> tuple[_TokenRow | None, Entry | None]:
            row, entry = connection.execute(own).first(), connection.execute(newest).first()
            return None if row is None else _TokenRow(*row), None if entry is None else to_entry(entry)

        row, entry = self._database.read(work)
        if row is None or entry is None or entry_hash(entry.body) != entry.hash:
            return None
        return row if entry.content["token"] == {"id": number, **row._asdict()} else None


def _keyed_hash(secret: str, salt: bytes) -> str:
    return _KEYED + hmac.digest(salt, secret.encode(), "sha256").hex()
