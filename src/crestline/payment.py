"""Charging of an answer, to a ledger or to none, behind one protocol, so that `ask` needs no branches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from crestline.answer.answer import Answer, Bill
from crestline.answer_key import Identity, find_stored, may_be_served
from crestline.deadline import seconds_left
from crestline.guarantees.cost import Cost
from crestline.ledger.amount import Amount
from crestline.ledger.balance_rules import Balance
from crestline.ledger.budget_fractions import epsilon_worth, fraction_of, how_often_fits
from crestline.ledger.entries import Entry, canonical_json
from crestline.ledger.ledger import Ledger
from crestline.ledger.periods import PeriodCharge, promise_texts
from crestline.ledger.receipt import LONGEST_WAIT, Receipt, RequestKey, ReserveOptions, StoredAnswer
from crestline.prepare import Prepared


class Charging(Protocol):
    """Finds a stored answer, reserves the worst case, and settles the cost that a theorem permits to charge."""

    def find(self, identity: Identity) -> Answer | None:
        """The stored answer to the same question, if it may be served."""
        ...

    def reserve(self, prepared: Prepared, identity: Identity) -> Receipt | Answer | None:
        """Reserve the worst case, or return an answer that was stored since `find`."""
        ...

    def settle(self, receipt: Receipt | None, cost: Cost, answer: Answer) -> Answer:
        """Charge the cost, and return the answer with its bill."""
        ...

    def void(self, receipt: Receipt | None) -> None:
        """Cancel the reservation, because nothing was sent to the engine."""
        ...

    def note_lost(self, receipt: Receipt | None) -> None:
        """Let no one wait for the answer: the question has failed, and stays charged."""
        ...


@dataclass(frozen=True)
class NoLedger:
    """Charging without a ledger: nothing is stored, reserved or billed."""

    def find(self, identity: Identity) -> None:
        return None

    def reserve(self, prepared: Prepared, identity: Identity) -> None:
        return None

    def settle(self, receipt: Receipt | None, cost: Cost, answer: Answer) -> Answer:
        return answer

    def void(self, receipt: Receipt | None) -> None:
        return None

    def note_lost(self, receipt: Receipt | None) -> None:
        return None


NO_LEDGER = NoLedger()


@dataclass(frozen=True)
class LedgerCharging:
    """Charging to a ledger, on the account of an analyst (None: the data set's own).

    Under the key of `request` it is charged once, by all processes; a reservation made ahead under that key pays.
    """

    ledger: Ledger
    analyst: str | None = None
    request: RequestKey | None = None

    def find(self, identity: Identity) -> Answer | None:
        """The stored answer to the same question on the same version of the data; serving it is recorded."""
        found = find_stored(self.ledger, identity, self.analyst, record=True)
        return None if found is None else as_free_answer(found)

    def reserve(self, prepared: Prepared, identity: Identity) -> Receipt | Answer:
        """Reserve the worst case durably, before a row is read; or return the answer that was stored since `find`.

        A reservation made ahead for this question is used instead of a new one. Where the same is being answered for
        the same account, its answer is waited for.
        """
        options = self._reserve_options(prepared, identity, identity.question)
        result = self.ledger.find_or_reserve(
            prepared.cost, usable=may_be_served, patience=seconds_left(LONGEST_WAIT), **options
        )
        return result if isinstance(result, Receipt) else as_free_answer(result)

    def reserve_ahead(self, prepared: Prepared, identity: Identity) -> int:
        """Reserve the worst case of a question that is asked later, once, and return the reservation's number."""
        return self.ledger.reserve_once(
            prepared.cost, **self._reserve_options(prepared, identity, _reserved_ahead_question(identity))
        )

    def _reserve_options(self, prepared: Prepared, identity: Identity, question: Mapping[str, Any]) -> ReserveOptions:
        """Arguments of a reservation besides its cost."""
        return ReserveOptions(
            question=question,
            data_version=identity.version,
            analyst=self.analyst,
            mechanism=prepared.choice.name,
            reach=prepared.period_charge,
            request=self.request,
        )

    def settle(self, receipt: Receipt | None, cost: Cost, answer: Answer) -> Answer:
        """Charge the cost, and store the answer and its bill."""
        assert receipt is not None, "a ledger gives a receipt for every reservation"
        answer = replace(answer, notes=(*answer.notes, *_promises(self.ledger, receipt)))
        settled = self.ledger.settlement(receipt, cost, answer=answer.to_dict())
        return replace(
            answer,
            number=receipt.analyst_number,
            bill=_build_bill(self.ledger, receipt.analyst_number, receipt.reserved, settled.paid, settled.balance),
        )

    def void(self, receipt: Receipt | None) -> None:
        """Cancel the reservation, because nothing of the question was sent to the engine."""
        assert receipt is not None, "a ledger gives a receipt for every reservation"
        self.ledger.void(receipt)

    def note_lost(self, receipt: Receipt | None) -> None:
        """Let no one wait for the answer: the question has failed, and stays charged."""
        assert receipt is not None, "a ledger gives a receipt for every reservation"
        self.ledger.note_lost(receipt)


def as_free_answer(stored: StoredAnswer) -> Answer:
    """A stored answer, marked as served again at no cost."""
    return replace(Answer.from_dict(stored.answer), stored=True, number=stored.analyst_number)


def is_ahead_for(held: Entry, identity: Identity) -> bool:
    """Whether a reservation made ahead is for this question."""
    return canonical_json(held.content["question"]) == canonical_json(_reserved_ahead_question(identity))


def _reserved_ahead_question(identity: Identity) -> dict[str, Any]:
    """Identity of a question that is reserved ahead, which no answer has, so that none is found under it."""
    return {**identity.question, "ahead": True}


def _promises(ledger: Ledger, receipt: Receipt) -> tuple[str, ...]:
    """Sentences on what a budget by period guarantees; the one on sums over periods only for such a sum."""
    if receipt.reach is None:
        return ()
    texts = promise_texts(ledger.budget, sum(account.span == 1 for account in ledger.periods()))
    return texts if receipt.reach.person == "sum" and receipt.reach.periods.size > 1 else texts[:1]


def current_bill(
    ledger: Ledger, analyst: str | None, receipt: int, reserved: Amount, paid: Amount, reach: PeriodCharge | None
) -> Bill:
    """Bill of an answer at present: what it reserved and paid, and what remains of the budget that limits the analyst.

    Over several periods, what remains is that of the period with the least.
    """
    return _build_bill(ledger, receipt, reserved, paid, ledger.asker_balance(analyst, reach))


def _build_bill(ledger: Ledger, receipt: int, reserved: Amount, paid: Amount, balance: Balance) -> Bill:
    """Bill with these amounts and this balance."""
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
