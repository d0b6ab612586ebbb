"""The explanation for analysts: five short lines, in plain words, that say no more than the answer does."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from tests.answer.made import made

from crestline.answer.answer import Answer, Bill
from crestline.answer.count_intervals import count_intervals
from crestline.answer.promise_text import promise_in_formulas
from crestline.answer.warnings import number_of_close_pairs, smallest_clear_difference, with_warnings
from crestline.guarantees.guarantee import ZCDP, ApproxDP, PureDP
from crestline.histogram.count_bounds import CountBounds
from crestline.histogram.route import Route

BILL = Bill(
    "ledger.db", "rho 0.007, delta 1e-10", "rho 0.0044, delta 1e-10", "rho 0.066, delta 4e-8", 3, 0.063, 0.937, 14, 1.94
)
FULL = ("a", "b", "c", "d", "e")


def lines(answer: Answer) -> list[str]:
    return answer.explain().replace("\n  ", " ").splitlines()


def test_five_lines() -> None:
    answer = made(FULL, counts=[90, 50, 49, 20, 1], spread=7.2, bill=BILL)
    assert lines(answer) == [
        "Answered: all 5 (the 5 values of 'venue' with the most users, in checkins.csv), the most popular first as "
        "far as noise allows.",
        "Needed: a lead of about 121 users over rank 26, to be named with 95% probability. It follows from the "
        "parameters, not from the data.",
        "Counts: ±8 users (95% of the noise stays within). Ranks follow the counts: 1 pair of neighbours is too close "
        "to be sure of their order.",
        "Promised: this answer changes the odds that any one 'user' is in the data at most 2.72-fold, except with "
        "probability 1e-08.",
        "Paid: 6.3% of the budget (ledger.db); 93.7% (worth epsilon 1.94) is left, about 14 more like it.",
    ]


def test_counts_of_a_set_have_no_neighbours() -> None:
    said = lines(made(frozenset(FULL), counts=[5, 4, 3, 2, 1], spread=1.0))[2]
    assert said.endswith("Of two items whose counts are less than 2 apart, either may be the more popular.")


def test_experts_words_stay_out() -> None:
    text = made(FULL, counts=[5, 4, 3, 2, 1], spread=1.0, bill=BILL).explain()
    for words in ("theorem", "P3.2", "rho", "LimitedDomain", "k_bar"):
        assert words not in text


@pytest.mark.parametrize(
    ("items", "k", "said"),
    [
        (("a",), 1, "Answered: the one asked for (the value of 'venue' with the most users, in checkins.csv)."),
        (
            (),
            1,
            "Answered: none of the value of 'venue' with the most users, in checkins.csv; then it stopped on purpose",
        ),
        (
            ("a", "b"),
            5,
            "Answered: 2 of the 5 values of 'venue' with the most users, in checkins.csv, the most popular first",
        ),
        (
            frozenset({"a", "b"}),
            2,
            "Answered: all 2 (the 2 values of 'venue' with the most users, in checkins.csv), as a set: their order",
        ),
    ],
)
def test_what_came_back(items: object, k: int, said: str) -> None:
    answer = made(items)
    answer = replace(answer, question=replace(answer.question, k=k), stopped=len(answer) < k)
    assert lines(answer)[0].startswith(said)


def test_what_was_paid() -> None:
    assert "no ledger was given" in made(FULL).explain()
    assert "Paid: nothing, because this is the stored answer" in made(FULL, bill=BILL, stored=True).explain()
    assert "not enough for another" in made(FULL, bill=replace(BILL, more=0)).explain()
    old = Bill("ledger.db", "rho 2, delta 0", "rho 1, delta 0", "rho 3, delta 0", 1)
    assert "Paid: rho 1, delta 0 (reserved rho 2, delta 0); left in the ledger ledger.db: rho 3" in made(
        FULL, bill=old
    ).explain().replace("\n  ", " ")
    assert made(FULL, bill=BILL).spent == "6.3% of the budget"
    assert made(FULL, bill=BILL).remaining == "93.7% (worth epsilon 1.94) is left, about 14 more like it"


def test_odds_without_delta_and_of_concentrated_promises() -> None:
    assert "at most 1.65-fold." in replace(made(FULL), guarantee=PureDP("0.5")).explain().replace("\n  ", " ")
    assert "except with probability 1e-09" in replace(made(FULL), guarantee=ZCDP("0.01")).explain().replace("\n  ", " ")
    assert "at most e^800-fold" in replace(made(FULL), guarantee=PureDP(800)).explain().replace("\n  ", " ")


@pytest.mark.parametrize(
    ("epsilon", "delta", "warned"),
    [("10", "1e-5", []), ("10.1", "1e-5", ["epsilon"]), ("1", "2e-5", ["delta"]), ("11", "1e-3", ["epsilon", "delta"])],
)
def test_warnings_about_promises_that_are_hardly_any(epsilon: str, delta: str, warned: list[str]) -> None:
    notes = with_warnings(replace(made(FULL), guarantee=ApproxDP(epsilon, delta))).notes
    assert [note.split()[1] for note in notes] == warned
    assert all(note.startswith("Warning: ") for note in notes)


@pytest.mark.parametrize(
    ("items", "noted_"),
    [
        (("caf\N{REPLACEMENT CHARACTER}", "b"), True),
        ((("DE", ("a", "caf\N{REPLACEMENT CHARACTER}")), ("DE", ("a", "b"))), True),
        (("café", 3, None), False),
        ((), False),
    ],
)
def test_names_in_another_encoding_are_told_what_to_do(items: object, noted_: bool) -> None:
    assert any("iconv -f latin1" in note for note in with_warnings(made(items)).notes) is noted_


def test_how_sure_the_order_of_neighbours_is_follows_from_the_noise() -> None:
    answer = made(FULL, counts=[100, 90, 89, 70, 40], spread=10.0)
    bound = smallest_clear_difference(answer)
    assert bound == pytest.approx(14.1421, abs=1e-3)
    assert number_of_close_pairs(answer) == 2
    assert smallest_clear_difference(made(FULL)) is None
    assert answer.rank_intervals == ((1, 3), (1, 3), (1, 3), (4, 4), (5, 5))
    assert number_of_close_pairs(made(FULL, counts=[1, 1, 1, 1, 1])) == 0  # the noise is not known
    assert made(FULL, counts=[1, 1, 1, 1, 1]).intervals is None


def test_counts_with_intervals_of_their_own_cost_nothing() -> None:
    bounds = [CountBounds(Fraction(count - 9), Fraction(count + 11), Fraction(8)) for count in (100, 90, 60, 40, 39)]
    known = count_intervals([Fraction(count) for count in (100, 90, 60, 40, 39)], bounds, None, ordered=True)
    assert known.rank_intervals == ((1, 2), (1, 2), (3, 3), (4, 5), (4, 5))
    answer = made(FULL, counts=[100, 90, 60, 40, 39], **vars(known))
    assert lines(answer)[2] == (
        "Counts: users, each within its interval with 95% probability (±17% in the middle of the list). They cost "
        "nothing: they follow from what named the items. Ranks follow the counts: 2 pairs of neighbours are too close "
        "to be sure of their order."
    )
    bounded = replace(answer, question=replace(answer.question, contribution=5))
    assert "users, counting at most 5 of each 'user', each within" in lines(bounded)[2]


def test_a_noisy_query_is_a_number_for_analysts_and_names_its_mechanisms_for_experts() -> None:
    looked = made(FULL, route=Route(lead=526, spread=298, needed=248, taken="RestrictedGumbel", other="Sieve"))
    assert lines(looked)[1] == (
        "Noisy query: item 5 leads rank 26 by 526 (±298) users. The promise includes this query, which decided how "
        "items were found."
    )
    told = " ".join(promise_in_formulas(looked))
    assert "= 526 (±298) >= 248, so RestrictedGumbel answered, not Sieve" in told
    chosen = replace(made(FULL), mechanism=replace(looked.mechanism, instead="the next best, X, needs more"))
    assert "The next best, X, needs more." in promise_in_formulas(chosen)
    assert "next best" not in chosen.explain()
