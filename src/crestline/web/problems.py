"""What is said when a request is not answered: one shape, and words that depend on the call and the ledger alone."""

from __future__ import annotations

from typing import Any

from crestline.errors import (
    BudgetError,
    BudgetExhausted,
    BudgetMismatch,
    CrestlineError,
    LedgerError,
    SourceError,
    SourceUnavailable,
    was_charged,
)
from crestline.sql_questions.refusals import SqlError

NOT_ALLOWED = "forbidden"


class Problem(Exception):
    """A request that is not answered.

    `charged`: it may have been charged all the same. `reason` is for operators, in the log.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        charged: bool = False,
        wait: int | None = None,
        reason: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.charged = charged
        self.wait = wait
        self.reason = reason

    def to_json(self) -> dict[str, Any]:
        """The body of the response, but for the number of the request."""
        return {"code": self.code, "message": self.message}


def forbidden_problem() -> Problem:
    """The one answer to everybody who may not: whether the thing exists, or the token does, is not said."""
    return Problem(
        403,
        NOT_ALLOWED,
        "This is not there, or not for this token: check the token, the name of the data set, its columns (GET "
        "/v1/datasets lists yours) and the number of the answer.",
    )


_SHARED = (
    "Your own budget could pay for this; the one that this data set has for all its analysts together cannot. How much "
    "is left of it is not said, because that would tell what others spent. Ask for less, or ask the owner."
)


def problem_of(error: CrestlineError) -> Problem:
    """A refusal of the core in the words of the service. Addresses of sources and ledgers stay out of it."""
    if isinstance(error, BudgetExhausted) and error.shared:
        return Problem(402, "budget_exhausted", _SHARED)
    if isinstance(error, BudgetExhausted):
        return Problem(402, "budget_exhausted", str(error))
    if isinstance(error, BudgetMismatch):
        return Problem(422, "budget_mismatch", str(error))
    if isinstance(error, BudgetError):
        return forbidden_problem()
    if isinstance(error, SourceUnavailable):
        return Problem(
            503,
            "source_unavailable",
            "The data cannot be reached at the moment. Nothing was charged; try again later.",
            wait=error.wait,
            reason=str(error),
        )
    if isinstance(error, SourceError):
        return Problem(
            503,
            "source_unavailable",
            "The data did not answer. If the question was charged, it stays charged; ask the owner to look.",
            charged=was_charged(error),
            reason=str(error),  # the class of an engine's error, and nothing that it said
        )
    if isinstance(error, LedgerError):
        return Problem(
            503,
            "ledger_unavailable",
            "The ledger did not answer. If the question was charged, it stays charged; ask the owner to look.",
            charged=True,  # it may have been written all the same
            reason=str(error),  # it names the ledger or its witness, and nothing of a question
        )
    if isinstance(error, SqlError):
        return Problem(422, error.sqlstate, str(error))
    return Problem(422, "bad_question", str(error), charged=was_charged(error))


def internal_error() -> Problem:
    """An error that is ours, not the caller's. Its own words may quote private rows, and go nowhere."""
    return Problem(
        500, "internal_error", "An internal error of the service. What was reserved stays charged.", charged=True
    )
