"""Errors that crestline raises on purpose.

CrestlineError
├── ParameterError          a number or an option of the call is not usable
├── QuestionError           the source cannot answer the question (column, filter, file, table)
├── SourceError             the engine did not answer (unreachable, timed out, refused)
│   ├── SourceUnavailable   there is no connection to the engine; nothing was charged
│   ├── NotSent             the connection was lost after the charge, before a statement was sent: it is given back
│   ├── StatementTimeout    a statement exceeded its time limit
│   └── EngineDefect        the engine failed on a statement of crestline: a defect of crestline
├── HistogramError          the mechanism does not take this kind of histogram (known or unknown domain)
├── MechanismError          a mechanism is unknown, or breaks the contract of the framework
├── BudgetError             the ledger refuses
│   ├── BudgetExhausted     the cost exceeds the remaining budget; carries both
│   └── BudgetMismatch      this release cannot be charged to this budget
└── LedgerError             the ledger cannot be read or written, or fails verification

A message states what to do next. It may repeat the call; it never depends on private rows: no counts, no item names,
not even whether a table was empty (an empty table is a legal histogram).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class CrestlineError(Exception):
    """Base of all errors that crestline raises on purpose."""


def was_charged(error: BaseException) -> bool:
    """Whether an error was raised after the question had been charged."""
    return bool(getattr(error, "charged", False))


@contextmanager
def mark_charged() -> Iterator[None]:
    """Mark every exception raised inside as raised after a charge, for `was_charged`."""
    try:
        yield
    except BaseException as error:
        error.charged = True  # type: ignore[attr-defined] # read by `was_charged`
        raise


class ParameterError(CrestlineError, ValueError):
    """A number or an option of the call is not usable."""


class QuestionError(CrestlineError, ValueError):
    """The source cannot answer the question."""


class SourceError(CrestlineError):
    """The engine did not answer."""


class SourceUnavailable(SourceError):
    """There is no connection to the engine; raised before a question is charged.

    Attributes:
        wait: Seconds after which another attempt is reasonable.
    """

    def __init__(self, why: str, *, wait: int = 5) -> None:
        super().__init__(f"{why}; nothing was charged, try again in {wait} seconds")
        self.wait = wait


class NotSent(SourceError):
    """The connection was lost before any statement of the question was sent.

    No row was read, so the reservation is given back, whatever the rows are.
    """


class StatementTimeout(SourceError):
    """A statement exceeded its time limit, and the engine was told to cancel it."""


class EngineDefect(SourceError):
    """The engine failed on a statement of crestline, which is a defect of crestline.

    Attributes:
        kind: Class name of the engine's error; its text may quote rows.
    """

    def __init__(self, kind: str) -> None:
        super().__init__(
            f"internal error: the engine failed on a statement of crestline ({kind}), which must not happen for any "
            "rows (unless the table is a view that fails by itself). The reservation stays charged. Please report it, "
            "with the types of the columns; the message is in the engine's own log, and may quote rows"
        )
        self.kind = kind


class HistogramError(CrestlineError, TypeError):
    """The mechanism does not take this kind of histogram."""


class MechanismError(CrestlineError, ValueError):
    """A mechanism is unknown, or breaks the contract of the framework."""


class BudgetError(CrestlineError):
    """The ledger refuses."""


class BudgetExhausted(BudgetError):
    """The cost exceeds the remaining budget.

    Attributes:
        requested: Cost, in the unit of the budget.
        remaining: What may still be charged; like `requested` it depends on the ledger alone.
        shared: Whether the budget is shared with others by an analyst who has one of their own: what remains then
            reveals what others spent, and is not shown to the analyst.
    """

    def __init__(self, message: str, *, requested: Any = None, remaining: Any = None) -> None:
        super().__init__(message)
        self.requested = requested
        self.remaining = remaining
        self.shared = False


class BudgetMismatch(BudgetError):
    """This release cannot be charged to this budget, which is of another kind or for other users."""


class LedgerError(CrestlineError):
    """The ledger cannot be read or written, or fails verification."""
