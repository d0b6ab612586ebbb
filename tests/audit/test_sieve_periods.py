"""Exact audits of the sieve over two periods: neighbours differ in all rows of a user in one period (P16.2, P18.2).

All of the sieve's releases are Gaussian noise on views of pairs, and a threshold. So what its promise needs is exact:
how far the rows of one user in one period move each view. Rows go through the real source, for every user of up to
two items in each of two periods, and for one who has many in the period that goes. The broken twin weighs a user's
items over all periods.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import date
from fractions import Fraction
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from crestline.guarantees.gaussian import delta_of
from crestline.histogram.relation import PairViews
from crestline.histogram.view_kinds import PAIRS
from crestline.mechanisms.observed.noisy_query import NoisyQuery, noisy_query
from crestline.mechanisms.observed.sieve import Sieve
from crestline.mechanisms.observed.weights import UNIT, gaussian_weights
from crestline.periods.calendar import Calendar, Periods
from crestline.question import Question
from crestline.randomness.entropy import Entropy, replay
from crestline.sources import open_source

ITEMS = "abc"
MANY = tuple(f"of many {number}" for number in range(20))
SETS = [frozenset(some) for size in range(3) for some in itertools.combinations(ITEMS, size)]
USERS = [pair for pair in itertools.product(SETS, repeat=2) if pair[0]]  # everybody whose first period is not empty
USERS += [(frozenset(MANY), frozenset("a")), (frozenset(MANY), frozenset(MANY[:3]))]
KEY = bytes(range(32))
BUCKETS = 64
CAP = 2


@cache
def moved(first: frozenset[str], second: frozenset[str], broken: bool) -> dict[str, float]:
    """By how much each view moves, in squares and units of one user, when the first period of a user goes."""
    more, less = _views(first, second, broken), _views(frozenset(), second, broken)
    return {name: _square(more[name], less[name]) for name in more}


def _square(more: dict[object, float], less: dict[object, float]) -> float:
    return sum((more.get(at, 0.0) - less.get(at, 0.0)) ** 2 for at in {*more, *less})


@cache
def _views(first: frozenset[str], second: frozenset[str], broken: bool) -> dict[str, dict[object, float]]:
    rows = [("u", item, date(2026, month, 5)) for items, month in ((first, 9), (second, 10)) for item in sorted(items)]
    rows += [("other", item, date(2026, 10, 6)) for item in ITEMS]
    table = pa.table(dict(zip(("user", "item", "day"), map(list, zip(*rows, strict=True)), strict=True)))
    asked = Question(k=1, k_bar=1)
    if not broken:
        asked = replace(asked, period=Periods(Calendar("month", "day"), 2026 * 12 + 8, 2))
    with open_source(table).reading(asked, KEY, PAIRS) as reading:
        views = reading.histogram
        assert isinstance(views, PairViews)
        weights = gaussian_weights(1, CAP)
        observed = views.observed_items(KEY, weights)
        places = range(observed.size)
        return {
            "popular": {rank: float(views.users_with(rank)) for rank in (1,)},
            "users": dict(enumerate(map(float, views.users_by_items()))),
            "loads": dict(enumerate(views.bucket_loads(KEY, BUCKETS, gaussian_weights(1, BUCKETS)) / UNIT)),
            "scores": dict(zip(observed.names(places), (observed.score_of(at) / UNIT for at in places), strict=True)),
        }


def worst(view: str, *, broken: bool = False) -> float:
    return max(moved(first, second, broken)[view] for first, second in USERS)


def test_one_period_of_one_user_moves_each_view_by_what_its_noise_is_for() -> None:
    """All views in one test: they are made together, once."""
    for view, most in (("popular", 1), ("users", 2), ("loads", 1), ("scores", 1)):
        found = worst(view)
        assert found <= most + 1e-12, view
        assert found > 0.99 * most, view  # attained: less noise would not do


def test_weights_over_all_periods_are_caught() -> None:
    for view in ("loads", "scores"):
        found = worst(view, broken=True)
        mu = Fraction(1, 4)
        promised, needed = (delta_of(1, mu**2 * Fraction(square)) for square in (1, found))
        assert found > 1.05, view
        assert float(needed) > 1.5 * float(promised), view


def test_the_histogram_of_users_needs_the_noise_of_two_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin with the noise of one cell would promise half of what a user costs."""
    spent: list[Fraction] = []

    def noted(numbers: NDArray[np.int64], unit: int, mu_squared: Fraction, entropy: Entropy) -> NoisyQuery:
        if len(numbers) == 13:
            spent.append(mu_squared)
        return noisy_query(numbers, unit, mu_squared, entropy)

    monkeypatch.setattr("crestline.mechanisms.observed.sieve.noisy_query", noted)
    table = pa.table({"user": [1, 2], "item": ["a", "b"]})
    for several in (False, True):
        with open_source(table).reading(Question(k=1, k_bar=1), KEY, PAIRS) as reading:
            Sieve(1, 1, "1e-6", several=several).release(reading.histogram, replay("sieve"))  # type: ignore[arg-type]
    half = len(spent) // 2  # the same looks without periods and with them
    assert moved(frozenset("ab"), frozenset("a"), False)["users"] == 2  # and never more, see above
    assert all(2 * two <= one for one, two in zip(spent[:half], spent[half:], strict=True))  # at twice the variance
