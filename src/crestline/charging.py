"""Who pays for an answer: a ledger, or nobody. Both are asked the same three things, so the journey has no fork."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from crestline.answer.answer import Answer, Bill
from crestline.guarantees.cost import Cost
from crestline.identity import Identity, find_stored, may_be_served
from crestline.ledger.amount import Amount
from crestline.ledger.entries import Entry, canonical
from crestline.ledger.ledger import Ledger
from crestline.ledger.periods import Reach, promises
from crestline.ledger.receipt import Asking, Receipt, StoredAnswer
from crestline.ledger.rules import Balance
from crestline.ledger.shares import part_of, times, worth
from crestline.prepare import Prepared


class Charging(Protocol):
    """Finds an answer that was paid for, reserves the worst case, and settles what a theorem lets us charge."""

    def find(self, known: Identity) -> Answer | None: ...

    def reserve(self, prepared: Prepared, known: Identity) -> Receipt | Answer | None: ...

    def settle(self, receipt: Receipt | None, cost: Cost, answer: Answer) -> Answer: ...

    def void(self, receipt: Receipt | None) -> None: ...


def charging(ledger: Ledger | None, analyst: str | None, reserved: int | None = None) -> Charging:
    """The one who pays; `reserved` is the number of a reservation that was made ahead."""
    return NoLedger() if ledger is None else Charged(ledger, analyst, reserved)


@dataclass(frozen=True)
class NoLedger:
    """Nothing is written down: no answer is found again, nothing is reserved, nothing is billed."""

    def find(self, known: Identity) -> None:
        return None

    def reserve(self, prepared: Prepared, known: Identity) -> None:
        return None

    def settle(self, receipt: Receipt | None, cost: Cost, answer: Answer) -> Answer:
        return answer

    def void(self, receipt: Receipt | None) -> None:
        return None


@dataclass(frozen=True)
class Charged:
    """A ledger, and the analyst at whose expense it is asked (None: the data set's own).

    `reserved` is the number of a reservation that was made ahead, and is used if it was made for the same question.
    """

    ledger: Ledger
    analyst: str | None
    reserved: int | None = None

    def find(self, known: Identity) -> Answer | None:
        """The stored answer to the same question on the same version of the data; serving it is recorded."""
        found = find_stored(self.ledger, known, self.analyst, record=True)
        return None if found is None else served_again(found)

    def reserve(self, prepared: Prepared, known: Identity) -> Receipt | Answer:
        """Hold the worst case, durably, before a row is read, unless that was done ahead; or the answer, if it was paid
        for since `find`."""
        begun = None if self.reserved is None else self.ledger.begin(self.reserved, _ahead(known))
        if begun is not None:
            return begun
        asking = self._asking(prepared, known, known.question)
        found = self.ledger.find_or_reserve(prepared.cost, usable=may_be_served, **asking)
        return found if isinstance(found, Receipt) else served_again(found)

    def reserve_ahead(self, prepared: Prepared, known: Identity) -> Receipt:
        """Hold the worst case of a question that is asked later, by the number of this reservation."""
        return self.ledger.reserve(prepared.cost, **self._asking(prepared, known, _ahead(known)))

    def _asking(self, prepared: Prepared, known: Identity, question: Mapping[str, Any]) -> Asking:
        return Asking(
            question=question,
            data_version=known.version,
            analyst=self.analyst,
            mechanism=prepared.choice.name,
            reach=prepared.reach,
        )

    def settle(self, receipt: Receipt | None, cost: Cost, answer: Answer) -> Answer:
        """Charge the cost, and keep the answer with its bill."""
        assert receipt is not None, "a ledger gives a receipt for every reservation"
        answer = replace(answer, notes=(*answer.notes, *_promises(self.ledger, receipt)))
        settled = self.ledger.settlement(receipt, cost, answer=answer.to_dict())
        return replace(answer, bill=_bill(self.ledger, receipt.told, receipt.reserved, settled.paid, settled.balance))

    def void(self, receipt: Receipt | None) -> None:
        """Give the reservation back: nothing of the question was sent to the engine."""
        assert receipt is not None, "a ledger gives a receipt for every reservation"
        self.ledger.void(receipt)


def served_again(found: StoredAnswer) -> Answer:
    """A stored answer, which cost nothing this time."""
    return replace(Answer.from_dict(found.answer), stored=True)


def is_ahead_for(held: Entry, known: Identity) -> bool:
    """Whether a reservation that was made ahead is for this question."""
    return canonical(held.content["question"]) == canonical(_ahead(known))


def _ahead(known: Identity) -> dict[str, Any]:
    """How the ledger names a question that is reserved ahead: no answer to it is looked for under that name."""
    return {**known.question, "ahead": True}


def _promises(ledger: Ledger, receipt: Receipt) -> tuple[str, ...]:
    """Where the budget is by period, what it promises; about sums over several periods only where this is one."""
    if receipt.reach is None:
        return ()
    said = promises(ledger.budget, sum(account.span == 1 for account in ledger.periods()))
    return said if receipt.reach.person == "sum" and receipt.reach.periods.size > 1 else said[:1]


def bill(
    ledger: Ledger, analyst: str | None, receipt: int, reserved: Amount, paid: Amount, reach: Reach | None
) -> Bill:
    """What was reserved and paid for an answer, and what is left now of the budget that limits the analyst;
    over several periods, of the one that has the least."""
    return _bill(ledger, receipt, reserved, paid, ledger.left(analyst, reach))


def _bill(ledger: Ledger, receipt: int, reserved: Amount, paid: Amount, balance: Balance) -> Bill:
    return Bill(
        ledger=ledger.address,
        reserved=str(reserved),
        paid=str(paid),
        remaining=str(balance.remaining),
        receipt=receipt,
        share=part_of(paid, balance.budget.limit),
        left=1 - part_of(balance.charged, balance.budget.limit),
        more=times(paid, balance.remaining),
        left_epsilon=worth(balance.budget, balance.remaining),
    )
