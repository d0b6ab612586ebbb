"""Where a mechanism comes in: one of crestline's own is taken as it is, anybody else's is wrapped once.

A third party writes two methods (`guarantee`, `release`) and may state more. Only this module and the auditor look for
what an object may or may not have; everybody else sees a `BuiltIn`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from typing import Any, Generic, TypeVar, cast

from crestline.errors import CrestlineError, MechanismError
from crestline.guarantees.cost import Cost, Step, steps
from crestline.guarantees.guarantee import (
    ZCDP,
    ApproxDP,
    BoundedRange,
    Either,
    GaussianDP,
    Guarantee,
    LossInterval,
    PureDP,
)
from crestline.histogram.histogram import Histogram
from crestline.histogram.views import Seen, SeenInGroups, View, view_of
from crestline.mechanisms.mechanism import (
    AtChance,
    BuiltIn,
    Domain,
    Law,
    LengthLaw,
    Mechanism,
    OfAnyView,
    PairMechanism,
    as_domain,
    listed_as_ordered,
    listed_domain,
)
from crestline.mechanisms.selection import Selection
from crestline.parameters import not_negative, whole
from crestline.randomness.entropy import Entropy

T = TypeVar("T")
Many = Callable[[Seen, int, Entropy], list[Any]]

_NEEDED = "a mechanism needs guarantee() and release(histogram, entropy)"


def adopt(mechanism: object, otherwise: str = _NEEDED) -> OfAnyView:
    """The mechanism as the rest of crestline sees it; refused in the words of `otherwise` when it is none."""
    if isinstance(mechanism, type) or not isinstance(mechanism, Mechanism):
        raise MechanismError(otherwise)
    return mechanism if isinstance(mechanism, OfAnyView) else Adopted(mechanism)


def adopt_on_slots(mechanism: object, otherwise: str = _NEEDED) -> BuiltIn:
    """The same for a part of a mechanism that looks at slots; one that looks at pairs is refused."""
    made = adopt(mechanism, otherwise)
    if not isinstance(made, BuiltIn):
        raise MechanismError(f"{otherwise}; {type(mechanism).__name__} looks at pairs of a user and an item")
    return made


class _Stated(Generic[T]):
    """An attribute that is whatever the adopted object states under the same name, and None where it states nothing."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, adopted: Adopted, owner: type) -> T:
        return cast("T", getattr(adopted.mechanism, self._name, None))


