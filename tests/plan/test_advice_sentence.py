"""The advice follows from the lines."""

from __future__ import annotations

from tests.plan.made import QUESTION, line

from crestline.plan.advice_sentence import advice_sentence, advised_row


def test_the_best_is_recommended() -> None:
    said = advice_sentence(QUESTION, (line("A", 9.1, 0.95), line("B", 5.0, 0.6)), auto="B")
    assert said == (
        "Take A with k_bar=50: about 9.1 of 10 items, 95.0% of the score of the true top 10; the next best, B, 60.0%."
    )


def test_among_equals_the_automatic_one_is_taken() -> None:
    rows = (line("A", 9.1, 0.95), line("B", 9.0, 0.94), line("C", 8.9, 0.939), line("D", 8, 0.9))
    assert advice_sentence(QUESTION, rows, auto="D").startswith("Take A")
    said = advice_sentence(QUESTION, rows, auto="B")
    assert said.startswith("Take B")
    assert said.endswith("; A and C would do as well.")
    exact = (line("A", 10, 0.99999, 0.0), line("B", 10, 0.9998, 0.0))
    assert advice_sentence(QUESTION, exact, auto="B").endswith("; A would do as well.")


def test_a_hopeless_question_is_called_hopeless() -> None:
    assert advice_sentence(QUESTION, (line("A", 0.2, 0.05),), "A").startswith("Expect nothing at this price")
    assert advice_sentence(QUESTION, (), "A").startswith("No mechanism can answer this")


def test_the_picture_marks_what_the_text_advises() -> None:
    rows = (line("A", 9.1, 0.95), line("B", 9.0, 0.94), line("D", 8, 0.9))
    assert advised_row(rows, "B").mechanism == "B"
    assert advised_row(rows, "D").mechanism == "A"
