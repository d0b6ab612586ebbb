"""Leaving keys out early never changes who wins."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from crestline.randomness import field as module
from crestline.randomness.comparison import largest
from crestline.randomness.entropy import replay
from crestline.randomness.field import field
from crestline.randomness.keys import Keys, keys
from crestline.randomness.laws import LAWS
from crestline.randomness.scores import Linear
from crestline.randomness.uniforms import Uniforms

COLUMNS = 3000


def table(law: str, order: str, rows: int, rate: Fraction) -> Keys:
    counts = (50_000 / np.arange(1, COLUMNS + 1)).astype(np.int64)
    if order == "ascending":
        counts = counts[::-1].copy()
    elif order == "mixed":
        counts = np.random.default_rng(5).permutation(counts)
    return keys(Linear(counts, rate), LAWS[law], replay(f"{law} {order}").uniforms(rows, COLUMNS), scale=Fraction(2))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("order", ["descending", "ascending", "mixed"])
@pytest.mark.parametrize("rows", [1, 20])
@pytest.mark.parametrize("rate", [Fraction(1, 10), Fraction(1, 10_000)])
def test_the_winners_are_those_of_the_whole_field(law: str, order: str, rows: int, rate: Fraction) -> None:
    race = table(law, order, rows, rate)
    assert module._worth_thinning(race, 31)
    whole = np.argsort(-race.rough, axis=1)[:, :30]
    sure = np.abs(np.diff(-np.sort(-race.rough, axis=1)[:, :31], axis=1)).min(axis=1) > 2 * race.margin
    assert np.count_nonzero(sure) >= rows - 1
    assert (largest(race, 30)[sure] == whole[sure]).all()


def test_most_of_a_steep_field_is_left_out() -> None:
    assert field(table("gumbel", "descending", 4, Fraction(1, 10)), 31).values.shape[1] < COLUMNS // 10


def test_a_small_field_is_kept_whole() -> None:
    small = keys(Linear(np.arange(100), Fraction(1)), LAWS["gumbel"], replay("small").uniforms(2, 100))
    assert field(small, 20).values.shape[1] == 100
    assert field(table("gumbel", "mixed", 1, Fraction(1)), COLUMNS).values.shape[1] == COLUMNS


@pytest.mark.parametrize("rows", [1, 3])
def test_words_at_the_ends_stay_in_the_race(rows: int) -> None:
    """The largest word of all must win against equal scores, wherever it stands."""
    for place in (3, COLUMNS - 1):
        words = replay("ends").words(rows * COLUMNS).reshape(rows, COLUMNS)
        words[:, place] = 2**64 - 1
        race = keys(
            Linear(np.zeros(COLUMNS, np.int64), Fraction(1)), LAWS["gumbel"], Uniforms(words, 64, lambda i, b: 0)
        )
        assert largest(race, 5)[:, 0].tolist() == [place] * rows


@pytest.mark.parametrize("rate", [Fraction(0), Fraction(1, 10)])
def test_a_bar_that_too_few_keys_reach_is_lowered(monkeypatch: pytest.MonkeyPatch, rate: Fraction) -> None:
    right = largest(table("gumbel", "mixed", 20, rate), 30)
    monkeypatch.setattr(module, "_SPARE", -3.0)
    assert (largest(table("gumbel", "mixed", 20, rate), 30) == right).all()


def test_when_nothing_can_be_left_out_everything_stays() -> None:
    race = table("gumbel", "mixed", 3, Fraction(1))
    assert module._expected_bar(race, COLUMNS) == -np.inf
    with np.errstate(all="ignore"):  # as `field` does
        assert module._above(race, -np.inf, 1).values.shape == (3, COLUMNS)


@pytest.mark.parametrize("law", LAWS)
def test_about_as_many_keys_stay_as_were_expected(law: str) -> None:
    for rate in (Fraction(0), Fraction(1, 10_000), Fraction(1, 10)):
        race = table(law, "descending", 50, rate)
        with np.errstate(all="ignore"):  # as `field` does
            left = module._above(race, module._expected_bar(race, 100), 1).values
        assert 80 < np.isfinite(left).sum(axis=1).mean() < 180


def test_a_bar_that_is_too_high_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Power: were the safety of the bar lost, winners would be missing; several rows would notice and lower it."""

    def winners(rows: int) -> np.ndarray:
        return largest(table("gumbel", "mixed", rows, Fraction(1, 10_000)), 30)

    one, several = winners(1), winners(20)
    monkeypatch.setattr(module, "_SAFE", 1.01)
    monkeypatch.setattr(module, "_PILOT", 60)
    assert (winners(1) != one).any()
    assert (winners(20) == several).all()
