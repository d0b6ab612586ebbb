"""Everything crestline raises on purpose.

CrestlineError
├── ParameterError          a number or an option of the call is not usable
├── QuestionError           the question cannot be asked of this source (column, filter, file, table)
├── SourceError             the engine did not answer (unreachable, timed out, refused)
│   ├── SourceUnavailable   there is no connection to it; known before anything was charged
│   ├── NotSent             it was lost after the charge and before the question was sent: the charge is given back
│   ├── StatementTimeout    the statement took longer than it may
│   └── EngineDefect        the engine failed on what we asked: a defect of crestline
├── HistogramError          the mechanism cannot work on this kind of histogram (known or unknown domain)
├── MechanismError          a mechanism is unknown, or does not keep the contract of the framework
├── BudgetError             the ledger refuses
│   ├── BudgetExhausted     what is asked does not fit what is left; carries both
│   └── BudgetMismatch      this release cannot be charged to this budget
└── LedgerError             the ledger cannot be read or written, or does not verify

A message says what to do next. It may repeat the call; it never depends on private rows: no counts, no item
names, not even whether a table was empty (an empty table is a legal histogram).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class CrestlineError(Exception):
    """The root: catch this to catch everything crestline raises on purpose."""


def was_charged(error: BaseException) -> bool:
    """Whether an error was raised after the question had been charged."""
    return bool(getattr(error, "charged", False))


@contextmanager
def mark_charged() -> Iterator[None]:
    """Around everything that follows a charge: whatever is raised inside says that it was charged."""
    try:
        yield
    except BaseException as error:
        error.charged = True  # type: ignore[attr-defined] # read by `was_charged`
        raise


class ParameterError(CrestlineError, ValueError):
    """A number or an option of the call is not usable."""


class QuestionError(CrestlineError, ValueError):
    """The question cannot be asked of this source."""


class SourceError(CrestlineError):
    """The engine did not answer."""


class SourceUnavailable(SourceError):
    """There is no connection to the engine. Known before a question is charged; `wait` seconds later it may be back."""

    def __init__(self, why: str, *, wait: int = 5) -> None:
        super().__init__(f"{why}; nothing was charged, try again in {wait} seconds")
        self.wait = wait


class NotSent(SourceError):
    """The engine was lost before anything of the question was sent to it. No row was read: what was reserved is given
    back, whatever the rows are."""


class StatementTimeout(SourceError):
    """The engine was told to give a statement up, because it took longer than it may."""


class EngineDefect(SourceError):
    """The engine failed on what we asked: a defect of crestline. `kind` is the class of the engine's error."""

    def __init__(self, kind: str) -> None:
        super().__init__(
            f"internal error: the engine failed on a statement of ours ({kind}), which must not happen whatever the "
            "rows are (unless the table is a view that fails by itself). What was reserved stays charged. Please "
            "report it, with the types of the columns; the engine's own log has its words, which may quote rows"
        )
        self.kind = kind


class HistogramError(CrestlineError, TypeError):
    """The mechanism cannot work on this kind of histogram."""


class MechanismError(CrestlineError, ValueError):
    """A mechanism is unknown, or does not keep the contract of the framework."""


class BudgetError(CrestlineError):
    """The ledger refuses."""


class BudgetExhausted(BudgetError):
    """What is asked does not fit what is left.

    `requested` and `remaining` are costs in the unit of the budget; both depend on the ledger alone. `shared` says that
    it is a budget which the asker, who has one of their own, shares with others: what is left of it tells what they
    spent, and is not for the asker.
    """

    def __init__(self, message: str, *, requested: Any = None, remaining: Any = None) -> None:
        super().__init__(message)
        self.requested = requested
        self.remaining = remaining
        self.shared = False


class BudgetMismatch(BudgetError):
    """This release cannot be charged to this budget: it is of another kind, or about other users."""


class LedgerError(CrestlineError):
    """The ledger cannot be read or written, or does not verify."""
