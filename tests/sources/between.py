"""A mechanism with somebody who writes to the table while it works: between the counting and the naming."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from crestline.answer.answer import Answer
from crestline.ask import ask
from crestline.errors import MechanismError, QuestionError, SourceError
from crestline.guarantees.guarantee import PureDP
from crestline.histogram.view_kinds import PAIRS, SLOTS, View, view_of
from crestline.mechanisms.selection import Selection
from crestline.prepare import prepare
from crestline.question import Question
from crestline.randomness.entropy import replay
from crestline.sources import Source
from tests.sources import oracle, oracle_views

# 12 and 11 are counted by two users each, 10 by one; afterwards 10 and 11 by two, 12 by three: every place has moved.
BEFORE = pa.table({"user": [1, 2, 1, 2, 1], "item": [12, 12, 11, 11, 10]})
AFTER = pa.table({"user": [1, 2, 3, 1, 2, 1, 2, 4], "item": [12, 12, 12, 11, 11, 10, 10, 14]})
DOMAIN = [10, 11, 12, 13, 14, 15]
NAMED = (12, 11, 10, 15, 13, 14)


@dataclass(frozen=True)
class Interrupted:
    """Chooses by places, after `write` has changed the table."""

    write: Callable[[], Any]

    def guarantee(self) -> PureDP:
        return PureDP(1)

    def release(self, histogram: Any, entropy: Any) -> Selection:
        self.write()
        return Selection(histogram.names([1, 0, 2, 5, 3, 4]), False)


def answered(source: Source, write: Callable[[], Any], domain: Any) -> Answer:
    mechanism = Interrupted(write)
    question = Question(k=6, k_bar=6, mechanism=mechanism, domain=domain)
    return ask(prepare(question), source=source, entropy=replay("between"))


def views_stay(source: Source, write: Callable[[], Any]) -> bool:
    """Whether all views of pairs are those of the table before `write`, also those that are asked for afterwards."""
    pairs = oracle.pairs(BEFORE.to_pylist(), Question(k=1, k_bar=1))
    weights, key = np.ones(3, dtype=np.int64), bytes(range(32))  # nobody has more items: no hash decides
    with source.reading(Question(k=1, k_bar=1), key, PAIRS) as reading:
        views: Any = reading.histogram
        first = views.users_with(1)
        write()
        alive = views.pairs_in_buckets(key, np.ones(8, dtype=np.bool_))
        items = alive.observed_items(key, weights)
        named = dict(zip(items.names(range(items.size)), map(items.score_of, range(items.size)), strict=True))
        seen = [first, views.users_with(3), views.users_by_items().tolist(), named]
    expected = [oracle_views.users_with(pairs, rank) for rank in (1, 3)]
    return seen == [*expected, oracle_views.users_by_items(pairs), oracle_views.observed(pairs, key, [1, 1, 1])]


def refuses_all_items(source: Source) -> None:
    """No pair is read where users and items would be numbered as their rows arrive, and `auto` looks at slots there.

    Numbers in place of labels let a user whose rows come first move the items of all others: loads by 21.8 in place of
    1, cells by 13, scores by 9; 14 of the items of others were no longer seen.
    """
    told: dict[str, Any] = {"epsilon": 2, "delta": Fraction(1, 10**6)}
    sieves, bounded = ({"mechanism": "Sieve"}, {"mechanism": "Routed"}), {"mechanism": "Observed", "contribution": 2}
    for options in (*sieves, bounded):
        with pytest.raises(MechanismError, match="one state of the table"):
            prepare(Question(k=1, **told, **options), limits=source.limits)
    for view in (PAIRS, View("observed", (1, 1))):
        with pytest.raises(QuestionError, match="one state of the table"):
            source.check(Question(k=1, k_bar=1), view)
        with pytest.raises(SourceError, match="one state of the table"):
            source.reading(Question(k=1, k_bar=1), bytes(32), view).__enter__()
    for bound in (None, 2):
        chosen = prepare(Question(k=1, contribution=bound, **told), limits=source.limits)
        assert view_of(chosen.mechanism) == SLOTS
        assert ask(chosen, source=source, entropy=replay("slots")).items in ((), *((item,) for item in (*DOMAIN, "a")))


def coverage_stays(source: Source, write: Callable[[], Any]) -> bool:
    """Whether coverage is that of the table before `write`, which comes between the counts and the coverage."""
    question = Question(k=1, k_bar=3, coverage=True)
    with source.reading(question, bytes(range(32))) as reading:
        write()
        assert reading.coverage is not None
        return reading.coverage([10]) == (1, 1) and reading.coverage([14]) == (0, 2)
