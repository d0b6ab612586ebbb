"""How much of a budget was used, and when: from the entries of a ledger (pure)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from crestline.ledger.amount import Amount, zero
from crestline.ledger.entries import Entry
from crestline.ledger.shares import part_of
from crestline.ledger.storage.records import Account


@dataclass(frozen=True)
class Point:
    """From this moment on, this share of the budget was used."""

    time: datetime
    used: float


def spending(account: Account, entries: Sequence[Entry], before: Mapping[int, Entry]) -> list[Point]:
    """The share used after every entry that concerns the account, the oldest first.

    `entries` are the newest of the account's data set, in order. `before` holds the reservations, by number, that are
    settled in them and lie before them. Where the ledger is older, the first point is what was used until then.
    """
    own = [entry for entry in entries if concerns(account, entry)]
    reserved = {**before, **{entry.sequence: entry for entry in own if entry.kind == "reserved"}}
    moves = [(datetime.fromisoformat(entry.time), _move(account, entry, reserved)) for entry in own]
    limit = account.balance.budget.limit
    opened = any(entry.kind == "opened" for entry in own)
    used = zero(limit.units) if opened else account.balance.charged - _sum(limit.units, (move for _, move in moves))
    points = []
    for time, move in moves:
        used = used + move
        points.append(Point(time, part_of(used, limit)))
    return points


def concerns(account: Account, entry: Entry) -> bool:
    """Whether an entry opened the account or was charged to it."""
    if entry.dataset != account.dataset or entry.kind not in ("opened", "reserved", "settled"):
        return False
    return entry.analyst == account.analyst or (account.analyst is None and entry.kind != "opened")


def unknown_reservations(entries: Sequence[Entry]) -> list[int]:
    """The numbers of reservations that are settled in these entries and lie before them."""
    known = {entry.sequence for entry in entries}
    settled = (entry.receipt for entry in entries if entry.kind == "settled")
    return [number for number in settled if number is not None and number not in known]


def _move(account: Account, entry: Entry, reserved: Mapping[int, Entry]) -> Amount:
    """By how much an entry changed what is charged: a settlement gives back what was not drawn."""
    if entry.kind == "opened":
        return zero(account.balance.budget.limit.units)
    charged = entry.charge_of(account.analyst)
    if entry.kind == "reserved" or entry.receipt is None:
        return charged
    return charged - reserved[entry.receipt].charge_of(account.analyst)


def _sum(units: tuple[str, str], amounts: Iterable[Amount]) -> Amount:
    total = zero(units)
    for amount in amounts:
        total = total + amount
    return total
