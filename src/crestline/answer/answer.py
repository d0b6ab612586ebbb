"""Answer: the released items, their guarantee, their payment, and whether the mechanism stopped early."""

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
from crestline.label_text import HasShortRepr, printable_text
from crestline.question import Question

# Mechanisms that compare items with a threshold instead of the next count; the sieve finds it by noisy queries.
_WITH_THRESHOLD, SIEVE = ("Observed", "Sieve"), "Sieve"

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from crestline.answer.count_intervals import Interval, RankInterval
    from crestline.answer.group_answers import GroupItems
    from crestline.pictures import Picture


@dataclass(frozen=True)
class Choice(HasLazyFields):
    """The mechanism that was chosen and the reason; all of it follows from the question, not from the data.

    Attributes:
        name: Class name of the mechanism.
        parameters: Its exact parameters as text.
        reason: Why it was chosen.
        instead: What the next best mechanism would have given; empty without one.
    """

    name: str
    parameters: Mapping[str, str]
    reason: str
    instead: LazyField[str] = LazyField("")  # noqa: RUF009 -- a descriptor, not a value that instances would share


@dataclass(frozen=True, repr=False)
class Bill(HasShortRepr):
    """What a ledger was charged for an answer, and what remains.

    Attributes:
        ledger: Address of the ledger.
        reserved: What was reserved, in units of the budget.
        paid: What was charged at settlement, in units of the budget.
        remaining: What may still be charged, in units of the budget.
        receipt: Number of the reservation; of an analyst's question, the number among that analyst's questions.
        share: Share of the whole budget that was paid, in the scarcer unit.
        left: Share of the whole budget that remains, in the scarcer unit.
        more: Number of further answers at this price that fit; None if the price is zero.
        left_epsilon: The ε that a budget of the remaining size would have.
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

    def __str__(self) -> str:
        return self.summary

    @property
    def summary(self) -> str:
        """The payment and the remaining budget in words; in units of the budget if the bill states no shares."""
        if self.share is None or self.left is None:
            return f"{self.paid} (reserved {self.reserved}); left in the ledger {self.ledger}: {self.remaining}"
        where = f" ({self.ledger})" if self.ledger else ""
        return f"{percent(self.share)} of the budget{where}; {self.remaining_text}"

    @property
    def remaining_text(self) -> str:
        """The remaining budget in words."""
        if self.left is None:
            return self.remaining
        worth = "" if self.left_epsilon is None else f" (worth epsilon {self.left_epsilon:.3g})"
        return f"{percent(self.left)}{worth} is left, {more_answers_text(self.more)}"


def more_answers_text(number: int | None) -> str:
    """Words for the number of further answers at the same price."""
    if number is None:
        return "and it cost nothing"
    if number == 0:
        return "not enough for another like it"
    return f"about {number:,} more like it"


@dataclass(frozen=True, repr=False)
class Answer(HasLazyFields):
    """The answer to a question.

    Attributes:
        items: Released items: a tuple in the released order, or a frozenset. With groups, (group, item) pairs.
        stopped: Whether the mechanism stopped early, with fewer items than wanted; with groups, in any of them.
        guarantee: Guarantee of this one release.
        question: The question.
        source: Name of the source.
        mechanism: The mechanism that was chosen.
        counts: One noisy count for each item, in the order of `listed_items`; None unless requested.
        intervals: The 95% interval of each count, as (low, high): for noise, for the selection of its item, and for the
            weights of users where counts follow from weighted scores. None without counts.
        rank_intervals: The best and the worst rank of each item among those named, as (first, last), from counts and
            their errors. None without counts, and for a set.
        margin: Users (with a score: its units) by which an item must lead the first item left out to be named with 95%
            probability; for a mechanism with a threshold, that the item must have. It depends on the parameters alone,
            for the sieve also on noisy queries. None if it is not known.
        spread: 95% of the noise of a count is at most this, in users or in units of the score. It depends on the
            parameters alone.
        route: Of a mechanism that chooses between two, the choice and the noisy number that decided it.
        number: Number under which the asker finds the answer in the ledger, which counts the asker's own questions;
            None without a ledger. It is not among the values of `to_dict`.
        bill: What the ledger was charged; None without a ledger, and for a stored answer.
        stored: Whether this is a stored answer, served again without payment.
        replayed: Whether the randomness was replayable: for tests and simulations, not private.
        notes: Warnings and notes for the reader.
        by_group: The result of each published group; None unless requested.
        title: The question as one sentence in the owner's words; None: `heading` has it in the names of the columns.
        coverage: Noisy numbers of users with one of the items, and without; None unless requested.
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
    intervals: tuple[Interval, ...] | None = None
    rank_intervals: tuple[RankInterval, ...] | None = None
    title: str | None = None
    number: int | None = None

    @property
    def heading(self) -> str:
        """The question as one sentence, in the owner's words where they are known."""
        return self.title or self.question.words()

    @cached_property
    def groups(self) -> Mapping[Label, Answer]:
        """Every published group as an answer of its own, in the order of their labels; empty without `by`.

        A key is a plain value, or a tuple if `by` has several columns.
        """
        from crestline.answer.group_answers import group_as_answer

        return MappingProxyType({group.label: group_as_answer(self, group) for group in self.by_group or ()})

    @property
    def needs(self) -> str | None:
        """What an item needs to be named with 95% probability, in words; None if it is not known.

        It is a number of users, or, unless the mechanism has a threshold, a lead over the first item left out.
        """
        if self.margin is None:
            return None
        users, rank = f"{max(0, math.ceil(self.margin)):,} {self.question.unit}", self.question.slots + 1
        if self.answered_by in _WITH_THRESHOLD:
            return f"about {users}"
        return f"a lead of about {users} over rank {rank:,}"

    @property
    def count_unit(self) -> str:
        """Unit of the counts in words; a bound on a user's items is part of it."""
        question = self.question
        if question.score is not None or question.contribution is None:
            return question.unit
        return f"{question.unit}, counting at most {question.contribution} of each {question.user!r}"

    @property
    def answered_by(self) -> str:
        """Name of the mechanism that answered; of one that chooses between two, the one that it chose."""
        return self.mechanism.name if self.route is None else self.route.taken

    @property
    def listed_items(self) -> tuple[Label, ...]:
        """The items as a tuple: in the released order, or, for a set, in byte order of their labels."""
        if isinstance(self.items, tuple):
            return self.items
        return tuple(sorted(self.items, key=label_order))

    @property
    def spent(self) -> str:
        """The payment in words: a share of the budget, or the guarantee if there was no ledger."""
        if self.bill is None:
            return str(self.guarantee)
        return self.bill.paid if self.bill.share is None else f"{percent(self.bill.share)} of the budget"

    @property
    def remaining(self) -> str | None:
        """The remaining budget in words; None without a bill."""
        return self.bill.remaining_text if self.bill else None

    def explain(self) -> str:
        """Explain the answer in a few lines: the result, the margin, the error of counts, the promise, the payment.

        `crestline explain` also has formulas and theorems.
        """
        from crestline.answer.explain import explain

        return explain(self)

    def to_dict(self) -> dict[str, Any]:
        """JSON values of the whole answer; `from_dict` reads them."""
        from crestline.answer.encoding import to_dict

        return to_dict(self)

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Answer:
        """Answer from the values of `to_dict`.

        Raises:
            ParameterError: The values are not those of an answer, or a newer version wrote them.
        """
        from crestline.answer.encoding import from_dict

        return from_dict(value)

    def to_arrow(self) -> pyarrow.Table:
        """Table with one row for each item; the columns of `by` come first."""
        from crestline.answer.tabular import to_arrow

        return to_arrow(self)

    def to_pandas(self) -> pandas.DataFrame:
        """`pandas.DataFrame` with one row for each item; the columns of `by` come first.

        `attrs` of the frame has the coverage, if there is one.
        """
        from crestline.answer.tabular import to_pandas

        return to_pandas(self)

    def to_polars(self) -> polars.DataFrame:
        """`polars.DataFrame` with one row for each item; the columns of `by` come first.

        Raises:
            ParameterError: polars is not installed.
        """
        from crestline.answer.tabular import to_polars

        return to_polars(self)

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """JSON text of the whole answer, which `crestline explain` reads.

        Args:
            path: File to write the text to as well.
        """
        from crestline.answer.encoding import to_json

        return to_json(self, path)

    def plot(self, path: str | os.PathLike[str] | None = None, *, title: str | None = None) -> Picture:
        """Chart of the answer: bars for noisy counts, otherwise a ranked list; a small chart for each group.

        Needs the extra `crestline[plot]`.

        Args:
            path: File to save it to, with the suffix .svg, .png or .pdf.
            title: The title; the question as one sentence by default.

        Returns:
            The chart, which a notebook displays.
        """
        from crestline.answer.plot import plot
        from crestline.answer.plot_groups import plot_groups
        from crestline.pictures import check_can_draw

        if path is not None:
            check_can_draw(path)
        shown = self if title is None else self.replace_fields(title=title)
        picture = plot(shown) if self.by_group is None else plot_groups(shown)
        if path is not None:
            picture.save(path)
        return picture

    def __repr__(self) -> str:
        from crestline.answer.printing import found_line

        return f"<Answer: {printable_text(self.heading)}: {printable_text(found_line(self))}>"

    def _repr_html_(self) -> str:
        from crestline.answer.printing import to_html

        return to_html(self)

    def __str__(self) -> str:
        from crestline.answer.printing import to_text

        return to_text(self)

    def __iter__(self) -> Iterator[Label]:
        return iter(self.listed_items)

    def __len__(self) -> int:
        return len(self.items)
