"""What mechanisms share that see only the `k_bar` largest counts."""

from __future__ import annotations

from crestline.fields import Whole, field, value
from crestline.mechanisms.mechanism import BuiltIn
from crestline.mechanisms.slots import item_number, slot_number


@value
class OverSlots(BuiltIn):
    """A mechanism that sees the `k_bar` largest counts and names at most k of their items."""

    k: Whole = field(item_number)
    k_bar: Whole = field(slot_number)
