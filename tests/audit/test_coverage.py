"""Exact audits of a selection and its coverage, released one after the other (P3.7, P16.2).

Every user of the tables is a set of items in each of one or two periods. The law of the selection is exact, and so is
that of the two numbers; the joint law of neighbours is compared cell by cell. Broken twins count pairs instead of
users, pay for one number where both move, and look at the data to decide whether there is anything to say.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from crestline.histogram.histogram import Histogram
from crestline.mechanisms.coverage.coverage import Coverage
from crestline.mechanisms.limited_domain.gumbel import LimitedDomain

User = tuple[frozenset[str], ...]  # the items in each period
Users = tuple[User, ...]
Joint = Mapping[str, NDArray[np.float64]]  # for every selection, the chances of both numbers together with it
Counted = Callable[[Users, frozenset[str]], tuple[int, int]]

SELECTION = LimitedDomain(2, 2, "0.5", "0.05")  # (1, 0.05)-DP whatever users have
SETS = [frozenset(some) for size in range(3) for some in itertools.combinations("ab", size)]
CROWD = 20  # users who are alike: enough that what they have is named
REACH = 60
TOTAL, DELTA = 3.0, 0.05


def users_counted(users: Users, named: frozenset[str]) -> tuple[int, int]:
    """How many users have one of the named items, and how many have others alone."""
    everything = [frozenset().union(*user) for user in users]
    some = sum(bool(items & named) for items in everything)
    return some, sum(bool(items) for items in everything) - some


def pairs_counted(users: Users, named: frozenset[str]) -> tuple[int, int]:
    """The broken twin: a user counts once for each of their items."""
    everything = [frozenset().union(*user) for user in users]
    some = sum(len(items & named) for items in everything)
    return some, sum(map(len, everything)) - some


@cache
def noise(coverage: Coverage, true: int) -> NDArray[np.float64]:
    return np.array([coverage.published_chance(true, number) for number in range(-REACH, REACH + 1)])


@cache
def selected(counts: tuple[tuple[str, int], ...]) -> dict[str, tuple[frozenset[str], float]]:
    """Every selection with the items it names and its probability."""
    histogram = Histogram.from_counts(dict(counts), SELECTION.k_bar)
    return {
        repr(one): (frozenset(map(str, one.items)), float(chance)) for one, chance in SELECTION.law(histogram).items()
    }


def law(users: Users, coverage: Coverage, counted: Counted) -> Joint:
    """For every selection a table of the chances of both numbers together with it."""
    everything = [frozenset().union(*user) for user in users]
    counts = {item: sum(item in items for items in everything) for item in "ab"}
    outcomes = selected(tuple((item, count) for item, count in counts.items() if count))
    joint = {}
    for outcome, (named, chance) in outcomes.items():
        some, others = counted(users, named)
        joint[outcome] = chance * np.outer(noise(coverage, some), noise(coverage, others))
    return joint


def excess(one: Joint, other: Joint, epsilon: float) -> float:
    nothing = np.zeros((2 * REACH + 1, 2 * REACH + 1))
    return float(
        sum(
            np.maximum(0, chances - math.exp(epsilon) * other.get(outcome, nothing)).sum()
            for outcome, chances in one.items()
        )
    )


def neighbours(periods: int) -> Iterator[tuple[Users, Users]]:
    """Nobody or many users who are alike, and one more of whom one period goes."""
    everybody = list(itertools.product(SETS, repeat=periods))
    crowds: Sequence[Users] = [(), *((user,) * CROWD for user in everybody if user[0])]
    for crowd, user in itertools.product(crowds, everybody):
        if user[0]:
            yield (*crowd, user), (*crowd, (frozenset(), *user[1:]))


def worst(coverage: Coverage, counted: Counted, *, periods: int, epsilon: float) -> float:
    found = 0.0
    for more, less in neighbours(periods):
        one, other = law(more, coverage, counted), law(less, coverage, counted)
        found = max(found, excess(one, other, epsilon), excess(other, one, epsilon))
    return found


ONE_PERIOD, SEVERAL = Coverage("0.5", 1), Coverage(1, 2)  # one more pure step of ε = 2 each


@pytest.mark.parametrize(("coverage", "periods"), [(ONE_PERIOD, 1), (SEVERAL, 2)])
def test_selection_and_coverage_together_stay_within_their_promise(coverage: Coverage, periods: int) -> None:
    found = worst(coverage, users_counted, periods=periods, epsilon=TOTAL)
    assert found <= DELTA + 1e-12
    tight = worst(coverage, users_counted, periods=periods, epsilon=1.5)  # less than the coverage alone costs
    assert tight > DELTA + 0.02


def test_what_a_user_costs_is_as_much_as_is_paid() -> None:
    """Nothing named on either side: the coverage is all there is, and its ε is attained."""
    alone = {"nothing": np.outer(noise(ONE_PERIOD, 0), noise(ONE_PERIOD, 1))}
    without = {"nothing": np.outer(noise(ONE_PERIOD, 0), noise(ONE_PERIOD, 0))}
    assert excess(alone, without, 2.0) == pytest.approx(0, abs=1e-12)
    assert excess(alone, without, 1.9) > 0.01


def test_a_count_of_pairs_is_caught() -> None:
    assert worst(ONE_PERIOD, pairs_counted, periods=1, epsilon=TOTAL) > DELTA + 0.1


def test_the_price_of_one_number_is_caught_where_both_move() -> None:
    """A user who keeps other periods goes from one number to the other when a period goes."""
    crowd: Users = ((frozenset("a"), frozenset()),) * 4
    user: User = (frozenset("a"), frozenset("b"))
    more, less = (*crowd, user), (*crowd, (frozenset(), frozenset("b")))
    named = frozenset("a")
    for coverage, caught in ((ONE_PERIOD, True), (SEVERAL, False)):
        one, other = (
            {"a": np.outer(*(noise(coverage, number) for number in users_counted(users, named)))}
            for users in (more, less)
        )
        assert (excess(one, other, 2.0) > 0.1) is caught


def test_silence_where_there_is_no_user_is_caught() -> None:
    """The twin that publishes zeros without noise where nobody is there."""
    one = {"nothing": np.outer(noise(ONE_PERIOD, 0), noise(ONE_PERIOD, 1))}
    silent = {"nothing": np.zeros((2 * REACH + 1, 2 * REACH + 1))}
    silent["nothing"][REACH, REACH] = 1
    assert excess(one, silent, TOTAL) > 0.5
