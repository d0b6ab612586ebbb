"""The picture of a finding."""

from __future__ import annotations

from typing import Any

import pytest
from tests.audit.broken.known_domain import FloatGrid
from tests.audit.broken.limited_domain import NoPlusOne

from crestline.audit.neighbours import HistogramShape, NeighbourPair
from crestline.audit.plot import plot, rows
from crestline.audit.protocols import AttackResult
from crestline.audit.target import prepare_subject
from crestline.randomness.entropy import replay

PAIR = NeighbourPair({"a": 1, "b": 1, "c": 1}, {}, HistogramShape(3), "nothing but one user")


def found(pair: NeighbourPair, tells: Any) -> AttackResult:
    return AttackResult("sampled", pair, 2.5, True, "the answer is (a)", True, 0.1, 0.0, tells)


def test_every_outcome_has_a_row_for_each_table() -> None:
    tested = prepare_subject(NoPlusOne(), replay("plot"))
    made = rows(tested, found(PAIR, lambda outcome: bool(outcome.names)))
    for table in ("with the user", "without the user"):
        assert sum(row["probability"] for row in made if row["table"] == table) == pytest.approx(1.0)
    assert {row["outcome"] for row in made if row["event"]} == {"(a)", "(b)", "(c)"}


def test_the_picture_says_what_was_found() -> None:
    tested = prepare_subject(NoPlusOne(), replay("plot"))
    svg = plot(tested, found(PAIR, lambda outcome: bool(outcome.names))).svg()
    for words in ("NoPlusOne: the promise is broken", "nothing, stopped", "with the user", "without the user: (empty)"):
        assert words in svg


def test_printed_numbers_are_shown_in_bins() -> None:
    tested = prepare_subject(FloatGrid(), replay("plot"))
    pair = NeighbourPair({"a": 1}, {}, HistogramShape(None, tuple("abcd")), "one user")
    made = rows(tested, found(pair, lambda outcome: float(outcome.numbers[0]) > 0))
    assert 5 <= len({row["outcome"] for row in made}) <= 15
    assert {row["event"] for row in made} == {True, False}
