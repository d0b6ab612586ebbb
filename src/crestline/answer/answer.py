"""Answer: the released items, the promise behind them, what was paid, and why it stopped."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from crestline.guarantees.guarantee import Guarantee
from crestline.histogram.labels import Label, label_order
from crestline.question import Question

if TYPE_CHECKING:
    from crestline.pictures import Picture


@dataclass(frozen=True)
class Choice:
    """Which mechanism answered, with its exact parameters, and why it was chosen."""

    name: str
    parameters: Mapping[str, str]
    reason: str


@dataclass(frozen=True)
class Bill:
    """What a ledger was charged for an answer, and what is left, in the ledger's own units."""

    ledger: str
    reserved: str
    paid: str
    remaining: str
    receipt: int


@dataclass(frozen=True)
class Answer:
    """What is said back.

    items       the released items, in the released order (a frozenset where the mechanism releases a set)
    counts      one noisy count for each item, in the order of `listed_items`, where they were asked for
    stopped     fewer than k items came back, on purpose
    guarantee   the promise for this one release
    margin      by how many users (with a score: by how much of it) an item had to exceed the first item left out to be
                named with 95% probability; depends on the parameters alone
    spread      95% of the noise in a count stays within this many users (or this much of the score); depends on the
                parameters alone
    bill        what a ledger was charged; None when the question was asked without one
    stored      the answer was served again, at no cost
    replayed    made with replayable randomness: for tests and simulations, not private
    """

    items: tuple[Label, ...] | frozenset[Label]
    stopped: bool
    guarantee: Guarantee
    question: Question
    source: str
    mechanism: Choice
    counts: tuple[Fraction, ...] | None = None
    margin: float | None = None
    spread: float | None = None
    bill: Bill | None = None
    stored: bool = False
    replayed: bool = False
    notes: tuple[str, ...] = field(default=())

    @property
    def listed_items(self) -> tuple[Label, ...]:
        """The items as a list: in the released order, or, for a set, in byte order."""
        if isinstance(self.items, tuple):
            return self.items
        return tuple(sorted(self.items, key=label_order))

    @property
    def spent(self) -> str:
        """What was paid, in words: the ledger's charge, or the guarantee of a question asked without one."""
        return self.bill.paid if self.bill else str(self.guarantee)

    @property
    def remaining(self) -> str | None:
        """What the ledger has left, in words."""
        return self.bill.remaining if self.bill else None

    def explain(self) -> str:
        """Plain words: what was asked, promised and paid, the margin an item needed, why it stopped."""
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

    def to_arrow(self) -> Any:
        """A `pyarrow.Table` with one row for each item."""
        from crestline.answer.tabular import to_arrow

        return to_arrow(self)

    def to_pandas(self) -> Any:
        """A `pandas.DataFrame` with one row for each item."""
        from crestline.answer.tabular import to_pandas

        return to_pandas(self)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Picture:
        """A picture: bars with whiskers where there are noisy counts, else a ranked list; saved when a path is given.

        The path ends in .svg or .png. Needs the extra `crestline[plot]`.
        """
        from crestline.answer.plot import plot
        from crestline.pictures import ready_to_draw

        if path is not None:
            ready_to_draw(path)
        picture = plot(self)
        if path is not None:
            picture.save(path)
        return picture

    def _repr_html_(self) -> str:
        from crestline.answer.tabular import to_html

        return to_html(self)

    def __len__(self) -> int:
        return len(self.items)
