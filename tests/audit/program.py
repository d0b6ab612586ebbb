"""The whole program under attack: rows of a table go in, an answer comes out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from crestline.ask import ask
from crestline.audit.claims import Claim, claim
from crestline.audit.neighbours import NeighbourPair
from crestline.audit.outcomes import Outcome, OutcomeReader
from crestline.prepare import prepare
from crestline.question import Question
from crestline.randomness.entropy import Entropy
from crestline.sources import open_source

Row = tuple[str | None, str | None]


def rows(pair: NeighbourPair, with_user: bool) -> list[Row]:
    """A table with these counts: many users of one item each, and one user who holds all of theirs.

    Rows that must not count are strewn in: repeats, and rows without a user or without an item.
    """
    made: list[Row] = [(None, "a"), ("nobody", None)]
    for label, count in pair.without.items():
        made += [(f"{label}-{number}", label) for number in range(count)]
    made += made[2:7]
    if with_user:
        made += [("the user", label) for label in (*pair.items_of_user, *pair.items_of_user[:2])]
    return made


def table(made: list[Row]) -> Any:
    return pa.table(
        {"user": pa.array([r[0] for r in made], pa.string()), "item": pa.array([r[1] for r in made], pa.string())}
    )


@dataclass
class Program:
    """Asks the same question again and again, without books, of a table in memory."""

    mechanism: Any
    entropy: Entropy
    contribution: int | None = None
    read: OutcomeReader = field(default_factory=OutcomeReader)

    @property
    def claim(self) -> Claim:
        return claim(self.mechanism.guarantee())

    def sample_side(self, pair: NeighbourPair, with_user: bool, n: int) -> Counter[Outcome]:
        source = open_source(table(rows(pair, with_user)))
        prepared = prepare(Question(k=self.mechanism.k, mechanism=self.mechanism, contribution=self.contribution))
        answers = (ask(prepared, source=source, entropy=self.entropy) for _ in range(n))
        return Counter(self.read(answer) for answer in answers)
