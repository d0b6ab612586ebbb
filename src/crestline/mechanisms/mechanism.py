"""The protocol that every mechanism implements, and the base class of crestline's own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self, TypeAlias, runtime_checkable

from crestline.errors import MechanismError
from crestline.exact_numbers import Exact
from crestline.guarantees import accountants
from crestline.guarantees.cost import Cost
from crestline.guarantees.guarantee import Guarantee
from crestline.histogram.histogram import Histogram
from crestline.histogram.histogram_table import HistogramTable, ListedTable
from crestline.histogram.pair_table import PairTable
from crestline.histogram.pairs import PairViews
from crestline.histogram.view_kinds import PAIRS, Seen, SeenInGroups, View
from crestline.mechanisms.catalogue import CATALOGUE, CatalogueEntry
from crestline.mechanisms.privacy_total import PrivacyTotal
from crestline.mechanisms.selection import Selection
from crestline.mechanisms.slot_checks import check_k_bar_not_below_k
from crestline.randomness.entropy import Entropy

KNOWN: Literal["known"] = "known"
UNKNOWN: Literal["unknown"] = "unknown"
Domain: TypeAlias = Literal["known", "unknown"]

Law: TypeAlias = Callable[[Histogram], Mapping[Selection, float]]
LengthLaw: TypeAlias = Callable[[Histogram], Sequence[float]]


class FunctionOfChance(Protocol):
    """A number of users that holds with a chance: a margin, or the spread of a published count."""

    def __call__(self, chance: float = ...) -> float: ...


@runtime_checkable
class Mechanism(Protocol):
    """What a mechanism must have: a promise (`guarantee`) and a random selection that keeps it (`release`)."""

    def guarantee(self) -> Guarantee: ...

    def release(self, histogram: Histogram, entropy: Entropy) -> Selection: ...


if TYPE_CHECKING:
    default_property = property
else:

    class default_property:
        """A property that holds unless a class states the attribute itself: as a field, a method or a property.

        `property` would not do: a field could not be stored under its name, and a dataclass would take it for the
        field's default. So the class itself has no such attribute, only its instances have.
        """

        def __init__(self, compute: Callable[[Any], Any]) -> None:
            self._compute = compute
            self.__doc__ = compute.__doc__

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                raise AttributeError(f"a class of mechanisms has no {self._compute.__name__}; its instances have")
            return self._compute(instance)


@runtime_checkable
class PairMechanism(Protocol):
    """The same for a mechanism that looks at pairs of a user and an item, as its `view` says."""

    def guarantee(self) -> Guarantee: ...

    def release(self, pairs: PairViews, entropy: Entropy) -> Selection: ...


class AnyMechanism(ABC):
    """A mechanism as the rest of crestline sees it: a frozen value whose cost is known step by step.

    A subclass is a `BuiltIn` or an `PairMechanismBase`, by what it looks at. It states `theorem`, its `cost()` and its
    `release_many()`. Whatever else a mechanism may be able to do is an attribute that is None where it is not, and
    never missing. Mechanisms of other people become one by `adopt`.
    `slack` is the failure probability that the accountant may use to add its steps up more tightly; it is part of the
    reported δ.
    """

    theorem: str
    slack: Fraction = Fraction(0)
    needs_a_part: ClassVar[bool] = False  # whether its user must bring one, so that a total is not enough to make it

    @default_property
    def k(self) -> int | None:
        """How many items it names at most; None: it does not say."""
        return None

    @default_property
    def k_bar(self) -> int | None:
        """How many items it sees; None: all of a public list, or as many as it is given."""
        return None

    @default_property
    def contribution(self) -> int | None:
        """Its promise is for users of at most this many items; None: for all. `smallest_contribution` asks its parts
        too."""
        return None

    @default_property
    def counts(self) -> bool:
        """Whether it publishes a count for each item it names."""
        return False

    @default_property
    def ordered(self) -> bool:
        """Whether the order in which it names items means anything; an order that is drawn afresh does not."""
        return is_ordered_in_catalogue(type(self))

    @default_property
    def domain(self) -> Domain | None:
        """`known` when it needs a public list of all items, `unknown` when a cut one; None: it does not say."""
        return catalogue_domain(type(self))

    @default_property
    def law(self) -> Law | None:
        """The exact probability of every selection, for small histograms."""
        return None

    @default_property
    def length_law(self) -> LengthLaw | None:
        """The exact probability of naming 0, 1, …, k items."""
        return None

    @default_property
    def margin(self) -> FunctionOfChance | None:
        """By how many users an item must lead the first item left out to be named with a chance."""
        return None

    @default_property
    def margin_for_all(self) -> FunctionOfChance | None:
        """By how many users the k-th item must lead the first item left out for all k to be named with a chance."""
        return None

    @default_property
    def spread(self) -> FunctionOfChance | None:
        """The error of a published count, in users, that is not exceeded with a chance."""
        return None

    def __post_init__(self) -> None:
        """Checks that compare fields; a subclass adds its own. Called once all fields are converted."""
        if self.k is not None and self.k_bar is not None:
            check_k_bar_not_below_k(self.k, self.k_bar)

    @classmethod
    def fit(cls, total: PrivacyTotal) -> Self:
        """The instance within a total: the one way in which mechanisms are made from ε and δ."""
        raise MechanismError(f"{cls.__name__} cannot be made from a total: give its parameters")

    @classmethod
    def for_budget(
        cls, *, k: int, k_bar: int | None = None, epsilon: Exact, delta: Exact, contribution: int | None = None
    ) -> Self:
        """The instance within a total (epsilon, delta): `fit`, as people spell it."""
        return cls.fit(PrivacyTotal(k, epsilon, delta, k_bar=k_bar, contribution=contribution))

    @property
    def selecting_mechanism(self) -> AnyMechanism:
        """The mechanism that selects: itself, unless it only adds to another's selection."""
        return self

    def full_margin(self, beta: float = 0.05) -> float:
        """`margin_for_all(1 - beta)`, by its earlier name."""
        if self.margin_for_all is None:
            raise MechanismError(f"{type(self).__name__} does not say when all of k items are named")
        return self.margin_for_all(1 - beta)

    @abstractmethod
    def cost(self) -> Cost:
        """The worst case, step by step: what is reserved before a row is read (P10.1)."""

    @abstractmethod
    def release_seen(self, seen: Seen, n: int, entropy: Entropy) -> list[Selection]:
        """`release_many` on what a source read for the view of this mechanism; what was read for another is refused."""

    @abstractmethod
    def release_groups(self, table: SeenInGroups, entropy: Entropy) -> list[Selection]:
        """One release for every group of what a source read; a table that was read for another view is refused."""

    def settlement_cost(self, selection: Selection) -> Cost:
        """What must be charged once the selection is known; less than `cost()` only where a theorem says so (P10.6)."""
        return self.cost()

    def answering_mechanism(self, selection: Selection) -> AnyMechanism:
        """The mechanism that made a selection: itself, unless it chose between others."""
        return self

    def guarantee(self) -> Guarantee:
        """The promise for one release, by the tightest accountant that applies."""
        return accountants.total(self.cost(), self.slack, theorem=self.theorem)

    def guarantee_in_groups(self, groups: int) -> Guarantee | None:
        """The promise to users who count in so many groups, with one release in each, where a theorem says more than
        composing as many releases does; None: it does not (P15.1)."""
        return None

    def _wrong_view_error(self) -> MechanismError:
        return MechanismError(f"{type(self).__name__} was given a view of the data that it does not look at")


