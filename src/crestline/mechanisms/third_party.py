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
from crestline.exact_numbers import non_negative_number, whole_number
from crestline.guarantees.cost import Cost, Step, repeat_step
from crestline.guarantees.guarantee import (
    ZCDP,
    ApproxDP,
    BoundedRange,
    GaussianDP,
    Guarantee,
    LossInterval,
    PureDP,
    WorstOfSteps,
)
from crestline.histogram.histogram import Histogram
from crestline.histogram.view_kinds import Seen, SeenInGroups, View, view_of
from crestline.mechanisms.mechanism import (
    AnyMechanism,
    BuiltIn,
    Domain,
    FunctionOfChance,
    Law,
    LengthLaw,
    Mechanism,
    PairMechanism,
    catalogue_domain,
    domain_or_none,
    is_ordered_in_catalogue,
)
from crestline.mechanisms.selection import Selection
from crestline.randomness.entropy import Entropy

T = TypeVar("T")
Many = Callable[[Seen, int, Entropy], list[Any]]

_NEEDED = "a mechanism needs guarantee() and release(histogram, entropy)"


def adopt(mechanism: object, otherwise: str = _NEEDED) -> AnyMechanism:
    """The mechanism as the rest of crestline sees it; refused in the words of `otherwise` when it is none."""
    if isinstance(mechanism, type) or not isinstance(mechanism, Mechanism):
        raise MechanismError(otherwise)
    return mechanism if isinstance(mechanism, AnyMechanism) else AdoptedMechanism(mechanism)


def adopt_slot_mechanism(mechanism: object, otherwise: str = _NEEDED) -> BuiltIn:
    """The same for a part of a mechanism that looks at slots; one that looks at pairs is refused."""
    made = adopt(mechanism, otherwise)
    if not isinstance(made, BuiltIn):
        raise MechanismError(f"{otherwise}; {type(mechanism).__name__} looks at pairs of a user and an item")
    return made


class _StatedAttribute(Generic[T]):
    """An attribute that is whatever the adopted object states under the same name, and None where it states nothing."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, adopted: AdoptedMechanism, owner: type) -> T:
        return cast("T", getattr(adopted.mechanism, self._name, None))


@dataclass(frozen=True, repr=False)
class AdoptedMechanism(BuiltIn):
    """Somebody else's mechanism. Everything is read from the object when it is asked for, and nothing is kept.

    To compare, to hash, to show or to identify it is to do so with the object (`unwrap_adopted`).
    """

    mechanism: Mechanism

    def __post_init__(self) -> None:
        """No fields are compared: a mechanism of others may state what it likes."""

    def __repr__(self) -> str:
        return repr(self.mechanism)

    k = _StatedAttribute[int | None]()
    k_bar = _StatedAttribute[int | None]()
    law = _StatedAttribute[Law | None]()
    length_law = _StatedAttribute[LengthLaw | None]()
    spread = _StatedAttribute[FunctionOfChance | None]()

    @property
    def contribution(self) -> int | None:
        return stated_contribution(self.mechanism)

    @property
    def counts(self) -> bool:
        return bool(self._stated_attribute("counts"))

    @property
    def ordered(self) -> bool:
        stated: bool | None = self._stated_attribute("ordered")
        return is_ordered_in_catalogue(type(self.mechanism)) if stated is None else bool(stated)

    @property
    def slack(self) -> Fraction:  # type: ignore[override] # nobody writes to a frozen value
        return non_negative_number(self._stated_attribute("slack") or 0, "slack")

    @property
    def domain(self) -> Domain | None:
        return domain_of(self.mechanism)

    @property
    def view(self) -> View:
        return view_of(self.mechanism)

    @property
    def margin(self) -> FunctionOfChance | None:
        """Its margin. Where it wraps a part called `mechanism`, it has a margin only if that part has one."""
        part = self._stated_attribute("mechanism")
        if part is not None and getattr(part, "margin", None) is None:
            return None
        margin: FunctionOfChance | None = self._stated_attribute("margin")
        return margin

    def cost(self) -> Cost:
        """The steps that it states, or those that its promise amounts to."""
        stated = self._stated_attribute("cost")
        if stated is None:
            return cost_of(self.mechanism.guarantee())
        cost = stated()
        if not isinstance(cost, Cost):
            raise MechanismError("cost() must be a Cost, as the mechanisms of the catalogue state it; leave it out")
        return cost

    def settlement_cost(self, selection: Selection) -> Cost:
        settle = self._stated_attribute("settlement_cost")
        cost: Cost = self.cost() if settle is None else settle(selection)
        return cost

    def guarantee(self) -> Guarantee:
        return self.mechanism.guarantee()

    def release(self, histogram: Histogram, entropy: Entropy) -> Selection:
        return self.mechanism.release(histogram, entropy)

    def release_many(self, histogram: Histogram, n: int, entropy: Entropy) -> list[Selection]:
        many = release_many_or_none(self.mechanism)
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

    def _stated_attribute(self, name: str) -> Any:
        return getattr(self.mechanism, name, None)


def unwrap_adopted(mechanism: object) -> object:
    """The object that somebody wrote: what was adopted, or the mechanism itself."""
    return mechanism.mechanism if isinstance(mechanism, AdoptedMechanism) else mechanism


def release_many_or_none(mechanism: object) -> Many | None:
    """`release_many`, or None where a subclass redefines `release` alone: then `release` is what people run."""
    written = unwrap_adopted(mechanism)
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
    return domain_or_none(getattr(mechanism, "domain", None)) or catalogue_domain(type(unwrap_adopted(mechanism)))


def stated_contribution(mechanism: object) -> int | None:
    """The bound on the items of one user that the mechanism itself states; `smallest_contribution` asks its parts
    too."""
    stated = getattr(mechanism, "contribution", None)
    if stated is None:
        return None
    try:
        return whole_number(stated, "contribution")
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
@cost_of.register(WorstOfSteps)
def _(promise: Step) -> Cost:
    return repeat_step(promise)


@cost_of.register
def _(promise: ZCDP) -> Cost:
    return repeat_step(ZCDP(promise.rho, theorem=promise.theorem), delta=promise.delta)


@cost_of.register
def _(promise: ApproxDP) -> Cost:
    # outside an event of probability δ it is as good as pure (Kairouz et al. 2015)
    return repeat_step(PureDP(promise.epsilon, promise.theorem), delta=promise.delta)
