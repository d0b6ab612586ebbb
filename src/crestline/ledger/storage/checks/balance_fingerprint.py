"""The fingerprint of all balances. Every entry states it, so that a row which somebody else has changed is noticed
before anything is charged to it, and not only when the whole ledger is verified.

Each row is hashed by itself, and the hashes are added up modulo 2^2048, which is long enough that nobody finds other
rows with the same sum. So the order of rows does not matter, and a charge costs the hashes of the rows it changes.

What it cannot find is an entry that was forged after the last honest one, with a fingerprint that fits: that is for
`verify`, and for a witness.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from crestline.errors import LedgerError
from crestline.ledger.entries import Entry

Key: TypeAlias = tuple[str | int, ...]  # data set and analyst; of a period also its label, and how many it spans
Row: TypeAlias = tuple[str | None, ...]

FIELD = "balances"  # of an entry: the fingerprint after it
_BYTES = 256
_MODULUS = 1 << 8 * _BYTES
_NONE = (None, 0)


@dataclass(frozen=True)
class BalanceFingerprint:
    """All rows as they are in the database, each with its hash, and the sum of the hashes."""

    rows: Mapping[Key, tuple[Row | None, int]]
    total: int

    @classmethod
    def from_rows(cls, rows: Mapping[Key, Row]) -> BalanceFingerprint:
        """The fingerprint of these rows."""
        hashed = {key: (row, _hash(key, row)) for key, row in rows.items()}
        return cls(hashed, sum(one for _, one in hashed.values()) % _MODULUS)

    def row(self, key: Key) -> Row | None:
        """A row as it is known; None where there is none."""
        return self.rows.get(key, _NONE)[0]

    def with_row(self, key: Key, row: Row) -> BalanceFingerprint:
        """The same with another row, or with one more."""
        hashed = _hash(key, row)
        total = (self.total - self.rows.get(key, _NONE)[1] + hashed) % _MODULUS
        return BalanceFingerprint({**self.rows, key: (row, hashed)}, total)

    @property
    def fingerprint(self) -> str:
        """What an entry states."""
        return hashlib.sha256(self.total.to_bytes(_BYTES, "little")).hexdigest()

    def check(self, address: str, last: Entry | None) -> None:
        """Refuse where the last entry states another fingerprint. Entries of earlier versions state none."""
        stated = None if last is None else last.content.get(FIELD)
        if stated is not None and stated != self.fingerprint:
            raise balance_changed_error(address)

    def check_row(self, address: str, key: Key, row: Row | None) -> None:
        """Refuse where a row that was read is not the one that is known."""
        if self.row(key) != row:
            raise balance_changed_error(address)


def balance_changed_error(address: str) -> LedgerError:
    """What is said where a balance is not the one that was written."""
    return LedgerError(
        f"ledger {address}: a budget or a balance in it is not the one that its last entry states, so somebody else "
        "has changed it. Nothing is charged to it: run `crestline ledger verify`, and put the newest copy back"
    )


def _hash(key: Key, row: Row) -> int:
    return int.from_bytes(hashlib.shake_256(repr((key, row)).encode()).digest(_BYTES), "little")