class BuiltIn(AnyMechanism):
    """A mechanism that looks at slots, at a public list, or at all observed items."""

    @abstractmethod
    def release_many(self, histogram: Histogram, n: int, entropy: Entropy) -> list[Selection]:
        """`n` independent releases, vectorised. Each is a release of its own and costs as much."""

    def release_each(self, table: HistogramTable, entropy: Entropy) -> list[Selection]:
        """One release for every histogram of a table, each with noise of its own; vectorised where a mechanism can."""
        return [self.release(histogram, entropy) for histogram in table.histograms()]

    def release(self, histogram: Histogram, entropy: Entropy) -> Selection:
        """One release: a random selection that is charged before it is made."""
        (selection,) = self.release_many(histogram, 1, entropy)
        return selection

    def release_seen(self, seen: Seen, n: int, entropy: Entropy) -> list[Selection]:
        if not isinstance(seen, Histogram):
            raise self._wrong_view_error()
        return [self.release(seen, entropy)] if n == 1 else self.release_many(seen, n, entropy)

    def release_groups(self, table: SeenInGroups, entropy: Entropy) -> list[Selection]:
        if isinstance(table, HistogramTable):
            return self.release_each(table, entropy)
        if isinstance(table, ListedTable):
            return [self.release(histogram, entropy) for histogram in table.histograms()]
        raise self._wrong_view_error()


class PairMechanismBase(AnyMechanism):
    """A mechanism that looks at distinct pairs of a user and an item."""

    view: View = PAIRS

    @abstractmethod
    def release_many(self, pairs: PairViews, n: int, entropy: Entropy) -> list[Selection]:
        """`n` independent releases. Each is a release of its own and costs as much."""

    def release(self, pairs: PairViews, entropy: Entropy) -> Selection:
        """One release: a random selection that is charged before it is made."""
        (selection,) = self.release_many(pairs, 1, entropy)
        return selection

    def release_seen(self, seen: Seen, n: int, entropy: Entropy) -> list[Selection]:
        if isinstance(seen, Histogram):
            raise self._wrong_view_error()
        return self.release_many(seen, n, entropy)

    def release_groups(self, table: SeenInGroups, entropy: Entropy) -> list[Selection]:
        if not isinstance(table, PairTable):
            raise self._wrong_view_error()
        return [self.release(pairs, entropy) for pairs in table.histograms()]


Catalogued = BuiltIn  # its earlier name


def catalogue_domain(kind: type) -> Domain | None:
    """The domain that the catalogue states for a class, or for the class of ours that it extends."""
    line = _catalogue_entry(kind)
    return domain_or_none(None if line is None else line.domain)


def is_ordered_in_catalogue(kind: type) -> bool:
    """Whether the catalogue says that a class names items in an order that means something; it does unless told."""
    line = _catalogue_entry(kind)
    return line is None or not line.output.startswith("set")


def _catalogue_entry(kind: type) -> CatalogueEntry | None:
    ours = {base.__name__ for base in kind.__mro__ if base.__module__.startswith("crestline.")}
    return next((line for line in CATALOGUE if line.name in ours), None)


def domain_or_none(stated: object) -> Domain | None:
    """`known` or `unknown`, whatever else was stated."""
    return KNOWN if stated == KNOWN else UNKNOWN if stated == UNKNOWN else None
