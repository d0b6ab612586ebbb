"""The protocol every mechanism keeps, ours or a third party's."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from crestline.guarantees.cost import Cost
from crestline.guarantees.guarantee import Guarantee
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.selection import Selection
from crestline.randomness.entropy import Entropy


@runtime_checkable
class Mechanism(Protocol):
    """The least a mechanism is: a promise, and a random choice that keeps it. Third parties need no more."""

    def guarantee(self) -> Guarantee: ...

    def release(self, histogram: Histogram, entropy: Entropy) -> Selection: ...


class Catalogued(Mechanism, Protocol):
    """What every mechanism of the catalogue offers besides.

    `cost()` is the worst case, reserved before a row is read; `settled(selection)` is what a named theorem lets the
    ledger charge once the selection is known (pay-what-you-get), and equals `cost()` where there is no such theorem.
    """

    def cost(self) -> Cost: ...

    def settled(self, selection: Selection) -> Cost: ...

    def release_many(self, histogram: Histogram, n: int, entropy: Entropy) -> list[Selection]: ...
