"""Kinds of views: a mechanism states the kind that it needs, and a source provides it.

slots      the top `k_bar` counts with padding, or, where the question has a public list, the counts of all its items
observed   the scores of all observed items, after each user's items are bounded and weighted (P17.1)
pairs      `PairViews`: the views of distinct (user, item) pairs among which the sieve chooses (P18.6)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from crestline.errors import MechanismError
from crestline.histogram.histogram import Histogram
from crestline.histogram.histogram_table import HistogramTable, ListedTable
from crestline.histogram.observed_table import ObservedTable
from crestline.histogram.relation import GroupedRelation, PairViews

Kind: TypeAlias = Literal["slots", "observed", "pairs"]
KINDS: tuple[Kind, ...] = ("slots", "observed", "pairs")

Seen: TypeAlias = Histogram | PairViews  # the data of a view; observed items are a histogram too
SeenInGroups: TypeAlias = (
    HistogramTable | ListedTable | ObservedTable | GroupedRelation
)  # the data of a view for many groups


@dataclass(frozen=True)
class View:
    """A kind of view.

    Attributes:
        kind: The kind.
        weights: For `observed`, the score of an item from a user who keeps 1, 2, … items. The length is the
            contribution bound; if all weights are one, scores are numbers of users.
    """

    kind: Kind
    weights: tuple[int, ...] = ()


SLOTS = View("slots")
PAIRS = View("pairs")


@runtime_checkable
class HasView(Protocol):
    """A mechanism that states its view."""

    @property
    def view(self) -> View: ...


def view_of(mechanism: object) -> View:
    """The view that a mechanism states; without one, slots or a public list.

    Raises:
        MechanismError: Its `view` is not a `View` of a known kind.
    """
    if not isinstance(mechanism, HasView):
        return SLOTS
    view = mechanism.view
    if not isinstance(view, View) or view.kind not in KINDS:
        raise MechanismError(f"{type(mechanism).__name__}.view must be a View: of slots, of observed items or of pairs")
    return view
