"""The groups of an answer: the result of each, and conversions to one list and to an answer of one group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from crestline.histogram.label_order import Label, label_order

if TYPE_CHECKING:
    from crestline.answer.answer import Answer
    from crestline.answer.count_intervals import Interval, RankInterval
    from crestline.question import Question


@dataclass(frozen=True)
class GroupItems:
    """Result of one group.

    Attributes:
        label: Label of the group: a value, or a tuple if `by` has several columns.
        items: Released items: a tuple in the released order, or a frozenset.
        stopped: Whether the mechanism stopped early, with fewer items than wanted.
        counts: One noisy count for each item, in the order of `listed_items`; None unless requested.
        intervals: The 95% interval of each count.
        rank_intervals: The best and the worst rank of each item in its group.
    """

    label: Label
    items: tuple[Label, ...] | frozenset[Label]
    stopped: bool
    counts: tuple[Fraction, ...] | None = None
    intervals: tuple[Interval, ...] | None = None
    rank_intervals: tuple[RankInterval, ...] | None = None

    @property
    def listed_items(self) -> tuple[Label, ...]:
        """The items as a tuple: in the released order, or, for a set, in byte order of their labels."""
        return self.items if isinstance(self.items, tuple) else tuple(sorted(self.items, key=label_order))


def flatten_groups(groups: Sequence[GroupItems]) -> dict[str, Any]:
    """Fields of an answer with all groups: (group, item) pairs, their counts, and whether any group stopped early."""
    pairs = [(group.label, item) for group in groups for item in group.listed_items]
    ordered = all(isinstance(group.items, tuple) for group in groups)
    return {
        "items": tuple(pairs) if ordered else frozenset(pairs),
        "counts": _join([group.counts for group in groups]),
        "intervals": _join([group.intervals for group in groups]),
        "rank_intervals": _join([group.rank_intervals for group in groups]),
        "stopped": any(group.stopped for group in groups),
    }


def _join(parts: Sequence[tuple[Any, ...] | None]) -> tuple[Any, ...] | None:
    """The values of all groups one after the other; None where a group has none, or where there is no group."""
    known = [part for part in parts if part is not None]
    return tuple(value for part in known for value in part) if known and len(known) == len(parts) else None


def group_as_answer(answer: Answer, group: GroupItems) -> Answer:
    """One group as an answer of its own, with the guarantee and the bill of the whole answer."""
    question = answer.question
    note = (
        f"This is the group {format_group(group.label, question.by)} of a larger answer: "
        f"{groups_per_user_text(question)}. The promise "
        "and the bill are those of the whole answer."
    )
    alone = replace(question, by=(), groups_per_user=1, groups=None, floor=1)
    return replace(
        answer,
        items=group.items,
        counts=group.counts,
        intervals=group.intervals,
        rank_intervals=group.rank_intervals,
        stopped=group.stopped,
        question=alone,
        title=f"{answer.heading}: {format_group(group.label, question.by)}",
        by_group=None,
        notes=(*answer.notes, note),
    )


def groups_per_user_text(question: Question) -> str:
    """In words, the number of groups in which one user counts."""
    many = question.groups_per_user
    what = " and ".join(f"'{name}'" for name in question.by)
    return (
        f"each '{question.user}' counts in " + ("one group" if many == 1 else f"at most {many} groups") + f" by {what}"
    )


def format_group(label: Label, by: Sequence[str]) -> str:
    """A group in words: the value of each of its columns."""
    parts = label if len(by) > 1 and isinstance(label, tuple) else (label,)
    return ", ".join(f"{name} = {part}" for name, part in zip(by, parts, strict=False))


def items_found_text(groups: Sequence[GroupItems], k: int) -> str:
    """In words, the numbers of items and groups, and the number of groups with all `k` items."""
    full = sum(not group.stopped for group in groups)
    where = "each" if full == len(groups) else str(full)
    text = (
        f"{_number_of_things(sum(len(group.items) for group in groups), 'item')} in "
        f"{_number_of_things(len(groups), 'group')}"
    )
    return f"{text}, all {k} in {where} of them" if len(groups) > 1 else text


def _number_of_things(many: int, what: str) -> str:
    return {0: f"no {what}", 1: f"1 {what}"}.get(many, f"{many} {what}s")
