"""Mechanisms of other authors, each wrapped once as an `AdoptedMechanism`.

Another author writes two methods (`guarantee`, `release`) and may state more attributes. Only this module and the
auditor test for attributes that may be missing; all other code sees a `BuiltIn`.
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
    """Return the mechanism as an `AnyMechanism`: crestline's own unchanged, any other wrapped.

    Args:
        mechanism: The object.
        otherwise: Message of the error if it is not a mechanism.

    Raises:
        MechanismError: It has no `guarantee()` and `release()`.
    """
    if isinstance(mechanism, type) or not isinstance(mechanism, Mechanism):
        raise MechanismError(otherwise)
    return mechanism if isinstance(mechanism, AnyMechanism) else AdoptedMechanism(mechanism)


def adopt_slot_mechanism(mechanism: object, otherwise: str = _NEEDED) -> BuiltIn:
    """`adopt` for a mechanism that sees slots; raises `MechanismError` for one that sees pairs."""
    made = adopt(mechanism, otherwise)
    if not isinstance(made, BuiltIn):
        raise MechanismError(f"{otherwise}; {type(mechanism).__name__} reads pairs of a user and an item")
    return made


class _StatedAttribute(Generic[T]):
    """Attribute that the adopted object may state under the same name; None otherwise."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, adopted: AdoptedMechanism, owner: type) -> T:
        return cast("T", getattr(adopted.mechanism, self._name, None))


@dataclass(frozen=True, repr=False)
class AdoptedMechanism(BuiltIn):
    """Mechanism of another author. Attributes are read from the object on each access; none is cached.

    Its identity, text and comparisons are those of the object (`unwrap_adopted`).
    """

    mechanism: Mechanism

    def __post_init__(self) -> None:
        """Skip the checks of the base class: the object may state any `k` and `k_bar`."""

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
    def slack(self) -> Fraction:  # type: ignore[override] # the field of a frozen value is never assigned
        return non_negative_number(self._stated_attribute("slack") or 0, "slack")

    @property
    def domain(self) -> Domain | None:
        return domain_of(self.mechanism)

    @property
    def view(self) -> View:
        return view_of(self.mechanism)

    @property
    def margin(self) -> FunctionOfChance | None:
        """Its margin. If it wraps a part called `mechanism`, it has a margin only if that part has one."""
        part = self._stated_attribute("mechanism")
        if part is not None and getattr(part, "margin", None) is None:
            return None
        margin: FunctionOfChance | None = self._stated_attribute("margin")
        return margin

    def cost(self) -> Cost:
        """The steps that it states, or those of its promise.

        Raises:
            MechanismError: `cost()` does not return a `Cost`.
        """
        stated = self._stated_attribute("cost")
        if stated is None:
            return cost_of(self.mechanism.guarantee())
        cost = stated()
        if not isinstance(cost, Cost):
            raise MechanismError(
                "cost() must return a Cost, as in the mechanisms of the catalogue; or leave cost() out"
            )
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
        """Return `n` releases, for any view that it states."""
        if isinstance(seen, Histogram):
            return super().release_seen(seen, n, entropy)
        theirs = cast(PairMechanism, self.mechanism)
        return [theirs.release(seen, entropy) for _ in range(n)]

    def release_groups(self, table: SeenInGroups, entropy: Entropy) -> list[Selection]:
        """Return one release for each group in turn, for any view that it states."""
        return [selection for seen in table.histograms() for selection in self.release_seen(seen, 1, entropy)]

    def _stated_attribute(self, name: str) -> Any:
        return getattr(self.mechanism, name, None)


def unwrap_adopted(mechanism: object) -> object:
    """The object that its author wrote: the adopted one, or the mechanism itself."""
    return mechanism.mechanism if isinstance(mechanism, AdoptedMechanism) else mechanism


def release_many_or_none(mechanism: object) -> Many | None:
    """`release_many`, or None where a subclass redefines only `release`: then `release` is the mechanism."""
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
    """`known` if the mechanism needs a public list, `unknown` if it needs a cut one; None: not stated."""
    return domain_or_none(getattr(mechanism, "domain", None)) or catalogue_domain(type(unwrap_adopted(mechanism)))


def stated_contribution(mechanism: object) -> int | None:
    """Bound on the items of one user that the mechanism itself states; see `smallest_contribution`.

    Raises:
        MechanismError: The stated bound is not a whole number of at least 1.
    """
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
    """A promise as steps; one implementation for each kind is registered below."""
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
    # outside an event of probability δ it is pure (Kairouz et al. 2015)
    return repeat_step(PureDP(promise.epsilon, promise.theorem), delta=promise.delta)
