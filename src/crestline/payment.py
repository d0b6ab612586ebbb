"""Who pays for an answer: a ledger, or nobody. Both are asked the same three things, so the journey has no fork."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from crestline.answer.answer import Answer, Bill
from crestline.answer_key import Identity, find_stored, may_be_served
from crestline.guarantees.cost import Cost
from crestline.ledger.amount import Amount
from crestline.ledger.balance_rules import Balance
from crestline.ledger.budget_fractions import epsilon_worth, fraction_of, how_often_fits
from crestline.ledger.entries import Entry, canonical_json
from crestline.ledger.ledger import Ledger
from crestline.ledger.periods import PeriodCharge, promise_texts
from crestline.ledger.receipt import Receipt, ReserveOptions, StoredAnswer
from crestline.prepare import Prepared


class Charging(Protocol):
    """Finds an answer that was paid for, reserves the worst case, and settles what a theorem lets us charge."""

    def find(self, identity: Identity) -> Answer | None: ...

    def reserve(self, prepared: Prepared, identity: Identity) -> Receipt | Answer | None: ...

    def settle(self, receipt: Receipt | None, cost: Cost, answer: Answer) -> Answer: ...

    def void(self, receipt: Receipt | None) -> None: ...


def charging(ledger: Ledger | None, analyst: str | None, reserved: int | None = None) -> Charging:
    """The one who pays; `reserved` is the number of a reservation that was made ahead."""
    return NoLedger() if ledger is None else LedgerCharging(ledger, analyst, reserved)


@dataclass(frozen=True)
class NoLedger:
    """Nothing is written down: no answer is found again, nothing is reserved, nothing is billed."""

    def find(self, identity: Identity) -> None:
        return None

    def reserve(self, prepared: Prepared, identity: Identity) -> None:
        return None

    def settle(self, receipt: Receipt | None, cost: Cost, answer: Answer) -> Answer:
        return answer

    def void(self, receipt: Receipt | None) -> None:
        return None


@dataclass(frozen=True)
class LedgerCharging:
    """A ledger, and the analyst at whose expense it is asked (None: the data set's own).

    `reserved` is the number of a reservation that was made ahead, and is used if it was made for the same question.
    """

    ledger: Ledger
    analyst: str | None
    reserved: int | None = None

    def find(self, identity: Identity) -> Answer | None:
        """The stored answer to the same question on the same version of the data; serving it is recorded."""
        found = find_stored(self.ledger, identity, self.analyst, record=True)
        return None if found is None else as_free_answer(found)

    def reserve(self, prepared: Prepared, identity: Identity) -> Receipt | Answer:
        """Hold the worst case, durably, before a row is read, unless that was done ahead; or the answer, if it was paid
        for since `find`."""
        begun = None if self.reserved is None else self.ledger.begin(self.reserved, _reserved_ahead_question(identity))
        if begun is not None:
            return begun
        asking = self._reserve_options(prepared, identity, identity.question)
        found = self.ledger.find_or_reserve(prepared.cost, usable=may_be_served, **asking)
        return found if isinstance(found, Receipt) else as_free_answer(found)

    def reserve_ahead(self, prepared: Prepared, identity: Identity) -> Receipt:
        """Hold the worst case of a question that is asked later, by the number of this reservation."""
        return self.ledger.reserve(
            prepared.cost, **self._reserve_options(prepared, identity, _reserved_ahead_question(identity))
        )

    def _reserve_options(self, prepared: Prepared, identity: Identity, question: Mapping[str, Any]) -> ReserveOptions:
        return ReserveOptions(
            question=question,
            data_version=identity.version,
            analyst=self.analyst,
            mechanism=prepared.choice.name,
            reach=prepared.period_charge,
        )

    def settle(self, receipt: Receipt | None, cost: Cost, answer: Answer) -> Answer:
        """Charge the cost, and keep the answer with its bill."""
        assert receipt is not None, "a ledger gives a receipt for every reservation"
        answer = replace(answer, notes=(*answer.notes, *_promises(self.ledger, receipt)))
        settled = self.ledger.settlement(receipt, cost, answer=answer.to_dict())
        return replace(
            answer,
            bill=_build_bill(self.ledger, receipt.analyst_number, receipt.reserved, settled.paid, settled.balance),
        )

    def void(self, receipt: Receipt | None) -> None:
        """Give the reservation back: nothing of the question was sent to the engine."""
        assert receipt is not None, "a ledger gives a receipt for every reservation"
        self.ledger.void(receipt)


def as_free_answer(stored: StoredAnswer) -> Answer:
    """A stored answer, which cost nothing this time."""
    return replace(Answer.from_dict(stored.answer), stored=True)


def is_ahead_for(held: Entry, identity: Identity) -> bool:
    """Whether a reservation that was made ahead is for this question."""
    return canonical_json(held.content["question"]) == canonical_json(_reserved_ahead_question(identity))


def _reserved_ahead_question(identity: Identity) -> dict[str, Any]:
    """How the ledger names a question that is reserved ahead: no answer to it is looked for under that name."""
    return {**identity.question, "ahead": True}


def _promises(ledger: Ledger, receipt: Receipt) -> tuple[str, ...]:
    """Where the budget is by period, what it promises; about sums over several periods only where this is one."""
    if receipt.reach is None:
        return ()
    said = promise_texts(ledger.budget, sum(account.span == 1 for account in ledger.periods()))
    return said if receipt.reach.person == "sum" and receipt.reach.periods.size > 1 else said[:1]


def current_bill(
    ledger: Ledger, analyst: str | None, receipt: int, reserved: Amount, paid: Amount, reach: PeriodCharge | None
) -> Bill:
    """What was reserved and paid for an answer, and what is left now of the budget that limits the analyst;
    over several periods, of the one that has the least."""
    return _build_bill(ledger, receipt, reserved, paid, ledger.asker_balance(analyst, reach))


def _build_bill(ledger: Ledger, receipt: int, reserved: Amount, paid: Amount, balance: Balance) -> Bill:
    return Bill(
        ledger=ledger.address,
        reserved=str(reserved),
        paid=str(paid),
        remaining=str(balance.remaining),
        receipt=receipt,
        share=fraction_of(paid, balance.budget.limit),
        left=1 - fraction_of(balance.total_charged, balance.budget.limit),
        more=how_often_fits(paid, balance.remaining),
        left_epsilon=epsilon_worth(balance.budget, balance.remaining),
    )
