"""The review of an answer: everything that must be said is said, in words and in formulas."""

from __future__ import annotations

import dataclasses

import pytest
from tests.answer.made import made

from crestline.answer.answer import Answer, Bill
from crestline.answer.promise_text import (
    exclusions,
    percent_rounded_down,
    percent_rounded_up,
    promise_in_formulas,
    promise_in_words,
)
from crestline.guarantees.guarantee import ZCDP, PureDP

BILL = Bill("ledger.db", "rho 0.1, delta 1e-09", "rho 0.05, delta 1e-09", "rho 0.9, delta 9e-08", 3)


def text(lines: tuple[str, ...]) -> str:
    return "\n".join(lines)


def test_the_promise_in_words() -> None:
    words = text(promise_in_words(made(("a", "b"))))
    assert "2 names of 'venue', of 5 asked for; no counts." in words
    assert "every value of the column 'user'" in words
    assert "at most 2.72 times more likely" in words
    assert "1e-08 (1 in 100,000,000)" in words
    assert "part of the protection" in words
    assert "No ledger kept count" in words


def test_counts_and_ledgers_are_mentioned() -> None:
    words = text(promise_in_words(made(("a",), counts=[3], bill=BILL)))
    assert "a noisy count for each" in words
    assert "Charged to the ledger ledger.db: rho 0.05" in words
    assert "served again" in text(promise_in_words(made(("a",), stored=True)))


def test_a_full_answer_does_not_speak_of_stopping() -> None:
    assert "stopped" not in text(promise_in_words(made(tuple("abcde"))))


def test_the_promise_in_formulas() -> None:
    lines = text(promise_in_formulas(made(("a",))))
    assert "M = LimitedDomain(k=5)" in lines
    assert "Pr[M(D) in S] <= exp(epsilon) Pr[M(D') in S] + delta, with epsilon = 1, delta = 1e-08." in lines
    assert "Theorem: P3.2" in lines
    assert "= 73.2%" in lines


def other(answer: Answer, **changes: object) -> Answer:
    return dataclasses.replace(answer, **changes)  # type: ignore[arg-type] # any field


def test_other_promises_are_converted_in_sight() -> None:
    lines = text(promise_in_formulas(other(made(("a",)), guarantee=ZCDP("0.1", "1e-9", theorem="P4.2"))))
    assert "M is 0.1-zCDP outside probability 1e-09; so, by P10.2:" in lines
    assert "delta = 2e-09." in lines


def test_a_pure_promise_has_no_exception() -> None:
    answer = other(made(("a",)), guarantee=PureDP(1))
    assert "except" not in text(promise_in_words(answer))


def test_what_is_not_promised() -> None:
    lines = text(exclusions(made(("a",))))
    for words in ("k-anonymity", "a family", "everybody else's data", "side channels", "No ledger", "no ledger"):
        assert words.lower() in lines.lower()
    assert "outside" in lines
    assert "Not other releases" in text(exclusions(made(("a",), bill=BILL)))


def test_bounded_contributions_are_mentioned() -> None:
    answer = made(("a",))
    bounded = other(answer, question=dataclasses.replace(answer.question, contribution=3))
    assert "at most 3 count" in text(exclusions(bounded))
    assert "at most 3 items" in text(promise_in_formulas(bounded))


def test_replayed_answers_promise_nothing() -> None:
    answer = made(("a",), replayed=True)
    assert exclusions(answer)[0].startswith("NOTHING")
    assert "does NOT hold" in text(promise_in_words(answer))
    assert "cryptographic" not in text(promise_in_words(answer))


def test_a_long_epsilon_is_given_exactly_and_readably() -> None:
    lines = text(promise_in_formulas(other(made(("a",)), guarantee=PureDP("1/3"))))
    assert "epsilon = 1/3 (at most 0.333334)" in lines


@pytest.mark.parametrize(
    ("share", "low", "high"),
    [
        (0.0, "0%", "0%"),
        (0.01, "1%", "1%"),
        (0.5, "50%", "50%"),
        (0.0267263, "2.67%", "2.68%"),
        (0.99999, "99.9%", "100%"),
        (1.0, "100%", "100%"),
    ],
)
def test_percentages_round_away_from_comfort(share: float, low: str, high: str) -> None:
    assert percent_rounded_down(share) == low
    assert percent_rounded_up(share) == high
