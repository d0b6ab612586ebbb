"""Scores other than the number of users: the sum of a column."""

from __future__ import annotations

import re
from dataclasses import dataclass

from crestline.errors import QuestionError
from crestline.exact_numbers import whole_number

LARGEST_CLIP = 2**63 - 1
_SUM = re.compile(r'\s*sum\s*\(\s*(?:"(?P<quoted>(?:[^"]|"")+)"|(?P<plain>[^"()]*[^"()\s]))\s*\)\s*', re.IGNORECASE)
_PLAIN_NAME = re.compile(r'[^"()*/+\s](?:[^"()*/+]*[^"()*/+\s])?')
_CALCULATION = re.compile(r"[*/+]")


@dataclass(frozen=True)
class Sum:
    """Ranks items by a sum, to which each user adds at most `clip`, a public number, per item."""

    column: str
    clip: int

    def __post_init__(self) -> None:
        if whole_number(self.clip, "clip") > LARGEST_CLIP:
            raise QuestionError(f"clip must be at most {LARGEST_CLIP}")

    @classmethod
    def parse(cls, score: str | None, clip: int | None) -> Sum | None:
        """Parse `sum(column)` with its clip; a name with special characters is in double quotes. None without a score.

        Raises QuestionError for one without the other, or for another expression.
        """
        if score is None:
            if clip is not None:
                raise QuestionError("clip goes with score, as in score='sum(price)', clip=100")
            return None
        if clip is None:
            raise QuestionError("a score needs clip: the most that one user may add to one item (a public number)")
        match = _SUM.fullmatch(score) if isinstance(score, str) else None
        if match is None:
            raise QuestionError("score must be of the form sum(column); leave it out to count users")
        if match["plain"] and _CALCULATION.search(match["plain"]):
            raise QuestionError(
                f"sum() takes one column; make a view or an Ibis column for {match['plain']}, and sum that (a column "
                "of this name is written in double quotes)"
            )
        return cls(match["plain"] or match["quoted"].replace('""', '"'), clip)

    def __str__(self) -> str:
        if _PLAIN_NAME.fullmatch(self.column):
            return f"sum({self.column})"
        quoted = self.column.replace('"', '""')
        return f'sum("{quoted}")'
