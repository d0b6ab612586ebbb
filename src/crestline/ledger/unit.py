"""The privacy unit of a data set: one user column for everything that is charged to its budget (pure).

A budget adds up promises about the presence of one user. Promises about two kinds of users (customers and staff, say)
do not add up to a promise about either, so the first question of a data set decides for all that follow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crestline.errors import BudgetMismatch


def named_user(question: Mapping[str, Any] | None) -> str | None:
    """The user column that a question names; None for a charge of another kind, which names none."""
    user = (question or {}).get("user")
    return user if isinstance(user, str) and user else None


def check_user(dataset: str, pinned: str | None, wanted: str | None) -> None:
    """Refuse a question about other users than those of the data set."""
    if pinned is not None and wanted is not None and wanted != pinned:
        raise BudgetMismatch(
            f"the budget of data set {dataset!r} is about the users of column {pinned!r}, and this names the column "
            f"{wanted!r}: promises about different users do not add up; ask with user={pinned!r}, or open a budget "
            "under another name"
        )
