"""Base class of mechanisms that see only the `k_bar` largest counts."""

from __future__ import annotations

from crestline.exact_fields import Whole, field, value
from crestline.mechanisms.mechanism import BuiltIn
from crestline.mechanisms.slot_checks import check_k, check_k_bar


@value
class OverSlots(BuiltIn):
    """A mechanism that sees the `k_bar` largest counts and names at most k of their items.

    Attributes:
        k: Items wanted.
        k_bar: Slots that it sees.
    """

    k: Whole = field(check_k)
    k_bar: Whole = field(check_k_bar)
