"""Answer: the released items, the promise behind them, what was paid, and why it stopped."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from crestline.answer.lazy_fields import HasLazyFields, LazyField
from crestline.exact_numbers import percent
from crestline.guarantees.guarantee import Guarantee
from crestline.histogram.coverage_counts import CoverageCounts
from crestline.histogram.label_order import Label, label_order
from crestline.histogram.route import Route
from crestline.question import Question

# The mechanisms that compare items with a threshold, not with the next count; the second finds it by noisy looks.
_WITH_THRESHOLD, SIEVE = ("Observed", "Sieve"), "Sieve"

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from crestline.answer.group_answers import GroupItems
    from crestline.pictures import Picture


@dataclass(frozen=True)
class Choice(HasLazyFields):
    """Which mechanism answered, with its exact parameters, why it was chosen, and what the next best would have given.
    All of it follows from the call alone."""

    name: str
    parameters: Mapping[str, str]
    reason: str
    instead: LazyField[str] = LazyField("")  # noqa: RUF009 -- a descriptor, not a value that instances would share


@dataclass(frozen=True)
class Bill:
    """What a ledger was charged for an answer, and what is left: in the ledger's own units, and as parts of the budget.

    reserved, paid, remaining   in the units of the budget
    receipt                     the number of the reservation; where an analyst is named, among their own questions
    share, left                 the part of the whole budget that was paid, and that is left; by the scarcer unit
    more                        how many answers at this price what is left pays for
    left_epsilon                what is left is worth a budget of this ε
    """

    ledger: str
    reserved: str
    paid: str
    remaining: str
    receipt: int
    share: float | None = None
    left: float | None = None
    more: int | None = None
    left_epsilon: float | None = None

    @property
    def summary(self) -> str:
        """What was paid and what is left, as people read it; in units where an earlier version wrote the bill."""
        if self.share is None or self.left is None:
            return f"{self.paid} (reserved {self.reserved}); left in the ledger {self.ledger}: {self.remaining}"
        where = f" ({self.ledger})" if self.ledger else ""
        return f"{percent(self.share)} of the budget{where}; {self.remaining_text}"

    @property
    def remaining_text(self) -> str:
        """What is left, as people read it."""
        if self.left is None:
            return self.remaining
        worth = "" if self.left_epsilon is None else f" (worth epsilon {self.left_epsilon:.3g})"
        return f"{percent(self.left)}{worth} is left, {more_answers_text(self.more)}"


def more_answers_text(number: int | None) -> str:
    """How many more answers at the same price."""
    if number is None:
        return "and it cost nothing"
    if number == 0:
        return "not enough for another like it"
    return f"about {number:,} more like it"


@dataclass(frozen=True)
class Answer(HasLazyFields):
    """What is said back.

    items       the released items, in the released order (a frozenset where the mechanism releases a set)
    counts      one noisy count for each item, in the order of `listed_items`, where they were asked for
    stopped     fewer than k items came back, on purpose
    guarantee   the promise for this one release
    margin      by how many users (with a score: by how much of it) an item had to exceed the first item left out to be
                named with 95% probability; depends on the parameters alone, for the sieve also on noisy looks
    spread      95% of the noise in a count stays within this many users (or this much of the score); depends on the
                parameters alone
    route       which of two mechanisms answered, and the noisy number that decided it; None where nothing was decided
    coverage    how many users have one of the items, and how many have items at all, where it was asked for; noisy
    bill        what a ledger was charged; None when the question was asked without one
    stored      the answer was served again, at no cost
    replayed    made with replayable randomness: for tests and simulations, not private
    by_group    what came back of each group, where groups were asked for; `items` are then (group, item) pairs
    """

    items: tuple[Label, ...] | frozenset[Label]
    stopped: bool
    guarantee: Guarantee
    question: Question
    source: str
    mechanism: Choice
    counts: tuple[Fraction, ...] | None = None
    margin: LazyField[float | None] = LazyField(None)  # noqa: RUF009 -- a descriptor
    spread: LazyField[float | None] = LazyField(None)  # noqa: RUF009 -- a descriptor
    route: Route | None = None
    bill: Bill | None = None
    stored: bool = False
    replayed: bool = False
    notes: tuple[str, ...] = field(default=())
    by_group: tuple[GroupItems, ...] | None = None
    coverage: CoverageCounts | None = None

    @cached_property
    def groups(self) -> Mapping[Label, Answer]:
        """Every published group, in the order of their labels, as an answer of its own; none without `by`.

        The label is a plain value, or a tuple where groups are made by several columns.
        """
        from crestline.answer.group_answers import group_as_answer

        return MappingProxyType({group.label: group_as_answer(self, group) for group in self.by_group or ()})

    @property
    def needs(self) -> str | None:
        """What an item needs to be named with 95% probability, in words: so many users more than the first item left
        out, or, where every observed item is compared with a threshold, so many users. None where nobody can say."""
        if self.margin is None:
            return None
        users, rank = f"{max(0, math.ceil(self.margin)):,} {self.question.unit}", self.question.slots + 1
        if self.answered_by in _WITH_THRESHOLD:
            return f"about {users}"
        return f"a lead of about {users} over rank {rank:,}"

    @property
    def answered_by(self) -> str:
        """The name of the mechanism that answered: of two that were chosen between, the one that was taken."""
        return self.mechanism.name if self.route is None else self.route.taken

    @property
    def listed_items(self) -> tuple[Label, ...]:
        """The items as a list: in the released order, or, for a set, in byte order."""
        if isinstance(self.items, tuple):
            return self.items
        return tuple(sorted(self.items, key=label_order))

    @property
    def spent(self) -> str:
        """What was paid, in words: a part of the budget, or the guarantee of a question asked without a ledger."""
        if self.bill is None:
            return str(self.guarantee)
        return self.bill.paid if self.bill.share is None else f"{percent(self.bill.share)} of the budget"

    @property
    def remaining(self) -> str | None:
        """What the ledger has left, in words."""
        return self.bill.remaining_text if self.bill else None

    def explain(self) -> str:
        """Five short lines: what came back and whether its order means anything, how popular an item had to be, how
        sure the counts are, what was promised, and what it cost. `crestline explain` has formulas and theorems."""
        from crestline.answer.explain import explain

        return explain(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; `from_dict` reads them back."""
        from crestline.answer.encoding import to_dict

        return to_dict(self)

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Answer:
        from crestline.answer.encoding import from_dict

        return from_dict(value)

    def to_arrow(self) -> pyarrow.Table:
        """A `pyarrow.Table` with one row for each item; the columns that make groups come first."""
        from crestline.answer.tabular import to_arrow

        return to_arrow(self)

    def to_pandas(self) -> pandas.DataFrame:
        """A `pandas.DataFrame` with one row for each item; the columns that make groups come first."""
        from crestline.answer.tabular import to_pandas

        return to_pandas(self)

    def to_polars(self) -> polars.DataFrame:
        """A `polars.DataFrame` with one row for each item."""
        from crestline.answer.tabular import to_polars

        return to_polars(self)

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """The whole answer as JSON text (`crestline explain` reads it); written to a file when a path is given."""
        from crestline.answer.encoding import to_json

        return to_json(self, path)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Picture:
        """A picture: bars with whiskers where there are noisy counts, else a ranked list; a small panel for each group.

        It is saved when a path is given.

        The path ends in .svg or .png. Needs the extra `crestline[plot]`.
        """
        from crestline.answer.plot import plot
        from crestline.answer.plot_groups import plot_groups
        from crestline.pictures import check_can_draw

        if path is not None:
            check_can_draw(path)
        picture = plot(self) if self.by_group is None else plot_groups(self)
        if path is not None:
            picture.save(path)
        return picture

    def _repr_html_(self) -> str:
        from crestline.answer.tabular import to_html

        return to_html(self)

    def __str__(self) -> str:
        from crestline.answer.tabular import to_text

        return f"{to_text(self)}\n{self.explain()}"

    def __iter__(self) -> Iterator[Label]:
        return iter(self.listed_items)

    def __len__(self) -> int:
        return len(self.items)
