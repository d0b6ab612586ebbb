"""What a mechanism looks at: it says so itself, and a source provides it.

slots      the top `k_bar` counts with padding, or, where the question has a public list, the counts of all its items
observed   the scores of all observed items, once each user keeps at most so many items of such weights (P17.1)
pairs      `PairViews`: the few views of distinct (user, item) pairs that the sieve chooses among (P18.6)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from crestline.errors import MechanismError

Kind: TypeAlias = Literal["slots", "observed", "pairs"]
KINDS: tuple[Kind, ...] = ("slots", "observed", "pairs")


@dataclass(frozen=True)
class View:
    """A kind of view; for `observed` also what one item scores of a user who keeps 1, 2, … items. Users keep as many
    items as there are weights. All weights one: scores are numbers of users."""

    kind: Kind
    weights: tuple[int, ...] = ()


SLOTS = View("slots")
PAIRS = View("pairs")


def view_of(mechanism: Any) -> View:
    """What a mechanism says it looks at; one that says nothing looks at slots or at a public list."""
    view = getattr(mechanism, "view", SLOTS)
    if not isinstance(view, View) or view.kind not in KINDS:
        raise MechanismError(
            f"{type(mechanism).__name__}.view must be a View: of slots, of observed items, or of pairs"
        )
    return view
