"""Does the ledger hold? Every hash, every link, every sum is computed again from the entries (pure).

What this finds: any entry edited, removed, inserted or moved, the last ones included (the head row knows how many there
were and how the last one hashed); any balance that the entries do not add up to; any charge over a budget; any question
about other users than those of its data set, which version 1 did not refuse.

What it cannot find alone: a ledger rewritten from some point on together with the head row, or a whole
older copy put in its place. Against that, keep a checksum (`length:hash`) outside the database and verify against it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from crestline.errors import ParameterError
from crestline.ledger.amount import Amount
from crestline.ledger.balance_rules import Balance, user_of_question
from crestline.ledger.budget import Budget
from crestline.ledger.entries import COUNTED, ENDINGS, GENESIS, UNREADABLE, Entry, canonical_json, entry_hash, is_ahead
from crestline.ledger.periods import PeriodCharge, account_shares, budget_of_span

Key = tuple[str, str | None, str | None, int]  # data set, analyst, period, and how many periods a window has
Balances = Mapping[Key, Balance | None]  # None: a row that cannot be read
Users = Mapping[str, str | None]  # the user column of each data set; None: not fixed yet
_KEPT_TWICE = ("sequence", "kind", "dataset", "analyst", "receipt", "answer_key")


@dataclass(frozen=True)
class Verification:
    """What was found: nothing, if all is well. `backwards` counts entries with an earlier time than the one before,
    which is no error of the ledger (order comes from the sequence), but may be one of the clock."""

    findings: tuple[str, ...]
    entries: int
    checksum: str
    backwards: int

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.findings


def verify(
    entries: Iterable[Entry], length: int, head: str, balances: Balances, users: Users, checksum: str | None = None
) -> Verification:
    """Check all entries in order against the head row, the stored balances and users, and a checksum kept elsewhere."""
    audit = ChainAudit(checksum)
    for entry in entries:
        audit.check_entry(entry)
    return audit.close(length, head, balances, users)


class ChainAudit:
    """A check of all entries in order, which can be put down as text after any of them, and taken up there again."""

    def __init__(self, checksum: str | None = None) -> None:
        self.findings: list[str] = []
        self.count = 0
        self.backwards = 0
        self._checksum = _read_checksum(checksum)
        self._met = self._checksum in (None, (0, GENESIS))
        self._sequence = 0
        self._hash = GENESIS
        self._time = ""
        self._replay = _Replay()
        self._numbers = _AnalystNumbers()

    def check_entry(self, entry: Entry) -> None:
        """Check the next entry: its place in the chain, its hash, and what it says against the rules."""
        self.count += 1
        self._check_link(entry)
        if not isinstance(entry.body, str) or entry_hash(entry.body) != entry.hash:
            self.findings.append(f"entry {entry.sequence}: its text does not match its hash; it was edited")
        try:
            self._content(entry, json.loads(entry.body))
        except UNREADABLE:
            self.findings.append(f"entry {entry.sequence}: it cannot be read; it was edited")
        if self._checksum == (entry.sequence, entry.hash):
            self._met = True
        self._hash = entry.hash

    @property
    def length(self) -> int:
        """The number of the last entry that was checked."""
        return self._sequence

    def to_text(self) -> str:
        """What was found out up to here, where nothing is wrong so far."""
        assert not self.findings, "only a prefix that holds is worth remembering"
        chain = [self._sequence, self._hash, self._time, self.backwards]
        return canonical_json({"chain": chain, "numbers": self._numbers.to_json(), "replay": self._replay.to_json()})

    @classmethod
    def from_text(cls, text: str) -> ChainAudit:
        """The check that was put down."""
        value, audit = json.loads(text), cls()
        audit._sequence, audit._hash, audit._time, audit.backwards = value["chain"]
        audit.count = audit._sequence
        audit._numbers = _AnalystNumbers.from_json(value["numbers"])
        audit._replay = _Replay.from_json(value["replay"])
        return audit

    def close(self, length: int, head: str, balances: Balances, users: Users) -> Verification:
        """What was found, once all entries were taken and held against the head row, the stored balances and users."""
        if self._sequence < length:
            self.findings.append(f"{_missing_entries_text(self._sequence + 1, length)} missing at the end; removed")
        elif self._sequence > length:
            self.findings.append(
                f"{_missing_entries_text(length + 1, self._sequence)} not known to the head row; inserted"
            )
        elif self._hash != head:
            self.findings.append("the last entry is not the one the head row names; one of the two was edited")
        if not self._met:
            self.findings.append("the checksum is not in this ledger: it was rewritten, or replaced by an older copy")
        for key in sorted({*balances, *self._replay.balances}, key=str):
            if balances.get(key) != self._replay.balances.get(key):
                self.findings.append(f"{_title(key)}: the stored balance is not what its entries add up to")
        for dataset in sorted({*users, *self._replay.users}):
            if users.get(dataset) != self._replay.users.get(dataset):
                self.findings.append(f"data set {dataset!r}: the stored user column is not the one its entries fix")
        return Verification(tuple(self.findings), self.count, f"{length}:{head}", self.backwards)

    def _check_link(self, entry: Entry) -> None:
        if entry.sequence != self._sequence + 1:
            self.findings.append(f"{_missing_entries_text(self._sequence + 1, entry.sequence - 1)} missing; removed")
        self._sequence = entry.sequence

    def _content(self, entry: Entry, content: dict[str, Any]) -> None:
        if content["previous"] != self._hash:
            self.findings.append(
                f"entry {entry.sequence}: it does not follow the one before it; removed, moved or edited"
            )
        number = self._numbers.next_number(content)
        columns = all(content[name] == getattr(entry, name) for name in _KEPT_TWICE)
        if entry.number != number or content.get("request") != entry.request or not columns:
            self.findings.append(f"entry {entry.sequence}: its columns do not match its text; they were edited")
        self.backwards += content["time"] < self._time
        self._time = content["time"]
        self.findings += [f"entry {entry.sequence}: {fault}" for fault in self._replay.apply_entry(content)]


class _AnalystNumbers:
    """The numbers that analysts know their questions by."""

    def __init__(self) -> None:
        self._asked: Counter[str] = Counter()
        self._open: dict[int, int] = {}

    def to_json(self) -> list[object]:
        """The numbers so far."""
        return [dict(self._asked), list(self._open.items())]

    @classmethod
    def from_json(cls, value: list[Any]) -> _AnalystNumbers:
        """What `to_json` wrote."""
        numbers = cls()
        numbers._asked, numbers._open = Counter(value[0]), dict(map(tuple, value[1]))
        return numbers

    def next_number(self, content: dict[str, Any]) -> int | None:
        """The number of the next entry: it counts its analyst's questions, or is that of the question it ends."""
        if content["kind"] in COUNTED and content["analyst"] is not None:
            self._asked[content["analyst"]] += 1
            if content["kind"] == "reserved":
                self._open[content["sequence"]] = self._asked[content["analyst"]]
            return self._asked[content["analyst"]]
        if content["kind"] == "begun":
            return self._open.get(content["receipt"])
        return self._open.pop(content["receipt"], None) if content["kind"] in ENDINGS else None


