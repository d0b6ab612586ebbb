"""Two ways of keeping books that break the ledger's theorem (P10.5, P10.6)."""

from __future__ import annotations

from typing import Any

from crestline.mechanisms.selection import Selection


def charged_afterwards(prepared: Any, *, source: Any, entropy: Any, ledger: Any) -> Any:
    """The release is made first and charged when it went well: what crashes in between was free."""
    with source.reading(prepared.question, bytes(32)) as reading:
        selection = prepared.mechanism.release(reading.histogram, entropy)
    receipt = ledger.reserve(prepared.cost)
    ledger.settle(receipt, prepared.settlement_cost(selection))
    return selection


def stops_for_nothing(prepared: Any, *, source: Any, entropy: Any, ledger: Any) -> Any:
    """Only named items are paid for: the stop, which was drawn as well, is free."""
    receipt = ledger.reserve(prepared.cost)
    with source.reading(prepared.question, bytes(32)) as reading:
        selection = prepared.mechanism.release(reading.histogram, entropy)
    named = Selection(selection.items, stopped=False)
    ledger.settle(receipt, prepared.settlement_cost(named))
    return selection
