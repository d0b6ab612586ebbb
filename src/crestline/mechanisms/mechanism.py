"""The protocol that every mechanism implements, and the base class of those in the catalogue."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

from crestline.guarantees.accountants import total
from crestline.guarantees.cost import Cost
from crestline.guarantees.guarantee import Guarantee
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.selection import Selection
from crestline.randomness.entropy import Entropy


@runtime_checkable
class Mechanism(Protocol):
    """What a mechanism must have: a promise (`guarantee`) and a random selection that keeps it (`release`)."""

    def guarantee(self) -> Guarantee: ...

    def release(self, histogram: Histogram, entropy: Entropy) -> Selection: ...


def fast_release(mechanism: Any) -> Callable[[Histogram, int, Entropy], list[Any]] | None:
    """`release_many`, unless `release` was redefined beneath it: then `release` alone is what people run."""
    many = getattr(mechanism, "release_many", None)
    if not callable(many):
        return None
    for kind in type(mechanism).__mro__:
        if "release_many" in vars(kind):
            break
        if "release" in vars(kind):
            return None
    result: Callable[[Histogram, int, Entropy], list[Any]] = many
    return result


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
        """One release: a random selection that is charged before it is made."""
        (selection,) = self.release_many(histogram, 1, entropy)
        return selection