class _Replay:
    """The balances that the entries add up to, the users they are about, and what the rules would not have allowed."""

    def __init__(self) -> None:
        self.balances: dict[Key, Balance] = {}
        self.users: dict[str, str] = {}
        self._held: dict[int, list[tuple[Key, Amount, int]]] = {}
        self._ahead: set[int] = set()  # reservations that were made ahead and are not taken up

    def to_json(self) -> dict[str, object]:
        """Everything that the entries so far add up to."""
        budgets: dict[str, int] = {}
        balances = []
        for key, one in self.balances.items():
            budget = budgets.setdefault(canonical_json(one.budget.to_json()), len(budgets))
            balances.append([*key, budget, one.settled.to_json(), one.held.to_json()])
        held = [
            [number, [[*key, amount.to_json(), times] for key, amount, times in charged]]
            for number, charged in self._held.items()
        ]
        return {
            "budgets": list(budgets),
            "balances": balances,
            "users": self.users,
            "held": held,
            "ahead": sorted(self._ahead),
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> _Replay:
        """What `to_json` wrote."""
        replay, budgets = cls(), [Budget.from_json(json.loads(text)) for text in value["budgets"]]
        for *key, budget, settled, held in value["balances"]:
            whole = budgets[budget]
            amounts = (Amount.from_json(one, whole.limit.units) for one in (settled, held))
            replay.balances[_key(key)] = Balance(whole, *amounts)
        for number, charged in value["held"]:
            replay._held[number] = [
                (_key(key), Amount.from_json(amount, replay.balances[_key(key)].budget.limit.units), times)
                for *key, amount, times in charged
            ]
        replay.users, replay._ahead = value["users"], set(value["ahead"])
        return replay

    def apply_entry(self, content: dict[str, Any]) -> list[str]:
        """Charge what an entry says, and say what the rules would not have allowed."""
        if content["kind"] == "opened":
            return self._replay_opened(content)
        if content["kind"] == "reserved":
            return self._replay_reserved(content)
        if content["kind"] in ENDINGS:
            return self._replay_ended(content)
        if content["kind"] == "begun":
            return self._replay_taken_up(content["receipt"])
        return (
            []
            if content["kind"] in ("answered", "refused", "cancelled", "witnessed", "token", "session")
            else ["its kind is not known"]
        )

    def _replay_opened(self, content: dict[str, Any]) -> list[str]:
        key = (content["dataset"], content["analyst"], None, 1)
        twice = key in self.balances
        self.balances[key] = Balance.open_account(Budget.from_json(content["budget"]))
        faults = [f"{_title(key)} is opened twice"] if twice else []
        return faults + self._check_user_column(content["dataset"], user_of_question(content))

    def _replay_reserved(self, content: dict[str, Any]) -> list[str]:
        payers = [None, content["analyst"]][: len(content["charge"])]
        charged: list[tuple[Key, Amount, int]] = []
        for payer, exact in zip(payers, content["charge"], strict=True):
            amount = self._parse_amount((content["dataset"], payer, None, 1), exact)
            charged += [(key, amount, times) for key, times in self._charged_accounts(content, payer)]
        faults = []
        for key, amount, times in charged:
            balance = self.balances[key]
            self.balances[key] = replace(balance, held=balance.held + amount * times)
            if amount.is_negative or self.balances[key].remaining.is_negative:
                faults.append(f"{_title(key)} is charged more than there is, or less than nothing")
        self._held[content["sequence"]] = charged
        if is_ahead(content):
            self._ahead.add(content["sequence"])
        return faults + self._check_user_column(content["dataset"], user_of_question(content["question"]))

    def _check_user_column(self, dataset: str, user: str | None) -> list[str]:
        """The first entry that names a user column fixes it."""
        if user is None or self.users.setdefault(dataset, user) == user:
            return []
        return [
            f"it asks about the users of column {user!r}, and data set {dataset!r} is about those of "
            f"{self.users[dataset]!r}: its budget bounds neither"
        ]

    def _replay_taken_up(self, receipt: int) -> list[str]:
        """A reservation that was made ahead is taken up once, and before it is settled."""
        if receipt not in self._held or receipt not in self._ahead:
            return ["it takes up what is not reserved ahead, or was taken up already"]
        self._ahead.remove(receipt)
        return []

    def _replay_ended(self, content: dict[str, Any]) -> list[str]:
        """A settlement pays what a theorem allows; what is given back as never asked pays nothing."""
        if content["receipt"] not in self._held:
            return ["it settles what is not reserved, or is settled already"]
        voided = content["kind"] == "voided"
        held_for = self._held.pop(content["receipt"])
        payers = sorted({key[1] for key, *_ in held_for}, key=lambda payer: payer is not None)  # the data set first
        paid_by = dict(zip(payers, content["charge"], strict=True))
        faults = ["it settles what was reserved ahead and not taken up"] if content["receipt"] in self._ahead else []
        for key, held, times in held_for:
            paid = self._parse_amount(key, paid_by[key[1]])
            balance = self.balances[key]
            self.balances[key] = replace(
                balance, held=balance.held - held * times, settled=balance.settled + paid * times
            )
            if not (paid == held - held if voided else _is_valid_payment(paid, held)):
                faults.append(f"{_title(key)} pays what the rules do not allow")
        return faults

    def _charged_accounts(self, content: dict[str, Any], payer: str | None) -> list[tuple[Key, int]]:
        """The accounts of a payer that a reservation is charged to, and how many times; new ones are opened."""
        whole: Key = (content["dataset"], payer, None, 1)
        budget = self.balances[whole].budget
        if budget.calendar is None:
            return [(whole, 1)]
        found: list[tuple[Key, int]] = []
        for share in account_shares(budget, PeriodCharge.from_json(content["periods"], budget)):
            key = (content["dataset"], payer, share.period, share.span)
            self.balances.setdefault(key, Balance.open_account(budget_of_span(budget, share.span)))
            found.append((key, share.times))
        return found

    def _parse_amount(self, key: Key, exact: dict[str, str]) -> Amount:
        amount = Amount.from_json(exact, self.balances[key].budget.limit.units)
        assert canonical_json(amount.to_json()) == canonical_json(exact), "an amount is not in its one spelling"
        return amount


def _key(parts: list[Any]) -> Key:
    dataset, analyst, period, span = parts
    return dataset, analyst, period, span


def _is_valid_payment(paid: Amount, held: Amount) -> bool:
    return not paid.is_negative and paid.fits_in(held) and paid.failure == held.failure


def _read_checksum(checksum: str | None) -> tuple[int, str] | None:
    if checksum is None:
        return None
    length, _, hash_text = checksum.partition(":")
    if not length.isdecimal() or len(hash_text) != len(GENESIS):
        raise ParameterError("a checksum is written length:hash, as `crestline ledger show` prints it")
    return int(length), hash_text


def _missing_entries_text(first: int, last: int) -> str:
    return f"entry {first} is" if first == last else f"entries {first} to {last} are"


def _title(key: Key) -> str:
    dataset, analyst, period, span = key
    whole = f"data set {dataset!r}" if analyst is None else f"analyst {analyst!r} of data set {dataset!r}"
    if period is None:
        return whole
    return f"{whole} in {period}" if span == 1 else f"{whole} in the {span} periods from {period}"
