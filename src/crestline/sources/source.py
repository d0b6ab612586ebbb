"""The protocol of a source: one table behind an engine, and what one question reads of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from typing import Any, Protocol, TypeAlias

from crestline.histogram.histogram import Histogram
from crestline.histogram.label_order import Label, label_order
from crestline.histogram.relation import PairViews
from crestline.histogram.view_kinds import SLOTS, Seen, SeenInGroups, View
from crestline.mechanisms.selection import GroupSelections, Selection, with_items
from crestline.question import Limits, Question

Naming: TypeAlias = Callable[[Sequence[Any]], list[Label]]  # from a histogram's items to their labels, in their order
Reached: TypeAlias = Callable[[Sequence[Label]], tuple[int, int]]  # how many users have one of them, and how many none


@dataclass(frozen=True)
class Reading:
    """What one question reads of a table, all of it in one snapshot: the counts, and the way back to names and units.

    histogram   the counts, as a mechanism may see them; for one that looks at pairs, their views; with groups, tables
                of histograms (or of observed items), one after the other
    unit        what one step of a count is worth where counts are published
    labels      over a public list: from the histogram's items to their labels, in their order
    labels_in   over public lists of groups and items, and of pairs in groups: the same from groups and items of their
                histograms
    hidden      what was taken off every count because of a floor, in the units of the column
    reached     where a question asks for coverage: how many users have one of some items, and how many have none of
                them; exact numbers, which only `Coverage` may see
    """

    histogram: Seen | Iterable[SeenInGroups]
    unit: Fraction = Fraction(1)
    labels: Naming | None = None
    labels_in: Naming | None = None
    hidden_floor: Fraction = Fraction(0)
    coverage: Reached | None = None

    @property
    def mechanism_view(self) -> Seen:
        """What a mechanism looks at, where the question has no groups."""
        assert isinstance(self.histogram, Histogram | PairViews), "tables are for questions with groups"
        return self.histogram

    @property
    def group_tables(self) -> Iterable[SeenInGroups]:
        """What a mechanism looks at in every group, where the question has groups."""
        assert not isinstance(self.histogram, Histogram | PairViews), "with groups a source reads tables"
        return self.histogram

    def label_groups(self, published: GroupSelections) -> GroupSelections:
        """The same for every group; a floor that was taken off comes back."""
        named = replace(self, labels=self._group_labels(published))
        return GroupSelections(
            tuple((group, self._add_hidden_floor(named.label_items(part))) for group, part in published.groups)
        )

    def _group_labels(self, published: GroupSelections) -> Naming | None:
        """The labels of what is named group after group, all of them asked for at once."""
        if self.labels_in is None:
            return None
        picks = [(group, item) for group, part in published.groups for item in _items_in_label_order(part)]
        labels = iter(self.labels_in(picks))
        return lambda items: list(islice(labels, len(items)))

    def _add_hidden_floor(self, selection: Selection) -> Selection:
        if selection.counts is None or not self.hidden_floor:
            return selection
        return _convert_counts(selection, Fraction(1), self.hidden_floor)

    def label_items(self, selection: Selection) -> Selection:
        """A selection of this histogram under the items' own names, its counts in the units of their column."""
        if self.unit != 1:
            selection = _convert_counts(selection, self.unit, Fraction(0))
        return selection if self.labels is None else _relabel_selection(selection, self.labels)


class Source(Protocol):
    """One table that can be asked."""

    @property
    def name(self) -> str:
        """How the table is called in answers and in the ledger; never depends on its rows."""
        ...

    @property
    def limits(self) -> Limits:
        """What a mechanism may see of it, where that is limited; never depends on its rows."""
        ...

    def check(self, question: Question, view: View = SLOTS) -> None:
        """Refuse a question that cannot be asked (missing column, bad filter, a public list of other types) without
        reading a row."""
        ...

    def ready(self) -> AbstractContextManager[Source]:
        """This source on a connection that answers, held for one question. It is asked for before anything is charged,
        so that a connection which was lost costs nobody; `SourceUnavailable` where there is none."""
        ...

    def reading(self, question: Question, key: bytes = b"", view: View = SLOTS) -> AbstractContextManager[Reading]:
        """What a mechanism looks at (`view`), in one snapshot that lasts as long as the context.

        Slots: without a public list the histogram holds the top `k_bar + 1` rows, ranked by count and then by label.
        With one (`question.domain`) it holds how many of them have each count, without holding the list in memory.
        Observed items: how many of them have each score, named once they are picked. Pairs: their views.

        `key` decides which items of a user are kept where that is bounded; it must be fresh random bytes, at least 16
        of them (`fresh_key`), drawn without looking at the data.
        """
        ...

    def version(self) -> str | None:
        """A fingerprint of the data's state (for files: what the file system knows), or None when it has none."""
        ...


class SlotSource(Source, Protocol):
    """What `open_source` opens: a source that also gives the slots of a question by themselves."""

    def top_counts(self, question: Question, key: bytes = b"") -> Histogram:
        """The histogram of a question without a public list and without groups, in a snapshot of its own."""
        ...


def _relabel_selection(picked: Selection, labels_of: Naming) -> Selection:
    """The selection under the names of its picks. Counts stay with their items: those of a set are in label order."""
    if isinstance(picked.items, tuple):
        return replace(picked, items=tuple(labels_of(picked.items)))
    labels = labels_of(_items_in_label_order(picked))
    order = sorted(range(len(labels)), key=lambda place: label_order(labels[place]))
    return with_items(picked, frozenset(labels), order)


def _convert_counts(selection: Selection, unit: Fraction, hidden_floor: Fraction) -> Selection:
    """Counts and their bounds in units of `unit`, with a floor that was taken off added; unchanged without counts."""
    counts, bounds = selection.counts, selection.bounds
    return replace(
        selection,
        counts=None if counts is None else tuple(unit * count + hidden_floor for count in counts),
        bounds=None if bounds is None else tuple(bound.convert(unit, hidden_floor) for bound in bounds),
    )


def _items_in_label_order(picked: Selection) -> list[Label]:
    """The items of a selection in the order in which they are named: those of a set in label order."""
    return list(picked.items) if isinstance(picked.items, tuple) else sorted(picked.items, key=label_order)
