"""Public usage of budgets and ledgers that must type-check."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import crestline as cl
from crestline.errors import BudgetExhausted
from crestline.mechanisms.limited_domain.gumbel import LimitedDomain
from crestline.mechanisms.selection import Selection


def keep_books(path: Path) -> str:
    budget = cl.Budget(epsilon=2, delta=1e-7, slack="2e-8")
    analysts = {"ann": cl.Budget("0.5", "1e-8", "pure")}
    mechanism = LimitedDomain(10, 100, "0.1", "1e-10")
    with cl.Ledger.create(path, budget, dataset="sales", analysts=analysts, clock=lambda: datetime.now(UTC)) as ledger:
        stored = ledger.find_answer({"k": 10}, "v1", analyst="ann")
        if stored is not None:
            return str(stored.answer)
        try:
            receipt = ledger.reserve(mechanism.cost(), question={"k": 10}, data_version="v1", analyst="ann")
        except BudgetExhausted as refusal:
            return f"{refusal.requested} {refusal.remaining}"
        paid = ledger.settle(receipt, mechanism.settlement_cost(Selection(("a",), True)), answer=["a"])
        loss: float = float(paid.loss)
        return f"{loss} {ledger.remaining('ann')} {ledger.verify().ok}"
