"""What a mechanism looks at: it says so itself, and a source provides it.

slots      the top `k_bar` counts with padding, or, where the question has a public list, the counts of all its items
observed   the scores of all observed items, once each user keeps at most so many items of such weights (P17.1)
pairs      `PairViews`: the few views of distinct (user, item) pairs that the sieve chooses among (P18.6)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from crestline.errors import MechanismError
from crestline.histogram.histogram import Histogram
from crestline.histogram.histogram_table import HistogramTable, ListedTable
from crestline.histogram.observed_table import ObservedTable
from crestline.histogram.pair_table import PairTable
from crestline.histogram.pairs import PairViews

Kind: TypeAlias = Literal["slots", "observed", "pairs"]
KINDS: tuple[Kind, ...] = ("slots", "observed", "pairs")

Seen: TypeAlias = Histogram | PairViews  # what is read for a view: observed items are a histogram, too
SeenInGroups: TypeAlias = HistogramTable | ListedTable | ObservedTable | PairTable  # the same for many groups


@dataclass(frozen=True)
class View:
    """A kind of view; for `observed` also what one item scores of a user who keeps 1, 2, … items. Users keep as many
    items as there are weights. All weights one: scores are numbers of users."""

    kind: Kind
    weights: tuple[int, ...] = ()


SLOTS = View("slots")
PAIRS = View("pairs")


@runtime_checkable
class HasView(Protocol):
    """A mechanism that says what it looks at."""

    @property
    def view(self) -> View: ...


def view_of(mechanism: object) -> View:
    """What a mechanism says it looks at; one that says nothing looks at slots or at a public list."""
    if not isinstance(mechanism, HasView):
        return SLOTS
    view = mechanism.view
    if not isinstance(view, View) or view.kind not in KINDS:
        raise MechanismError(f"{type(mechanism).__name__}.view must be a View: of slots, of observed items or of pairs")
    return view
