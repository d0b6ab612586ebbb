"""Protocols that every mechanism implements, and the base classes of crestline's own mechanisms."""

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
from crestline.histogram.relation import GroupedRelation, PairViews
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
    """A number of users as a function of a probability: a margin, or the error of a published count."""

    def __call__(self, chance: float = ...) -> float: ...


@runtime_checkable
class Mechanism(Protocol):
    """Interface of a mechanism: a promise (`guarantee`) and a random selection that keeps it (`release`)."""

    def guarantee(self) -> Guarantee: ...

    def release(self, histogram: Histogram, entropy: Entropy) -> Selection: ...


if TYPE_CHECKING:
    default_property = property
else:

    class default_property:
        """Property used unless a subclass defines the attribute itself, as a field, a method or a property.

        A plain `property` would not do: a field could not be assigned under its name, and a dataclass would take it
        for the field's default. So the attribute exists on instances only, not on the class.
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
    """Interface of a mechanism whose view is pairs of a user and an item."""

    def guarantee(self) -> Guarantee: ...

    def release(self, pairs: PairViews, entropy: Entropy) -> Selection: ...


class AnyMechanism(ABC):
    """Base class of every mechanism: a frozen value whose cost is known step by step.

    Subclass `BuiltIn` or `PairMechanismBase`, by the view, and define `theorem`, `cost()` and `release_many()`. Every
    other attribute has a default; an ability that a mechanism does not have is None. `adopt` wraps mechanisms of other
    authors.

    Attributes:
        theorem: Numbers of the theorems behind the guarantee.
        slack: Failure probability that the accountant may use to compose the steps; part of the reported δ.
        needs_a_part: Whether it cannot be made from a total alone, because the caller must supply a mechanism.
    """

    theorem: str
    slack: Fraction = Fraction(0)
    needs_a_part: ClassVar[bool] = False

    @default_property
    def k(self) -> int | None:
        """Most items that it names; None: not stated."""
        return None

    @default_property
    def k_bar(self) -> int | None:
        """Number of slots that it sees; None: a whole public list, or all that it is given."""
        return None

    @default_property
    def contribution(self) -> int | None:
        """Most items of one user for which the promise holds; None: any number.

        `smallest_contribution` also considers the mechanisms inside it.
        """
        return None

    @default_property
    def counts(self) -> bool:
        """Whether it publishes a count for each named item."""
        return False

    @default_property
    def ordered(self) -> bool:
        """Whether the order of the named items carries information; an order drawn at random does not."""
        return is_ordered_in_catalogue(type(self))

    @default_property
    def domain(self) -> Domain | None:
        """`known` if it needs a public list of all items, `unknown` if it needs a cut one; None: not stated."""
        return catalogue_domain(type(self))

    @default_property
    def law(self) -> Law | None:
        """Function from a small histogram to the exact probability of every selection; None: not available."""
        return None

    @default_property
    def length_law(self) -> LengthLaw | None:
        """Function from a histogram to the exact probabilities of naming 0, 1, …, k items; None: not available."""
        return None

    @default_property
    def margin(self) -> FunctionOfChance | None:
        """Function of a probability: users by which an item must lead the first left out to be named with it."""
        return None

    @default_property
    def margin_for_all(self) -> FunctionOfChance | None:
        """Function of a probability: users by which the k-th item must lead for all k items to be named with it."""
        return None

    @default_property
    def spread(self) -> FunctionOfChance | None:
        """Function of a probability: error of a published count, in users, that is not exceeded with it."""
        return None

    def __post_init__(self) -> None:
        """Check fields against each other, after all are converted; subclasses add their own checks."""
        if self.k is not None and self.k_bar is not None:
            check_k_bar_not_below_k(self.k, self.k_bar)

    @classmethod
    def fit(cls, total: PrivacyTotal) -> Self:
        """Return the instance within a total (ε, δ); all mechanisms are made from ε and δ by this method.

        Args:
            total: The total to fit.

        Returns:
            An instance whose guarantee does not exceed the total.

        Raises:
            MechanismError: The mechanism cannot be made from a total.
        """
        raise MechanismError(f"{cls.__name__} cannot be made from a total: give its parameters")

    @classmethod
    def for_budget(
        cls, *, k: int, k_bar: int | None = None, epsilon: Exact, delta: Exact, contribution: int | None = None
    ) -> Self:
        """Return the instance within a total (epsilon, delta).

        Args:
            k: Items wanted.
            k_bar: Slots that the mechanism may see; None: its own choice.
            epsilon: ε of the whole release.
            delta: δ of the whole release.
            contribution: Public bound on the items of one user; None: no bound.

        Returns:
            An instance whose guarantee does not exceed (epsilon, delta).

        Raises:
            ParameterError: A number is out of range.
            MechanismError: The mechanism cannot be made from a total.
        """
        return cls.fit(PrivacyTotal(k, epsilon, delta, k_bar=k_bar, contribution=contribution))

    @property
    def selecting_mechanism(self) -> AnyMechanism:
        """The mechanism that selects: itself, unless it only adds to the selection of another."""
        return self

    def full_margin(self, beta: float = 0.05) -> float:
        """Earlier name of `margin_for_all(1 - beta)`.

        Raises:
            MechanismError: The mechanism has no `margin_for_all`.
        """
        if self.margin_for_all is None:
            raise MechanismError(
                f"{type(self).__name__} has no margin_for_all: it does not state when all k items are named"
            )
        return self.margin_for_all(1 - beta)

    @abstractmethod
    def cost(self) -> Cost:
        """Worst case of one release, step by step: reserved before a row is read (P10.1)."""

    @abstractmethod
    def release_seen(self, seen: Seen, n: int, entropy: Entropy) -> list[Selection]:
        """Return `n` releases from what a source read for this mechanism's view.

        Raises:
            MechanismError: The data were read for another view.
        """

    @abstractmethod
    def release_groups(self, table: SeenInGroups, entropy: Entropy) -> list[Selection]:
        """Return one release for every group of what a source read.

        Raises:
            MechanismError: The table was read for another view.
        """

    def settlement_cost(self, selection: Selection) -> Cost:
        """Cost charged once the selection is known: below `cost()` only where a theorem allows it (P10.6)."""
        return self.cost()

    def answering_mechanism(self, selection: Selection) -> AnyMechanism:
        """The mechanism that made a selection: itself, unless it chose between others."""
        return self

    def guarantee(self) -> Guarantee:
        """The promise for one release, by the tightest accountant that applies."""
        return accountants.total(self.cost(), self.slack, theorem=self.theorem)

    def guarantee_in_groups(self, groups: int) -> Guarantee | None:
        """The promise to a user in this number of groups, with one release in each (P15.1).

        Returns:
            None where no theorem gives more than the composition of that number of releases.
        """
        return None

    def _wrong_view_error(self) -> MechanismError:
        return MechanismError(f"{type(self).__name__} was given data that were read for another view")


class BuiltIn(AnyMechanism):
    """Base class of mechanisms that see slots, a public list, or all observed items."""

    @abstractmethod
    def release_many(self, histogram: Histogram, n: int, entropy: Entropy) -> list[Selection]:
        """Return `n` independent releases, vectorised.

        Args:
            histogram: The histogram, cut and padded for this mechanism.
            n: Number of releases; each must be charged.
            entropy: Source of random bits.

        Returns:
            One selection for each release.

        Raises:
            HistogramError: The histogram was made for another kind of mechanism.
        """

    def release_each(self, table: HistogramTable, entropy: Entropy) -> list[Selection]:
        """One release for every histogram of a table, with independent noise; subclasses may vectorise it."""
        return [self.release(histogram, entropy) for histogram in table.histograms()]

    def release(self, histogram: Histogram, entropy: Entropy) -> Selection:
        """Return one release. The caller must charge it before the call.

        Args:
            histogram: The histogram, cut and padded for this mechanism.
            entropy: Source of random bits.

        Returns:
            The named items, and whether the mechanism stopped early.

        Raises:
            HistogramError: The histogram was made for another kind of mechanism.
        """
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
    """Base class of mechanisms that see distinct pairs of a user and an item."""

    view: View = PAIRS

    @abstractmethod
    def release_many(self, pairs: PairViews, n: int, entropy: Entropy) -> list[Selection]:
        """Return `n` independent releases; each must be charged.

        Args:
            pairs: The pairs, as views that a source computes.
            n: Number of releases.
            entropy: Source of random bits.
        """

    def release(self, pairs: PairViews, entropy: Entropy) -> Selection:
        """Return one release. The caller must charge it before the call.

        Args:
            pairs: The pairs, as views that a source computes.
            entropy: Source of random bits.
        """
        (selection,) = self.release_many(pairs, 1, entropy)
        return selection

    def release_seen(self, seen: Seen, n: int, entropy: Entropy) -> list[Selection]:
        if isinstance(seen, Histogram):
            raise self._wrong_view_error()
        return self.release_many(seen, n, entropy)

    def release_groups(self, table: SeenInGroups, entropy: Entropy) -> list[Selection]:
        if not isinstance(table, GroupedRelation):
            raise self._wrong_view_error()
        return [self.release(pairs, entropy) for pairs in table.histograms()]


Catalogued = BuiltIn  # its earlier name


def catalogue_domain(kind: type) -> Domain | None:
    """Domain that the catalogue states for a class, or for the class of crestline that it extends."""
    line = _catalogue_entry(kind)
    return domain_or_none(None if line is None else line.domain)


def is_ordered_in_catalogue(kind: type) -> bool:
    """Whether the catalogue states a list for a class; true for a class that is not in it."""
    line = _catalogue_entry(kind)
    return line is None or not line.output.startswith("set")


def _catalogue_entry(kind: type) -> CatalogueEntry | None:
    ours = {base.__name__ for base in kind.__mro__ if base.__module__.startswith("crestline.")}
    return next((line for line in CATALOGUE if line.name in ours), None)


def domain_or_none(stated: object) -> Domain | None:
    """`known` or `unknown` if that was stated, otherwise None."""
    return KNOWN if stated == KNOWN else UNKNOWN if stated == UNKNOWN else None
