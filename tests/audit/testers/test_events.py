"""Events are learned where there is something to learn, and nowhere else."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from crestline.audit.claims import ApproximateClaim, TabulatedCeiling
from crestline.audit.outcomes import Outcome, OutcomeReader
from crestline.audit.testers.events import Samples, learn_event
from crestline.mechanisms.selection import Selection

PURE = TabulatedCeiling(ApproximateClaim(1.0))
READ = OutcomeReader()


def coins(entropy: np.random.Generator, chances: dict[str, float], n: int) -> Counter[Outcome]:
    drawn = entropy.choice(list(chances), size=n, p=list(chances.values()))
    return Counter(READ(Selection((str(label),), False)) for label in drawn)


def numbers(entropy: np.random.Generator, centre: float, n: int) -> Counter[Outcome]:
    """On a public grid: the last bits of floating point would tell the truth."""
    drawn = centre + np.rint(entropy.laplace(size=n) * 1024) / 1024
    return Counter(READ(Selection(("a",), False, (Fraction(float(value)),))) for value in drawn)


def twice(first: Counter[Outcome], second: Counter[Outcome], again: Counter[Outcome], other: Counter[Outcome]) -> float:
    return learn_event(Samples(first, second), Samples(again, other), ["a"], PURE).score


def test_a_telling_outcome_is_found() -> None:
    choose = np.random.default_rng(1)
    likely, rare = {"a": 0.6, "b": 0.4}, {"a": 0.1, "b": 0.9}
    order = Samples(coins(choose, likely, 4_000), coins(choose, rare, 4_000))
    cut = Samples(coins(choose, likely, 4_000), coins(choose, rare, 4_000))
    lesson = learn_event(order, cut, ["a"], PURE)
    assert lesson.score > 7
    assert lesson.event is not None
    telling = READ(Selection(("a",), False))
    assert (
        lesson.event.contains(telling) != lesson.event.likelier_on_second
    )  # the outcome, or everything else on the other side
    assert str(lesson.event) == f"the answer is ({'b' if lesson.event.likelier_on_second else 'a'})"
    hits = lesson.event.hits(order.first)
    assert hits == (
        order.first.total() - order.first[telling] if lesson.event.likelier_on_second else order.first[telling]
    )
    turned = learn_event(Samples(order.second, order.first), Samples(cut.second, cut.first), ["a"], PURE)
    assert turned.event is not None
    assert turned.event.likelier_on_second != lesson.event.likelier_on_second


@pytest.mark.parametrize("chance", [0.2, 0.25])
def test_what_the_promise_allows_is_not_telling(chance: float) -> None:
    choose = np.random.default_rng(2)
    first, second = {"a": 0.5, "b": 0.5}, {"a": chance, "b": 1 - chance}
    samples = [coins(choose, law, 20_000) for law in (first, second, first, second)]
    assert twice(*samples) < 4


def test_outcomes_that_never_repeat_are_not_telling_by_themselves() -> None:
    """Every number is new: a learner that judged on the sample it learned from would call each of them telling."""
    choose = np.random.default_rng(3)
    samples = [numbers(choose, 5.0, 2_000) for _ in range(4)]
    assert twice(*samples) < 4


def test_a_shift_of_printed_numbers_is_found() -> None:
    choose = np.random.default_rng(4)
    samples = [numbers(choose, centre, 8_000) for centre in (5.0, 8.0, 5.0, 8.0)]
    assert twice(*samples) > 7
    samples = [numbers(choose, centre, 8_000) for centre in (5.0, 6.0, 5.0, 6.0)]
    assert twice(*samples) < 4
