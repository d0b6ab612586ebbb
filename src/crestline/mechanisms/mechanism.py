"""The protocol every mechanism keeps, and the shape that those of the catalogue share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Protocol, runtime_checkable

from crestline.guarantees.accountants import total
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


class Catalogued(ABC):
    """A mechanism of the catalogue: a frozen value whose cost is known step by step.

    A subclass states `theorem`, its `cost()` and its `release_many()`; the rest follows. `slack` is the failure
    probability that the accountant may use to add its steps up more tightly; it is part of the reported δ.
    """

    theorem: str
    slack: Fraction = Fraction(0)

    @abstractmethod
    def cost(self) -> Cost:
        """The worst case, step by step: what is reserved before a row is read (P10.1)."""

    @abstractmethod
    def release_many(self, histogram: Histogram, n: int, entropy: Entropy) -> list[Selection]:
        """`n` independent releases, vectorised. Each is a release of its own and costs as much."""

    def settled(self, selection: Selection) -> Cost:
        """What must be charged once the selection is known; less than `cost()` only where a theorem says so (P10.6)."""
        return self.cost()

    def guarantee(self) -> Guarantee:
        """The promise for one release, by the tightest accountant that applies."""
        return total(self.cost(), self.slack, theorem=self.theorem)

    def release(self, histogram: Histogram, entropy: Entropy) -> Selection:
        """One release."""
        return self.release_many(histogram, 1, entropy)[0]
