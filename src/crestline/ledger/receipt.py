"""What goes into the ledger and what comes back: an order, a receipt, a stored answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias, TypedDict

from crestline.errors import BudgetExhausted, LedgerError
from crestline.ledger.amount import Amount
from crestline.ledger.balance_rules import Balance
from crestline.ledger.entries import Draft, Entry, answer_key
from crestline.ledger.periods import PeriodCharge

Clock: TypeAlias = Callable[[], datetime]
LONGEST_WAIT = 60.0  # seconds for which the answer to a question that was reserved elsewhere is waited for


def utc_now() -> datetime:
    """The time now, in UTC."""
    return datetime.now(UTC)


RequestProblem: TypeAlias = Literal["conflict", "unfinished", "cancelled"]


@dataclass(frozen=True)
class RequestKey:
    """What is asked once, by all processes on all hosts: `key` names it, `asked` identifies what is asked under it."""

    key: str
    asked: str = ""


class AlreadyTakenUp(LedgerError):
    """A reservation made ahead was taken up, or given back, by another process."""


class RequestRefused(LedgerError):
    """A key that cannot be asked under: it is another question's, or that of a request that has not ended (or not
    yet), or that was cancelled. `why` says which; nothing was charged."""

    def __init__(self, why: RequestProblem) -> None:
        super().__init__(f"the key of this request cannot be used: {_PROBLEMS[why]}")
        self.why: RequestProblem = why


_PROBLEMS: dict[RequestProblem, str] = {
    "conflict": "it was used for another question",
    "unfinished": "its question was charged and has no answer yet, or lost it",
    "cancelled": "it was cancelled before it was charged",
}


class ReserveOptions(TypedDict, total=False):
    """What may be said of a release when its cost is reserved; `Ledger.reserve` says what each means."""

    question: Mapping[str, Any] | None
    data_version: str | None
    analyst: str | None
    mechanism: str | None
    reach: PeriodCharge | None
    request: RequestKey | None


@dataclass(frozen=True)
class LedgerRequest:
    """Who asks what. All of it is kept in the ledger; none of it may depend on private rows."""

    dataset: str
    analyst: str | None
    question: Mapping[str, Any]
    data_version: str | None
    mechanism: str | None
    reach: PeriodCharge | None = None  # which periods, where the budget is by period
    request: RequestKey | None = None  # where it is asked once

    def answer_key(self, owner: str | None) -> str | None:
        """Where the answer is found again; `owner` is the analyst who pays for it from a budget of their own."""
        return answer_key(self.dataset, self.question, self.data_version, owner)

    def possible_keys(self) -> tuple[str, ...]:
        """Where the answer may be found: which of them it is depends on who pays."""
        keys = (self.answer_key(owner) for owner in {None, self.analyst})
        return tuple(key for key in keys if key is not None)

    def question_fields(self, k: int | None) -> dict[str, Any]:
        """What the entry of a reservation or a refusal says about the question; `k` where the ledger chose it."""
        largest = {} if k is None else {"k": k}
        asked = {"question": self.question, "data_version": self.data_version, "mechanism": self.mechanism}
        once = {} if self.request is None else {"asked": self.request.asked}
        return {**asked, **largest, **once, **({} if self.reach is None else {"periods": self.reach.to_json()})}

    def refusal_draft(self, refusal: BudgetExhausted) -> Draft:
        """The entry that says that the cost did not fit."""
        amounts = {"requested": refusal.requested.to_json(), "remaining": refusal.remaining.to_json()}
        return Draft("refused", self.dataset, self.analyst, details={**self.question_fields(None), **amounts})

    def served_again_draft(self, found: Entry) -> Draft:
        """The entry that says that an answer which was settled before was given again."""
        return Draft("answered", self.dataset, self.analyst, found.receipt, found.answer_key)


@dataclass(frozen=True)
class Receipt:
    """Proof of a reservation: what settles it. `k` is set where the largest k that fits was asked for.

    `number` is that of the ledger's entry; `analyst_number` is what the analyst sees, who must not learn how much
    others ask.

    `reserved` is what the analyst's own account holds for it; the data set's where they have none.
    """

    number: int
    hash: str
    dataset: str
    analyst: str | None
    reserved: Amount
    k: int | None = None
    reach: PeriodCharge | None = None
    own_number: int | None = None

    @property
    def analyst_number(self) -> int:
        """As `Entry.analyst_number`."""
        return self.number if self.own_number is None else self.own_number


@dataclass(frozen=True)
class Settlement:
    """What the asker's own account paid (the data set's where they have none), and how it stands now; over several
    periods, the one that has the least left."""

    paid: Amount
    balance: Balance


@dataclass(frozen=True)
class StoredAnswer:
    """An answer that was paid for: `number` is its receipt's, `analyst_number` what its analyst knows it by, `answer`
    what
    `settle` was given, `time` when."""

    number: int
    analyst_number: int
    dataset: str
    analyst: str | None
    answer: Any
    time: str
