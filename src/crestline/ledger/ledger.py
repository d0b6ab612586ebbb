"""Ledger: what one data set may spend and has spent, for everybody who asks."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack

from crestline.errors import BudgetError, BudgetMismatch, LedgerError, ParameterError
from crestline.exact_numbers import whole_number, with_typed_dict_signature
from crestline.guarantees.cost import Cost
from crestline.label_text import HasShortRepr
from crestline.ledger import balance_rules
from crestline.ledger.amount import Amount
from crestline.ledger.budget import Budget
from crestline.ledger.entries import Entry, canonical_json
from crestline.ledger.periods import PeriodCharge
from crestline.ledger.receipt import (
    AlreadyTakenUp,
    Clock,
    LedgerRequest,
    Receipt,
    RequestKey,
    ReserveOptions,
    Settlement,
    StoredAnswer,
    utc_now,
)
from crestline.ledger.verify import Verification
from crestline.periods.calendar import Periods

if TYPE_CHECKING:  # the database interface is heavy, and only loaded when a ledger is opened
    from crestline.ledger.storage.rows import Account, ChargedAccount
    from crestline.ledger.storage.store import Store

DEFAULT = "default"
PATIENCE = 30.0  # seconds to wait for a lock unless told otherwise
Address = str | os.PathLike[str]


class OpenOptions(TypedDict, total=False):
    """How a ledger is opened; `Ledger.open` says what each means."""

    clock: Clock
    timeout: float
    witness: Address | None


_with_opening = with_typed_dict_signature(OpenOptions, {"clock": utc_now, "timeout": PATIENCE})


class Ledger(HasShortRepr):
    """What may be asked of one data set, what has been, and what it cost.

    Reserve before any row is read, release, then settle. A reservation that is never settled stays charged.

    >>> from crestline.guarantees.cost import steps
    >>> from crestline.guarantees.guarantee import BoundedRange
    >>> ledger = Ledger.in_memory(Budget(epsilon=1, kind="pure"))
    >>> receipt = ledger.reserve(steps(BoundedRange("0.1"), 5))
    >>> str(ledger.settle(receipt, steps(BoundedRange("0.1"), 3)))
    'epsilon 0.3, delta 0'
    >>> str(ledger.remaining())
    'epsilon 0.7, delta 0'
    """

    def __init__(self, store: Store, dataset: str) -> None:
        self._store = store
        self.dataset = dataset

    def __str__(self) -> str:
        return f"{self.dataset}, ledger {self.address}"

    def close(self) -> None:
        """Close the connections to the database; what was charged stays charged."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @classmethod
    @_with_opening
    def create(
        cls,
        address: Address,
        budget: Budget,
        *,
        dataset: str = DEFAULT,
        user: str | None = None,
        analysts: Mapping[str, Budget] | None = None,
        **opening: Unpack[OpenOptions],
    ) -> Ledger:
        """Open a budget at a path or `postgresql://` address; the ledger is made if there is none.

        A budget is opened once and never changed. `analysts` get budgets of their own under it: each of their questions
        must fit both. `user` is the column that holds the user, the same in every question; unless it is given, the
        first question fixes it. `timeout` and `witness` are as in `open`.
        """
        from crestline.ledger.storage.store import Store

        budgets: dict[str | None, Budget] = {None: _check_budget(budget)}
        budgets.update(
            {_check_name(analyst, "analyst"): _check_budget(own) for analyst, own in (analysts or {}).items()}
        )
        _check_name(dataset, "dataset")
        _check_user_name(user)
        store = _open_store(Store.create, address, **opening)
        store.open_accounts(dataset, budgets, user)
        return cls(store, dataset)

    @classmethod
    @_with_opening
    def open(cls, address: Address, *, dataset: str | None = None, **opening: Unpack[OpenOptions]) -> Ledger:
        """The ledger at an address; `dataset` may be left out where there is only one.

        `clock` gives the times of entries, and `timeout` is how many seconds to wait for a lock.
        `witness` is another place, a path or an address, where the checksum of the ledger is kept: a ledger that is
        older than its witness, such as a backup that was restored, is refused. A ledger that has one is not written
        without it. The environment variable `CRESTLINE_WITNESS` names it unless it is given.
        """
        from crestline.ledger.storage.store import Store

        store = _open_store(Store.open, address, **opening)
        return cls(store, _choose_dataset(store, dataset))

    @classmethod
    @_with_opening
    def open_or_create(
        cls,
        address: Address,
        budget: Budget,
        *,
        dataset: str = DEFAULT,
        user: str | None = None,
        **opening: Unpack[OpenOptions],
    ) -> Ledger:
        """The budget of a data set, opened at the first call; at every other, `budget` and `user` must be those in the
        ledger. `witness` is as in `open`."""
        from crestline.ledger.storage.store import Store

        return cls.in_store(_open_store(Store.create, address, **opening), budget, dataset=dataset, user=user)

    @classmethod
    def in_store(cls, store: Store, budget: Budget, *, dataset: str, user: str | None = None) -> Ledger:
        """`open_or_create` in a store that is open already."""
        store.ensure_account(_check_name(dataset, "dataset"), _check_budget(budget), _check_user_name(user))
        return cls(store, dataset)

    @classmethod
    def in_memory(
        cls, budget: Budget, *, dataset: str = DEFAULT, user: str | None = None, clock: Clock = utc_now
    ) -> Ledger:
        """A ledger that ends with the process: for one question, and for demonstrations."""
        from crestline.ledger.storage.store import Store

        return cls.in_store(Store.in_memory(clock), budget, dataset=dataset, user=user)

    def add_analyst(self, analyst: str, budget: Budget) -> None:
        """Open a budget for an analyst under this data set, before that analyst has been answered anything.

        From the first such budget on, named analysts without one are refused.
        """
        self.add_analysts({analyst: budget})

    def add_analysts(self, budgets: Mapping[str, Budget]) -> None:
        """As `add_analyst`, for several at once: all are opened, or none."""
        named: dict[str | None, Budget] = {
            _check_name(analyst, "analyst"): _check_budget(budget) for analyst, budget in budgets.items()
        }
        self._store.open_accounts(self.dataset, named)

    @with_typed_dict_signature(ReserveOptions, {})
    def reserve(self, cost: Cost, **asking: Unpack[ReserveOptions]) -> Receipt:
        """Hold the worst case, durably, before any row is read; `BudgetExhausted` if it does not fit.

        `question` is plain JSON and must name everything the answer depends on besides the data; neither it nor
        `data_version` may depend on private rows. Its `user` is the column that holds the user: the first one fixes it
        for the data set, and another is refused with `BudgetMismatch`. A charge that names none is taken to be about
        the same users. Where the budget is by period, `reach` names the periods: each of their accounts is charged,
        or none.
        """
        return self._store.reserve(self._build_request(**asking), lambda parts: (cost, None))

    @with_typed_dict_signature(ReserveOptions, {})
    def reserve_largest(self, cost_of_k: Callable[[int], Cost], k: int, **asking: Unpack[ReserveOptions]) -> Receipt:
        """`reserve` with the largest number up to `k` that fits, which is `receipt.k`; refused if not even 1 fits.

        `cost_of_k` is called inside the transaction: keep it short. Its cost must not fall as k grows.
        """
        wanted = whole_number(k, "k")

        def choose(parts: list[ChargedAccount]) -> tuple[Cost, int]:
            size = (
                balance_rules.largest_k(cost_of_k, wanted, [(part.account.balance, part.times) for part in parts]) or 1
            )
            return cost_of_k(size), size  # one item that does not fit is refused like any other cost

        return self._store.reserve(self._build_request(**asking), choose)

    def begin(self, number: int, question: Mapping[str, Any]) -> Receipt | None:
        """The receipt of a reservation that was made ahead for this question, which is about to be asked; None where it
        was made for another. It is taken up once, durably: what is lost after that is not asked again."""
        return self._store.begin(number, json.loads(canonical_json(question)))

    def give_back(self, ahead: Entry) -> None:
        """Void a reservation that was made ahead: taken up first, so that no other question takes it up meanwhile.
        Where another process did either before, nothing happens."""
        with suppress(AlreadyTakenUp):
            receipt = self.begin(ahead.sequence, ahead.content["question"])
            assert receipt is not None, "it is for its own question"
            self.void(receipt)

    @with_typed_dict_signature(ReserveOptions, {})
    def reserve_once(self, cost: Cost, **asking: Unpack[ReserveOptions]) -> int:
        """The number of the reservation under the key of `request`: one that was made before, or a new one."""
        return self._store.reserve_once(self._build_request(**asking), lambda parts: (cost, None))

    def settle(self, receipt: Receipt, cost: Cost, *, answer: object = None) -> Amount:
        """Charge what was in fact paid, by the theorem of the mechanism, and keep the answer (plain JSON).

        Gives back the steps that were not drawn, never the probability of failure. On any error the whole
        reservation stays charged. Returns what the analyst's own account paid; the data set's where they have none.
        """
        return self.settlement(receipt, cost, answer=answer).paid

    def settlement(self, receipt: Receipt, cost: Cost, *, answer: object = None) -> Settlement:
        """`settle`, and how the account stands that paid."""
        canonical_json(answer)
        return self._store.settle(receipt, cost, answer)

    def void(self, receipt: Receipt) -> None:
        """Give a reservation back in full, where nothing was read for it.

        Only where it is certain, whatever the rows are, that no statement of the question reached the engine: then no
        output depends on a row, and there is nothing to pay for. In any doubt leave it: it stays charged.
        """
        self._store.void(receipt)

    @with_typed_dict_signature(ReserveOptions, {})
    def find_or_reserve(
        self,
        cost: Cost,
        *,
        usable: Callable[[object], bool] = lambda _: True,
        patience: float = 0.0,
        **asking: Unpack[ReserveOptions],
    ) -> StoredAnswer | Receipt:
        """The stored answer, as `find_answer` gives it, or else a reservation, as `reserve` makes it; both in one
        transaction, so that what was paid for a moment ago is not paid again.

        Where the same was reserved less than `patience` seconds ago, by this process or another, its answer is waited
        for. Under the key of `request` something is asked once: `RequestRefused` where it was another question, or
        this one and its answer was lost.
        """
        order = self._build_request(**asking)
        found = self._store.find_or_reserve(order, lambda parts: (cost, None), usable, patience)
        return found if isinstance(found, Receipt) else _stored_answer(found)

    def find_request(self, request: RequestKey, patience: float = 0.0) -> StoredAnswer | None:
        """The answer to what was asked under this key, waited for as in `find_or_reserve`; None where nothing was.

        Raises:
            RequestRefused: It is the key of another question, or of one that was charged and lost its answer.
        """
        found = self._store.find_request(request, patience)
        return None if found is None else _stored_answer(found)

    def note_lost(self, receipt: Receipt) -> None:
        """Let no question of this process wait for a reservation whose question has failed; it stays charged."""
        self._store.note_lost(receipt)

    def editions(self) -> dict[str, tuple[Entry, list[Entry]]]:
        """Reservations of editions of reports by the key of their request, and what took up or ended each."""
        return self._store.editions(self.dataset)

    def find_answer(
        self,
        question: Mapping[str, Any],
        data_version: str | None,
        *,
        analyst: str | None = None,
        record: bool = True,
        usable: Callable[[object], bool] = lambda _: True,
    ) -> StoredAnswer | None:
        """The stored answer to the same question on the same data version, at no cost, or None.

        Without a version nothing is ever served again. An analyst with a budget of their own is served what they paid
        for, and nothing that others did. An answer that is not `usable` is not served.
        """
        order = self._build_request(question, data_version, analyst, None)
        entry = self._store.find_answer(order, usable=usable, record=record)
        return None if entry is None else _stored_answer(entry)

    def answer(self, number: int, *, analyst: str | None = None) -> StoredAnswer | None:
        """The answer settled under a receipt's number, or None. Whom it may be shown to is the caller's business.

        With `analyst`, the number is the one that they were told, which counts their own questions.
        """
        receipt = number if analyst is None else self._store.reservation_of_number(analyst, number)
        entry = None if receipt is None else self._store.settlement(receipt)
        return None if entry is None or entry.dataset != self.dataset else _stored_answer(entry)

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
        """Every entry about this data set, oldest first; only the last of them, only one analyst's, if asked for."""
        return self._store.entries(self.dataset, last, analyst)

    def verify(self, checksum: str | None = None) -> Verification:
        """Check the whole database (all data sets): every hash, link and sum; and a checksum kept elsewhere."""
        return self._store.verify(checksum)

    @property
    def address(self) -> str:
        """Where the ledger is, without a password."""
        return self._store.address

    def _build_request(
        self,
        question: Mapping[str, Any] | None = None,
        data_version: str | None = None,
        analyst: str | None = None,
        mechanism: str | None = None,
        reach: PeriodCharge | None = None,
        request: RequestKey | None = None,
    ) -> LedgerRequest:
        if analyst is not None:
            _check_name(analyst, "analyst")
        canonical_json(question)
        return LedgerRequest(self.dataset, analyst, question or {}, data_version, mechanism, reach, request)


