"""Scores that are sums and logarithms: doubles within their error, balls around the truth."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import ctx

from crestline.randomness.reals import Real
from crestline.randomness.scores import Equal, Linear, Listed, Logarithms, Logs, Scores, Summed, joined

NUMBERS = np.array([1, 2, 7, 10**6, 2**62])
COUNTS = np.array([0, -3, 12, 10**9, 5])


def truth(column: int) -> mpmath.mpf:
    return mpmath.mpf(int(COUNTS[column])) / 7 - mpmath.mpf(3) / 2 * mpmath.log(int(NUMBERS[column]))


def test_a_sum_of_counts_and_logarithms() -> None:
    scores: Scores = Summed(Linear(COUNTS, Fraction(1, 7)), Logarithms(NUMBERS, Fraction(-3, 2)))
    with mpmath.workprec(300), ctx.workprec(300):
        for column in range(len(NUMBERS)):
            assert abs(mpmath.mpf(float(scores.approx[column])) - truth(column)) <= scores.error
            ball = scores.ball(0, column)
            assert abs(mpmath.mpf(ball.mid().str(80, radius=False)) - truth(column)) < mpmath.mpf(10) ** -70
    assert scores.error < 1e-5


def test_logarithms_are_plain_unless_weighted() -> None:
    assert np.allclose(Logarithms(NUMBERS).approx, np.log(NUMBERS))


BIG = 10**15
ROWS: dict[str, tuple[Scores, float]] = {  # scores, and the size of what is rounded in the largest of them
    "positive": (Linear(np.array([3, BIG]), Fraction(1, 3)), BIG / 3),
    "negative": (Linear(np.array([3, -BIG]), Fraction(1, 3)), BIG / 3),
    "falling": (Linear(np.array([3, BIG]), Fraction(-1, 3)), BIG / 3),
    "shifted": (Linear(np.array([3, 4]), Fraction(1, 3), Real(Fraction(BIG, 3))), 2 * BIG / 3),
    "shifted down": (Linear(np.array([3, 4]), Fraction(1, 3), Real(Fraction(-BIG, 3))), 2 * BIG / 3),
    "opposite": (Linear(np.array([3, BIG]), Fraction(1, 3), Real(Fraction(-BIG, 3))), 3 * BIG / 3),
    "listed": (Listed([Real(Fraction(1, 3)), Real(Fraction(BIG, 3)), Real()]), BIG / 3),
    "equal": (Equal(3, Real(Fraction(BIG, 3))), BIG / 3),
    "logs": (Logs([1, 10**300]), 690.0),
    "logs of an array": (Logs(np.array([1, BIG])), 34.5),
    "logarithms": (Logarithms(np.array([1, BIG]), Fraction(-1000, 7)), 5000.0),
    "a sum": (Summed(Linear(np.array([BIG]), Fraction(1, 3)), Equal(1, Real(Fraction(BIG, 3)))), 4 * BIG / 3),
    "a sum that cancels": (
        Summed(Linear(np.array([BIG]), Fraction(1, 3)), Equal(1, Real(Fraction(-BIG, 3)))),
        2 * BIG / 3,
    ),
    "joined": (joined(Equal(2), Linear(np.array([BIG]), Fraction(1, 3)), Logs([2])), BIG / 3),
}


@pytest.mark.parametrize("name", ROWS)
def test_the_error_has_room_for_each_rounding_and_little_more(name: str) -> None:
    """At least one unit in the last place of all that is added up, at most thirty; balls agree with doubles."""
    scores, size = ROWS[name]
    assert 2.0**-52 * size <= scores.error <= 2.0**-47 * size
    with ctx.workprec(300):
        for column, approx in enumerate(scores.approx):
            assert abs(float((scores.ball(0, column) - float(approx)).mid())) <= scores.error


def test_small_scores_are_hardly_off() -> None:
    assert Linear(np.array([0, 0]), Fraction(1)).error == 0.0
    assert Listed([Real()]).error == Listed([]).error == 0.0
    assert Logs([1]).error == 0.0
    assert 2.0**-52 <= Logarithms(np.array([1])).error <= 2.0**-50
    assert Summed(Equal(1), Equal(1)).error == 0.0


def test_no_scores_at_all_are_not_off() -> None:
    none = np.array([], dtype=np.int64)
    for scores in (Linear(none, Fraction(1)), Listed([]), Logs([]), Logs(none), Summed(Equal(0), Equal(0))):
        assert scores.error == 0.0
    assert Logarithms(none, Fraction(1, 2)).error >= 0.0


def test_a_row_for_each_trial_may_stand_beside_one_for_all() -> None:
    """Tables and rows joined: the rows are repeated, and every column keeps its ball."""
    table = Linear(np.array([[1, 2], [30, 40], [5, 6]]), Fraction(1, 2))
    made = joined(Listed([Real(Fraction(7))]), table, Equal(2, Real(Fraction(9))))
    assert made.approx.tolist() == [[7, 0.5, 1, 9, 9], [7, 15, 20, 9, 9], [7, 2.5, 3, 9, 9]]
    for row in range(3):
        for column in range(5):
            assert float(made.ball(row, column).mid()) == made.approx[row, column]
    assert made.ball(0, 5).is_nan()


def test_a_shift_moves_every_score() -> None:
    made = Linear(np.array([1, 2]), Fraction(1, 2), Real(Fraction(3)))
    assert made.approx.tolist() == [3.5, 4.0]
    assert [float(made.ball(0, column).mid()) for column in range(2)] == [3.5, 4.0]
