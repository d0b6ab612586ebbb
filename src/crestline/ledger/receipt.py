"""What goes into the ledger and what comes back: an order, a receipt, a stored answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias, TypedDict

from crestline.ledger.amount import Amount
from crestline.ledger.periods import Reach
from crestline.ledger.rules import Balance

Clock: TypeAlias = Callable[[], datetime]


class Asking(TypedDict, total=False):
    """What may be said of a release when its cost is reserved; `Ledger.reserve` says what each means."""

    question: Mapping[str, Any] | None
    data_version: str | None
    analyst: str | None
    mechanism: str | None
    reach: Reach | None


@dataclass(frozen=True)
class Order:
    """Who asks what. All of it is kept in the ledger; none of it may depend on private rows."""

    dataset: str
    analyst: str | None
    question: Mapping[str, Any]
    data_version: str | None
    mechanism: str | None
    reach: Reach | None = None  # which periods, where the budget is by period


@dataclass(frozen=True)
class Receipt:
    """Proof of a reservation: what settles it. `k` is set where the largest k that fits was asked for.

    `reserved` is what the analyst's own account holds for it; the data set's where they have none.
    """

    number: int
    hash: str
    dataset: str
    analyst: str | None
    reserved: Amount
    k: int | None = None
    reach: Reach | None = None


@dataclass(frozen=True)
class Settlement:
    """What the asker's own account paid (the data set's where they have none), and how it stands now; over several
    periods, the one that has the least left."""

    paid: Amount
    balance: Balance


@dataclass(frozen=True)
class StoredAnswer:
    """An answer that was paid for: `number` is its receipt's, `answer` what `settle` was given, `time` when."""

    number: int
    dataset: str
    analyst: str | None
    answer: Any
    time: str
