"""What is asked: whose presence is hidden, which items are ranked, how many are wanted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crestline.errors import ParameterError, QuestionError
from crestline.parameters import LARGEST_CONTRIBUTION, LARGEST_K, LARGEST_K_BAR, whole


@dataclass(frozen=True)
class Question:
    """One question to one table. Pure: it names columns and never opens anything.

    user           the column that holds the privacy unit
    item           one or several columns; several make a tuple
    k, k_bar       items wanted; items the mechanism may see
    where          one boolean expression over columns (parsed and checked by the source)
    contribution   at most this many items are counted per user (None: no bound)
    score          None counts distinct users; `sum(column)` adds a column up, clipped per user and item at `clip`
    """

    user: str
    item: tuple[str, ...]
    k: int
    k_bar: int
    where: str | None = None
    contribution: int | None = None
    score: str | None = None
    clip: int | None = None

    @property
    def unit(self) -> str:
        """What a margin or a noise is so many of: users, or what is added up."""
        return "users" if self.score is None else f"of {self.score}"

    def __post_init__(self) -> None:
        whole(self.k, "k", at_most=LARGEST_K)
        whole(self.k_bar, "k_bar", at_most=LARGEST_K_BAR)
        if self.k > self.k_bar:
            raise ParameterError(f"k_bar must be at least k: k is {self.k}, k_bar is {self.k_bar}")
        if self.contribution is not None:
            whole(self.contribution, "contribution", at_most=LARGEST_CONTRIBUTION)
        if not self.user or not isinstance(self.user, str):
            raise QuestionError("user must name the column that holds the user")
        if not self.item or not all(isinstance(name, str) and name for name in self.item):
            raise QuestionError("item must name one or several columns")


def item_columns(item: str | Sequence[str]) -> tuple[str, ...]:
    """One column name, or several, as a tuple."""
    return (item,) if isinstance(item, str) else tuple(item)
