"""Entries: the lines of the ledger, and the chain of hashes that binds them (pure).

An entry is one JSON object in one canonical spelling. It holds the hash of the entry before it, and its own hash is
the SHA-256 of its text; so no entry can be changed, removed or moved without all later hashes changing too.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from crestline.errors import ParameterError
from crestline.ledger.amount import Amount, fraction_text

EntryKind: TypeAlias = Literal[
    "opened",
    "reserved",
    "begun",
    "settled",
    "voided",
    "answered",
    "refused",
    "cancelled",
    "witnessed",
    "token",
    "session",
]

COUNTED = ("reserved", "refused", "answered")  # the questions of an analyst, which are numbered for each analyst apart
ENDINGS = ("settled", "voided")  # either ends a reservation: what was paid for it, or that it was given back

# What reading a text that was tampered with can raise.
UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, AssertionError, RecursionError)

GENESIS = hashlib.sha256(b"crestline ledger").hexdigest()


@dataclass(frozen=True)
class Entry:
    """One line. `body` is what the hash covers; the other fields repeat parts of it so that they can be looked up.

    `sequence` counts the entries of everybody. An analyst sees `number` instead, which counts their own questions
    alone, and so tells nothing about others; what ends a question has its number. It follows from the entries before.
    `request` is the key under which something is asked once: of an idempotent request, of a report's edition.
    """

    sequence: int
    kind: str
    dataset: str
    analyst: str | None
    receipt: int | None
    answer_key: str | None
    body: str
    hash: str
    number: int | None = None
    request: str | None = None

    @property
    def analyst_number(self) -> int:
        """The number that the asker sees: their own, or that of the entry where no analyst is named."""
        return self.sequence if self.number is None else self.number

    @property
    def content(self) -> dict[str, Any]:
        """The body as the JSON object that it spells."""
        content: dict[str, Any] = json.loads(self.body)
        return content

    @property
    def time(self) -> str:
        """When the entry was written, by the ledger's clock, in UTC."""
        return str(self.content["time"])

    @property
    def is_reserved_ahead(self) -> bool:
        """Whether it is a reservation for a question that is asked later, such as a report that is not due yet."""
        return self.kind == "reserved" and is_ahead(self.content)

    def charge_of(self, analyst: str | None) -> Amount:
        """What this reservation or settlement charges to an analyst's account; None: the data set's.

        The data set pays for everything. The analyst who asked pays too where budgets for analysts are kept; where
        they are not, the data set's account is also theirs. No other account pays.
        """
        assert analyst in (None, self.analyst), "this entry charges nothing to other analysts"
        charges = self.content["charge"]  # the data set's, then the analyst's own where there is one
        return Amount.from_entry(charges[0 if analyst is None else -1])


def is_ahead(content: Mapping[str, Any]) -> bool:
    """Whether the question of a reservation is asked later."""
    return bool((content.get("question") or {}).get("ahead"))


@dataclass(frozen=True)
class Draft:
    """An entry that has no place in the chain yet."""

    kind: EntryKind
    dataset: str
    analyst: str | None = None
    receipt: int | None = None
    answer_key: str | None = None
    details: Mapping[str, Any] | None = None
    number: int | None = None
    request: str | None = None


def chain_entry(draft: Draft, *, sequence: int, previous: str, time: datetime) -> Entry:
    """The draft as entry number `sequence`, after the entry whose hash is `previous`."""
    body = canonical_json(
        {
            **(draft.details or {}),
            "sequence": sequence,
            "previous": previous,
            "time": utc_text(time),
            "kind": draft.kind,
            "dataset": draft.dataset,
            "analyst": draft.analyst,
            "receipt": draft.receipt,
            "answer_key": draft.answer_key,
            **({} if draft.request is None else {"request": draft.request}),
        }
    )
    lookup = (draft.kind, draft.dataset, draft.analyst, draft.receipt, draft.answer_key)
    return Entry(sequence, *lookup, body, entry_hash(body), draft.number, draft.request)


def entry_hash(body: str) -> str:
    """The SHA-256 of an entry's text, in hexadecimal: what the next entry repeats."""
    return hashlib.sha256(body.encode("utf-8", "surrogatepass")).hexdigest()


def canonical_json(value: object) -> str:
    """The one JSON spelling of a value: sorted keys, no spaces, ASCII only, exact numbers as text."""
    try:
        return _ENCODER.encode(value)
    except (TypeError, ValueError):
        raise ParameterError(
            "what is put in the ledger must be plain JSON: text, whole numbers, lists, objects"
        ) from None


def answer_key(dataset: str, question: Mapping[str, Any], data_version: str | None, owner: str | None) -> str | None:
    """Where the answer to this question is found again; None when the version is not known.

    `owner` is the analyst who pays from a budget of their own: an answer that another account paid for is not theirs.
    """
    if data_version is None:
        return None
    return hashlib.sha256(canonical_json([dataset, question, data_version, owner]).encode()).hexdigest()


def utc_text(time: datetime) -> str:
    """A moment as text, in UTC. Order in the ledger comes from the sequence number, never from this."""
    if time.tzinfo is None:
        raise ParameterError("the ledger's clock must give times with a time zone, such as datetime.now(UTC)")
    return time.astimezone(UTC).isoformat()


def _exact_text(value: object) -> str:
    if isinstance(value, Fraction):
        return fraction_text(value)
    raise TypeError


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False, default=_exact_text)
