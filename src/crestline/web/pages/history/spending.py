"""How much of a budget was used, and when: from the entries of a ledger (pure). For pictures, so floats will do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from crestline.ledger.amount import Amount, units_of
from crestline.ledger.entries import ENDINGS, Entry
from crestline.ledger.storage.rows import Account

Parts = tuple[float, float]  # of an amount: loss and probability of failure


@dataclass(frozen=True)
class SpendingPoint:
    """From this moment on, this share of the budget was used."""

    time: datetime
    used: float


@dataclass(frozen=True)
class ChargeStep:
    """An entry that opened an account or was charged to some, read once. The data set's charge comes first."""

    kind: str
    dataset: str
    analyst: str | None
    time: datetime
    receipt: int | None
    charges: tuple[Parts, ...]

    @classmethod
    def from_entry(cls, entry: Entry) -> ChargeStep:
        """What an entry says."""
        content = entry.content
        charges = tuple(_read_parts(charge) for charge in content.get("charge", ()))
        time = datetime.fromisoformat(content["time"])
        return cls(entry.kind, entry.dataset, entry.analyst, time, entry.receipt, charges)

    def is_about(self, account: Account) -> bool:
        """Whether it opened the account or was charged to it."""
        if self.dataset != account.dataset or self.kind not in ("opened", "reserved", *ENDINGS):
            return False
        return self.analyst == account.analyst or (account.analyst is None and self.kind != "opened")

    def charge_of(self, account: Account) -> Parts:
        """What is charged to the account; as `Entry.charge_of`."""
        return self.charges[0 if account.analyst is None else -1]


def spending_over_time(
    account: Account, steps: Mapping[int, ChargeStep], before: Mapping[int, ChargeStep]
) -> list[SpendingPoint]:
    """The share used after every entry that concerns the account, the oldest first.

    `steps` are the newest of the account's data set by number, in order. `before` holds the reservations that are
    settled in them and lie before them. Where the ledger is older, the first point is what was used until then.
    """
    own = [step for step in steps.values() if step.is_about(account)]
    reserved = {**before, **steps}
    moves = [_change_of_charge(account, step, reserved) for step in own]
    limit = _amount_floats(account.balance.budget.limit)
    loss, failure = 0.0, 0.0
    if not any(step.kind == "opened" for step in own):
        now = _amount_floats(account.balance.total_charged)
        loss, failure = now[0] - sum(move[0] for move in moves), now[1] - sum(move[1] for move in moves)
    points = []
    for step, move in zip(own, moves, strict=True):
        loss, failure = loss + move[0], failure + move[1]
        shares = [part / whole for part, whole in zip((loss, failure), limit, strict=True) if whole]
        points.append(SpendingPoint(step.time, max(0.0, *shares)))
    return points


def earlier_reservations(steps: Mapping[int, ChargeStep]) -> list[int]:
    """The numbers of reservations that are settled in these entries and lie before them."""
    settled = (step.receipt for step in steps.values() if step.kind in ENDINGS)
    return [number for number in settled if number is not None and number not in steps]


def steps_by_number(entries: Sequence[Entry]) -> dict[int, ChargeStep]:
    """Entries by their number, each read once."""
    return {entry.sequence: ChargeStep.from_entry(entry) for entry in entries}


def _change_of_charge(account: Account, step: ChargeStep, reserved: Mapping[int, ChargeStep]) -> Parts:
    """By how much an entry changed what is charged: a settlement gives back what was not drawn."""
    if step.kind == "opened":
        return 0.0, 0.0
    loss, failure = step.charge_of(account)
    if step.kind == "reserved" or step.receipt is None:
        return loss, failure
    held = reserved[step.receipt].charge_of(account)
    return loss - held[0], failure - held[1]


def _read_parts(charge: Mapping[str, str]) -> Parts:
    """The same as `_amount_floats` of the amount that an entry spells, without making exact numbers of it."""
    loss, failure = (_fraction_to_float(charge[unit]) for unit in units_of(charge))
    return loss, failure


def _fraction_to_float(written: str) -> float:
    numerator, _, denominator = written.partition("/")
    return int(numerator) / int(denominator)


def _amount_floats(amount: Amount) -> Parts:
    return float(amount.loss), float(amount.failure)
