"""Two ways of keeping books that break the ledger's theorem (P10.5, P10.6)."""

from __future__ import annotations

from typing import Any

from crestline.mechanisms.framework.restricted import own_cost
from crestline.mechanisms.selection import Selection


def charged_afterwards(question: Any, *, source: Any, chosen: Any, entropy: Any, ledger: Any) -> Any:
    """The release is made first and charged when it went well: what crashes in between was free."""
    with source.reading(question, bytes(32)) as reading:
        selection = chosen.mechanism.release(reading.histogram, entropy)
    receipt = ledger.reserve(own_cost(chosen.mechanism))
    ledger.settle(receipt, chosen.mechanism.settled(selection))
    return selection


def stops_for_nothing(question: Any, *, source: Any, chosen: Any, entropy: Any, ledger: Any) -> Any:
    """Only named items are paid for: the stop, which was drawn as well, is free."""
    receipt = ledger.reserve(own_cost(chosen.mechanism))
    with source.reading(question, bytes(32)) as reading:
        selection = chosen.mechanism.release(reading.histogram, entropy)
    named = Selection(selection.items, stopped=False)
    ledger.settle(receipt, chosen.mechanism.settled(named))
    return selection