@dataclass(frozen=True, repr=False)
class Adopted(BuiltIn):
    """Somebody else's mechanism. Everything is read from the object when it is asked for, and nothing is kept.

    To compare, to hash, to show or to identify it is to do so with the object (`original`).
    """

    mechanism: Mechanism

    def __post_init__(self) -> None:
        """No fields are compared: a mechanism of others may state what it likes."""

    def __repr__(self) -> str:
        return repr(self.mechanism)

    k = _Stated[int | None]()
    k_bar = _Stated[int | None]()
    law = _Stated[Law | None]()
    length_law = _Stated[LengthLaw | None]()
    spread = _Stated[AtChance | None]()

    @property
    def contribution(self) -> int | None:
        return bound_of(self.mechanism)

    @property
    def counts(self) -> bool:
        return bool(self._stated("counts"))

    @property
    def ordered(self) -> bool:
        stated: bool | None = self._stated("ordered")
        return listed_as_ordered(type(self.mechanism)) if stated is None else bool(stated)

    @property
    def slack(self) -> Fraction:  # type: ignore[override] # nobody writes to a frozen value
        return not_negative(self._stated("slack") or 0, "slack")

    @property
    def domain(self) -> Domain | None:
        return domain_of(self.mechanism)

    @property
    def view(self) -> View:
        return view_of(self.mechanism)

    @property
    def margin(self) -> AtChance | None:
        """Its margin. Where it wraps a part called `mechanism`, it has a margin only if that part has one."""
        part = self._stated("mechanism")
        if part is not None and getattr(part, "margin", None) is None:
            return None
        margin: AtChance | None = self._stated("margin")
        return margin

    def cost(self) -> Cost:
        """The steps that it states, or those that its promise amounts to."""
        stated = self._stated("cost")
        if stated is None:
            return cost_of(self.mechanism.guarantee())
        cost = stated()
        if not isinstance(cost, Cost):
            raise MechanismError("cost() must be a Cost, as the mechanisms of the catalogue state it; leave it out")
        return cost

    def settled(self, selection: Selection) -> Cost:
        settle = self._stated("settled")
        cost: Cost = self.cost() if settle is None else settle(selection)
        return cost

    def guarantee(self) -> Guarantee:
        return self.mechanism.guarantee()

    def release(self, histogram: Histogram, entropy: Entropy) -> Selection:
        return self.mechanism.release(histogram, entropy)

    def release_many(self, histogram: Histogram, n: int, entropy: Entropy) -> list[Selection]:
        many = fast_release(self.mechanism)
        return many(histogram, n, entropy) if many else [self.release(histogram, entropy) for _ in range(n)]

    def release_seen(self, seen: Seen, n: int, entropy: Entropy) -> list[Selection]:
        """Whatever it says that it looks at."""
        if isinstance(seen, Histogram):
            return super().release_seen(seen, n, entropy)
        theirs = cast(PairMechanism, self.mechanism)
        return [theirs.release(seen, entropy) for _ in range(n)]

    def release_groups(self, table: SeenInGroups, entropy: Entropy) -> list[Selection]:
        """Group after group, whatever it says that it looks at."""
        return [selection for seen in table.histograms() for selection in self.release_seen(seen, 1, entropy)]

    def _stated(self, name: str) -> Any:
        return getattr(self.mechanism, name, None)


def original(mechanism: object) -> object:
    """The object that somebody wrote: what was adopted, or the mechanism itself."""
    return mechanism.mechanism if isinstance(mechanism, Adopted) else mechanism


def fast_release(mechanism: object) -> Many | None:
    """`release_many`, or None where a subclass redefines `release` alone: then `release` is what people run."""
    written = original(mechanism)
    many = getattr(written, "release_many", None)
    if not callable(many):
        return None
    for kind in type(written).__mro__:
        if "release_many" in vars(kind):
            break
        if "release" in vars(kind):
            return None
    result: Many = many
    return result


def domain_of(mechanism: object) -> Domain | None:
    """`known` when the mechanism needs a public list, `unknown` when it needs a cut one; None: it does not say."""
    return as_domain(getattr(mechanism, "domain", None)) or listed_domain(type(original(mechanism)))


def bound_of(mechanism: object) -> int | None:
    """The bound on the items of one user that the mechanism itself states; `contribution_of` asks its parts too."""
    stated = getattr(mechanism, "contribution", None)
    if stated is None:
        return None
    try:
        return whole(stated, "contribution")
    except CrestlineError:
        raise MechanismError(
            f"{type(mechanism).__name__} must state its contribution as a whole number of at least 1, or as None"
        ) from None


@singledispatch
def cost_of(promise: object) -> Cost:
    """What a promise amounts to, in steps; each kind is registered below."""
    raise MechanismError("guarantee() must be a cl.PureDP, cl.ApproxDP, cl.ZCDP or cl.BoundedRange")


@cost_of.register(PureDP)
@cost_of.register(BoundedRange)
@cost_of.register(LossInterval)
@cost_of.register(GaussianDP)
@cost_of.register(Either)
def _(promise: Step) -> Cost:
    return steps(promise)


@cost_of.register
def _(promise: ZCDP) -> Cost:
    return steps(ZCDP(promise.rho, theorem=promise.theorem), delta=promise.delta)


@cost_of.register
def _(promise: ApproxDP) -> Cost:
    # outside an event of probability δ it is as good as pure (Kairouz et al. 2015)
    return steps(PureDP(promise.epsilon, promise.theorem), delta=promise.delta)
