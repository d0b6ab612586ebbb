"""What a ledger says about one data set: its accounts, what is left of them, its entries. Nothing is changed here."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Self

from crestline.errors import BudgetError, BudgetMismatch
from crestline.ledger import balance_rules
from crestline.ledger.amount import Amount
from crestline.ledger.budget import Budget
from crestline.ledger.entries import Entry
from crestline.ledger.periods import PeriodCharge
from crestline.ledger.receipt import StoredAnswer
from crestline.ledger.verify import Verification
from crestline.periods.calendar import Periods

if TYPE_CHECKING:  # the database interface is heavy, and only loaded when a ledger is opened
    from crestline.ledger.storage.charged_accounts import ChargedAccount
    from crestline.ledger.storage.queries import Account
    from crestline.ledger.storage.store import Store


class LedgerReader:
    """What may be asked of one data set, what has been, and what it cost; to look at."""

    def __init__(self, store: Store, dataset: str) -> None:
        self._store = store
        self.dataset = dataset

    def close(self) -> None:
        """Close the connections to the database; what was charged stays charged."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def answer(self, number: int, *, analyst: str | None = None) -> StoredAnswer | None:
        """The answer settled under a receipt's number, or None. Whom it may be shown to is the caller's business.

        With `analyst`, the number is the one that they were told, which counts their own questions.
        """
        receipt = number if analyst is None else self._store.reservation_of_number(analyst, number)
        entry = None if receipt is None else self._store.settlement(receipt)
        return None if entry is None or entry.dataset != self.dataset else stored_answer(entry)

    def account(self, analyst: str | None = None) -> Account:
        """The account that limits an analyst besides the data set's own; the data set's where analysts have none."""
        known = self._store.accounts(self.dataset)
        for account in known:
            if account.analyst == analyst or len(known) == 1:
                return account
        raise BudgetError(f"{analyst!r} has no budget for data set {self.dataset!r}: ask its owner to open one")

    def payers(self, analyst: str | None = None) -> list[Account]:
        """The accounts that pay for an analyst's questions: the data set's, then their own where they have one."""
        return self._store.payers(self.dataset, analyst)

    def charged_accounts(self, analyst: str | None = None, reach: PeriodCharge | None = None) -> list[ChargedAccount]:
        """The accounts that a question of an analyst is charged to, and how many times its cost: those of `payers`, or,
        where the budget is by period, those of the periods and of the windows that meet them."""
        return self._store.charged_accounts(self.dataset, analyst, reach)

    def asker_balance(self, analyst: str | None, reach: PeriodCharge | None) -> balance_rules.Balance:
        """The balance of the asker's own account; over several periods, of the one that has the least left."""
        parts = self.charged_accounts(analyst, reach)
        own = [part.account for part in parts if part.account.analyst == parts[-1].account.analyst]
        return min((account.balance for account in own if account.span == 1), key=lambda one: one.remaining.loss)

    def periods(self, analyst: str | None = None) -> list[Account]:
        """The accounts of the periods that were ever asked about, then of the windows; of an analyst, their own."""
        return self._store.periods(self.dataset, analyst)

    def now(self) -> datetime:
        """What the clock of the ledger says: it decides which periods have ended."""
        return self._store.now()

    @property
    def accounts(self) -> list[Account]:
        """The account of the data set, then those of its analysts."""
        return self._store.accounts(self.dataset)

    @property
    def datasets(self) -> list[str]:
        """All data sets in this ledger."""
        return self._store.datasets()

    @property
    def budget(self) -> Budget:
        """The budget of the data set."""
        return self.account().balance.budget

    @property
    def user(self) -> str | None:
        """The column whose users the budget is about; None until the first question fixes it."""
        return self.account().user

    def remaining(self, analyst: str | None = None, *, period: str | None = None) -> Amount:
        """What is left; of one period where the budget is by period."""
        return self._balance(analyst, period).remaining

    def spent(self, analyst: str | None = None, *, period: str | None = None) -> Amount:
        """What is charged: settled, and reserved but not settled; to one period where the budget is by period."""
        return self._balance(analyst, period).total_charged

    def _balance(self, analyst: str | None, period: str | None) -> balance_rules.Balance:
        account = self.account(analyst)
        calendar = account.balance.budget.calendar
        if calendar is None and period is not None:
            raise BudgetMismatch(f"{account.title} is not by period: ask without a period")
        if calendar is None:
            return account.balance
        if period is None:
            raise BudgetMismatch(f"{account.title} is for {calendar}: say which period, such as period='2026-10'")
        return self.asker_balance(account.analyst, PeriodCharge(Periods.from_labels(calendar, period, period)))

    def reserved_ahead(self) -> list[Entry]:
        """Reservations that were made ahead, for a question that has not been asked yet."""
        return self._store.reserved_ahead(self.dataset)

    def open_reservations(self) -> list[Entry]:
        """Reservations that were neither settled (or not yet) nor given back; they stay charged."""
        return self._store.open_reservations(self.dataset)

    def history(self, last: int | None = None, *, analyst: str | None = None) -> list[Entry]:
        """Every entry about this data set, oldest first; only the last so many, only one analyst's, if asked for."""
        return self._store.entries(self.dataset, last, analyst)

    def verify(self, checksum: str | None = None) -> Verification:
        """Check the whole database (all data sets): every hash, link and sum; and a checksum kept elsewhere."""
        return self._store.verify(checksum)

    @property
    def address(self) -> str:
        """Where the ledger is, without a password."""
        return self._store.address

    @property
    def shown(self) -> str:
        """The address, under its earlier name."""
        return self.address


def stored_answer(entry: Entry) -> StoredAnswer:
    assert entry.receipt is not None, "a settlement names its reservation"
    told = entry.receipt if entry.number is None else entry.number
    return StoredAnswer(entry.receipt, told, entry.dataset, entry.analyst, entry.content["answer"], entry.time)
