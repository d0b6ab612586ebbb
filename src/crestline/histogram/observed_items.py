"""Observed items: every item that a user keeps, with its score (P17.2).

Items of equal score are alike to a mechanism, so only the number of items with each score is needed. Items without a
user are not represented.

With a public floor `f` an item is observed only if at least `f` users keep it, and `f - 1` full weights are subtracted
from every score, which is the same as adding them to a threshold (P17.6). So an item that is observed only because of
one user has, as without a floor, at most the score which that user gives it. Where users have less than the full
weight, scores may be negative.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from crestline.errors import ParameterError
from crestline.exact_numbers import whole_number
from crestline.histogram.histogram import Histogram
from crestline.histogram.label_order import Label, label_order


class ObservedItems(Histogram):
    """Observed items in classes of equal score, the largest score first.

    Its items are `(score, index within that score)` pairs. Mechanisms for slots and for a public list refuse it.

    Args:
        how_many: Number of items with each score; scores are integers.
        unit: Largest score of an item from one user.
        floor: A public number: at least this number of users keep each item, and its score is reduced by the floor.
        labels: Labels of all items, in order, if they are known.
        named: Function from picked items to their labels.
        users_of: Function from picked items to their numbers of users; None where scores are all that is known.

    Raises:
        ParameterError: A number is not valid, or `labels` has another length.
    """

    def __init__(
        self,
        how_many: Mapping[int, int],
        *,
        unit: int = 1,
        floor: int = 1,
        labels: Sequence[Label] | None = None,
        named: Callable[[Sequence[tuple[int, int]]], Sequence[Label]] | None = None,
        users_of: Callable[[Sequence[tuple[int, int]]], Sequence[int]] | None = None,
    ) -> None:
        self.floor, least = whole_number(floor, "floor"), 1 - floor_reduction(floor, whole_number(unit, "unit"))
        classes = (
            (whole_number(score, "score", at_least=least), whole_number(many, "how_many"))
            for score, many in how_many.items()
        )
        groups = sorted(classes)[::-1]
        self.scores: NDArray[np.int64] = np.array([score for score, _ in groups], dtype=np.int64)
        sizes = np.array([many for _, many in groups], dtype=np.int64)
        self.starts: NDArray[np.int64] = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])
        self._named, self._users_of = named, users_of
        self._listed = None if labels is None else tuple(labels)
        if self._listed is not None and len(self._listed) != self.size:
            raise ParameterError("there must be one label for each observed item")
        super().__init__((), np.zeros(0, dtype=np.int64), None, unit=unit, padded=False, filled=self.size)

    @classmethod
    def from_scores(cls, scores: Mapping[Label, int], *, unit: int = 1, floor: int = 1) -> ObservedItems:
        """Observed items from the score of every label; without a floor, labels of score zero are dropped.

        Raises:
            ParameterError: A score is not valid.
        """
        least = -floor_reduction(floor, unit)
        known = {label: whole_number(score, "score", at_least=least) for label, score in scores.items()}
        ranked = sorted(
            (pair for pair in known.items() if pair[1] or least), key=lambda pair: (-pair[1], label_order(pair[0]))
        )
        how_many: dict[int, int] = {}
        for _, score in ranked:
            how_many[score] = how_many.get(score, 0) + 1
        return cls(how_many, unit=unit, floor=floor, labels=[label for label, _ in ranked])

    @property
    def size(self) -> int:
        """Number of observed items."""
        return int(self.starts[-1])

    @property
    def k_bar(self) -> int:
        return self.size

    def name(self, position: int) -> Label:
        return self.names([position])[0]

    def names(self, positions: Sequence[int]) -> tuple[Label, ...]:
        if self._listed is not None:
            return tuple(self._listed[position] for position in positions)
        picks = [self._pick_at(position) for position in positions]
        return tuple(picks if self._named is None else self._named(picks))

    def count_users(self, positions: Sequence[int]) -> Sequence[int]:
        """Number of users of the items at some ranks, without a cap, weights or a floor."""
        assert self._users_of is not None, "asked only of pairs"
        return self._users_of([self._pick_at(position) for position in positions])

    def _pick_at(self, position: int) -> tuple[int, int]:
        group = int(np.searchsorted(self.starts, position, side="right")) - 1
        return int(self.scores[group]), position - int(self.starts[group])

    def score_of(self, position: int) -> int:
        """Score of the item at a rank."""
        return int(self.scores[np.searchsorted(self.starts, position, side="right") - 1])


def floor_reduction(floor: int, unit: int) -> int:
    """Reduction of every score by a floor: the largest score that `floor - 1` users can give an item (P17.6)."""
    return (floor - 1) * unit