def _stored_answer(entry: Entry) -> StoredAnswer:
    """The answer in a settlement."""
    assert entry.receipt is not None, "a settlement names its reservation"
    told = entry.receipt if entry.number is None else entry.number
    return StoredAnswer(entry.receipt, told, entry.dataset, entry.analyst, entry.content["answer"], entry.time)


def _choose_dataset(store: Store, dataset: str | None) -> str:
    known = store.datasets()
    if dataset in known:
        return str(dataset)
    if dataset is None and len(known) == 1:
        return known.pop()
    store.close()
    listed = ", ".join(map(repr, known)) or "none"
    wanted = "name one of its data sets" if dataset is None else f"no budget is open for data set {dataset!r}"
    raise LedgerError(f"ledger {store.address}: {wanted}; it has: {listed}")


def _open_store(
    make: Callable[[Address, Clock, float, Address | None], Store],
    address: Address,
    clock: Clock = utc_now,
    timeout: float = PATIENCE,
    witness: Address | None = None,
) -> Store:
    from crestline.ledger.storage.witness import witness_address

    return make(address, clock, timeout, witness_address(witness))


def _check_user_name(user: str | None) -> str | None:
    if user is not None and (not isinstance(user, str) or not user):
        raise ParameterError("user must name the column that holds the user")
    return user


def _check_budget(budget: Budget) -> Budget:
    if not isinstance(budget, Budget):
        raise ParameterError(f"a budget is written Budget(epsilon=2, delta=1e-7), not {budget!r}")
    return budget


def _check_name(name: str, what: str) -> str:
    if not isinstance(name, str) or not name or len(name) > 200 or not name.isprintable():
        raise ParameterError(f"{what} must be a name of 1 to 200 printable characters")
    return name
