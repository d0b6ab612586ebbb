"""Cells measured: against exact laws, and against how much they hang on the data."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from tests.reproduction.made import COUNTS, folder

from crestline.mechanisms.limited_domain.gumbel import LimitedDomain
from crestline.mechanisms.public_list.lipschitz import Lipschitz
from reproduction.data import Shelf
from reproduction.experiment import cell
from reproduction.public_items import over_public_items
from reproduction.simulate import ranked, simulated, spread

LINES = {"plain": lambda one: LimitedDomain.for_budget(k=3, k_bar=5, epsilon=one.epsilon, delta=one.delta)}


def test_the_mean_is_that_of_the_exact_law(tmp_path: Path) -> None:
    """Five standard errors of 4,000 trials: a false alarm once in 1.7 million; 10% off would be seen."""
    one = cell("MADE", "plain", k=3, k_bar=5, epsilon="0.2", delta="0.01", trials=4000)
    found = simulated(LINES)(one, Shelf(folder(tmp_path)))["returned"]
    law = LINES["plain"](one).length_law(ranked(np.array(COUNTS), 5))
    exact = math.fsum(n * chance for n, chance in enumerate(law))
    assert abs(found.value - exact) < 5 * found.error
    assert 5 * found.error < 0.1 * exact


def test_the_spread_is_that_of_the_data(tmp_path: Path) -> None:
    """Counts that do not move leave the Monte-Carlo error of one draw; counts that move add to it."""
    one = cell("MADE", "plain", k=3, k_bar=5, epsilon="0.5", delta="0.01", trials=4800)
    shelf = Shelf(folder(tmp_path))
    still = spread(LINES, share=0.0)(one, shelf)["returned"]
    moved = spread(LINES, share=0.3)(one, shelf)["returned"]
    once = simulated(LINES)(one, shelf)["returned"]
    assert still.error < 2 * once.error * math.sqrt(24)
    assert moved.error > 2 * still.error


def test_items_that_are_added_cost_the_exponential_mechanism_dearly(tmp_path: Path) -> None:
    """The chance of the best item, in closed form, with and without ten billion items of count one."""
    lines = {"EM": lambda one: Lipschitz(1, one.epsilon)}
    for extra in (0, 10**10):
        one = cell("MADE", "EM", k=1, epsilon="0.3", trials=4000, extra=extra)
        found = over_public_items(lines)(one, Shelf(folder(tmp_path)))["proportion"]
        weights = np.exp(0.3 * np.array(COUNTS))
        exact = weights[0] / (weights.sum() + extra * math.exp(0.3))
        assert abs(found.value - exact) < 5 * math.sqrt(exact * (1 - exact) / 4000)
