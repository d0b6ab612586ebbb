"""Scores that are sums and logarithms: doubles within their error, balls around the truth."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import ctx

from crestline.randomness.exact_reals import Real
from crestline.randomness.scores import (
    EqualScores,
    LinearScores,
    LogScores,
    RealScores,
    Scores,
    SumScores,
    WeightedLogScores,
    concat_scores,
)

NUMBERS = np.array([1, 2, 7, 10**6, 2**62])
COUNTS = np.array([0, -3, 12, 10**9, 5])


def truth(column: int) -> mpmath.mpf:
    return mpmath.mpf(int(COUNTS[column])) / 7 - mpmath.mpf(3) / 2 * mpmath.log(int(NUMBERS[column]))


def test_a_sum_of_counts_and_logarithms() -> None:
    scores: Scores = SumScores(LinearScores(COUNTS, Fraction(1, 7)), WeightedLogScores(NUMBERS, Fraction(-3, 2)))
    with mpmath.workprec(300), ctx.workprec(300):
        for column in range(len(NUMBERS)):
            assert abs(mpmath.mpf(float(scores.approx[column])) - truth(column)) <= scores.error
            ball = scores.ball(0, column)
            assert abs(mpmath.mpf(ball.mid().str(80, radius=False)) - truth(column)) < mpmath.mpf(10) ** -70
    assert scores.error < 1e-5


def test_logarithms_are_plain_unless_weighted() -> None:
    assert np.allclose(WeightedLogScores(NUMBERS).approx, np.log(NUMBERS))


BIG = 10**15
ROWS: dict[str, tuple[Scores, float]] = {  # scores, and the size of what is rounded in the largest of them
    "positive": (LinearScores(np.array([3, BIG]), Fraction(1, 3)), BIG / 3),
    "negative": (LinearScores(np.array([3, -BIG]), Fraction(1, 3)), BIG / 3),
    "falling": (LinearScores(np.array([3, BIG]), Fraction(-1, 3)), BIG / 3),
    "shifted": (LinearScores(np.array([3, 4]), Fraction(1, 3), Real(Fraction(BIG, 3))), 2 * BIG / 3),
    "shifted down": (LinearScores(np.array([3, 4]), Fraction(1, 3), Real(Fraction(-BIG, 3))), 2 * BIG / 3),
    "opposite": (LinearScores(np.array([3, BIG]), Fraction(1, 3), Real(Fraction(-BIG, 3))), 3 * BIG / 3),
    "listed": (RealScores([Real(Fraction(1, 3)), Real(Fraction(BIG, 3)), Real()]), BIG / 3),
    "equal": (EqualScores(3, Real(Fraction(BIG, 3))), BIG / 3),
    "logs": (LogScores([1, 10**300]), 690.0),
    "logs of an array": (LogScores(np.array([1, BIG])), 34.5),
    "logarithms": (WeightedLogScores(np.array([1, BIG]), Fraction(-1000, 7)), 5000.0),
    "a sum": (
        SumScores(LinearScores(np.array([BIG]), Fraction(1, 3)), EqualScores(1, Real(Fraction(BIG, 3)))),
        4 * BIG / 3,
    ),
    "a sum that cancels": (
        SumScores(LinearScores(np.array([BIG]), Fraction(1, 3)), EqualScores(1, Real(Fraction(-BIG, 3)))),
        2 * BIG / 3,
    ),
    "joined": (concat_scores(EqualScores(2), LinearScores(np.array([BIG]), Fraction(1, 3)), LogScores([2])), BIG / 3),
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
    assert LinearScores(np.array([0, 0]), Fraction(1)).error == 0.0
    assert RealScores([Real()]).error == RealScores([]).error == 0.0
    assert LogScores([1]).error == 0.0
    assert 2.0**-52 <= WeightedLogScores(np.array([1])).error <= 2.0**-50
    assert SumScores(EqualScores(1), EqualScores(1)).error == 0.0


def test_no_scores_at_all_are_not_off() -> None:
    none = np.array([], dtype=np.int64)
    for scores in (
        LinearScores(none, Fraction(1)),
        RealScores([]),
        LogScores([]),
        LogScores(none),
        SumScores(EqualScores(0), EqualScores(0)),
    ):
        assert scores.error == 0.0
    assert WeightedLogScores(none, Fraction(1, 2)).error >= 0.0


def test_a_row_for_each_trial_may_stand_beside_one_for_all() -> None:
    """Tables and rows joined: the rows are repeated, and every column keeps its ball."""
    table = LinearScores(np.array([[1, 2], [30, 40], [5, 6]]), Fraction(1, 2))
    made = concat_scores(RealScores([Real(Fraction(7))]), table, EqualScores(2, Real(Fraction(9))))
    assert made.approx.tolist() == [[7, 0.5, 1, 9, 9], [7, 15, 20, 9, 9], [7, 2.5, 3, 9, 9]]
    for row in range(3):
        for column in range(5):
            assert float(made.ball(row, column).mid()) == made.approx[row, column]
    assert made.ball(0, 5).is_nan()


def test_a_shift_moves_every_score() -> None:
    made = LinearScores(np.array([1, 2]), Fraction(1, 2), Real(Fraction(3)))
    assert made.approx.tolist() == [3.5, 4.0]
    assert [float(made.ball(0, column).mid()) for column in range(2)] == [3.5, 4.0]
