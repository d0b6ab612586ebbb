"""Find the counts from which a mechanism names items: privacy is tested hardest there."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from crestline.audit.neighbours import HistogramShape, labels
from crestline.audit.outcomes import Outcome
from crestline.audit.target import AuditSubject
from crestline.mechanisms.stability.query import QueryAnswer

_TRIALS = 24
_LARGEST = 1 << 24


def find_naming_levels(subject: AuditSubject, shape: HistogramShape) -> tuple[int, ...]:
    """For a few groups of items that are alone in the table: the smallest count at which they are usually named."""
    slots = shape.k_bar or len(shape.domain)
    names = list(shape.domain) or labels(slots + 1)
    groups = [names[:1], names[slots - 1 : slots], names[: min(subject.k, slots)], names[:slots]]
    levels = {_find_level(subject, shape, group) for group in groups}
    return tuple(sorted(level for level in levels if level is not None))


def _find_level(subject: AuditSubject, shape: HistogramShape, group: Sequence[str]) -> int | None:
    """Smallest count at which the group is named, by doubling and halving; None if count 0 suffices or none up to
    2^24.
    """
    if _names_group(subject, shape, group, 0):
        return None
    high = 1
    while not _names_group(subject, shape, group, high):
        high *= 2
        if high > _LARGEST:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _names_group(subject, shape, group, middle) else (middle, high)
    return high


def _names_group(subject: AuditSubject, shape: HistogramShape, group: Sequence[str], count: int) -> bool:
    """Whether at least half of the releases name the group: all its items, or one if it has more than k."""
    sample = subject.sample(dict.fromkeys(group, count), shape, _TRIALS)

    def names_them(outcome: Outcome) -> bool:
        flags = [label in _named_items(outcome) for label in group]
        return any(flags) if len(group) > subject.k else all(flags)

    return 2 * sum(times for outcome, times in sample.items() if names_them(outcome)) >= _TRIALS


def _named_items(outcome: Outcome) -> set[Hashable]:
    """Every item in an outcome, also within answers to queries."""
    items: set[Hashable] = set()
    for name in outcome.names:
        value = name.value if isinstance(name, QueryAnswer) else name
        items |= value if isinstance(value, frozenset) else {value}
    return items
