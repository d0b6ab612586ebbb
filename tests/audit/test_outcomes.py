"""Whatever a mechanism returns becomes something that can be counted."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np

from crestline.audit.outcomes import OutcomeReader, error_outcome
from crestline.audit.testers.features import kind_text
from crestline.mechanisms.selection import Selection


def test_a_selection_is_its_items_its_stop_and_its_numbers() -> None:
    read = OutcomeReader()
    plain = read(Selection(("a", "b"), True))
    assert (plain.names, plain.ordered, plain.numbers) == (("a", "b"), True, ())
    assert plain == read(Selection(("a", "b"), True))
    assert plain != read(Selection(("b", "a"), True))
    assert plain != read(Selection(("a", "b"), False))
    both = read(Selection(frozenset("ba"), False, (Fraction(1, 2), Fraction(3))))
    assert (both.names, both.ordered, both.numbers) == (("a", "b"), False, (Fraction(1, 2), Fraction(3)))


def test_anything_else_can_be_counted_too() -> None:
    read = OutcomeReader()
    assert read("x") == read("x")
    assert read([1, 2]) == read((1, 2))
    assert read({"a": [1]}) == read({"a": [1]})
    assert read(["a", 2.5]).numbers == (2.5,)
    assert read(["a", 2.5]).key == read(["a", 3.5]).key
    assert read(np.array([0.5, 1.5])).numbers == (0.5, 1.5)
    assert read(Decimal("0.5")).numbers == (Fraction(1, 2),)
    assert read({"a", "b"}) == read(frozenset("ab"))


def test_an_error_is_an_outcome() -> None:
    assert error_outcome(ValueError("private words")) == error_outcome(ValueError("others"))
    assert error_outcome(ValueError()) != error_outcome(KeyError())


def test_outcomes_are_shown_in_words() -> None:
    read = OutcomeReader()
    assert kind_text(read(Selection((), True)).key) == "nothing, stopped"
    assert kind_text(read(Selection(("a", "b"), False)).key) == "(a, b)"
    assert kind_text(read(Selection(frozenset("ba"), True)).key) == "{a, b}, stopped"
    assert kind_text(3) == "3"
