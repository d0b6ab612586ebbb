"""Classes revealed given the largest of their row: bounds that hold, and the same digits three ways."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from crestline.histogram.histogram import Histogram
from crestline.mechanisms import canonical_reveal
from crestline.mechanisms.canonical_classes import ClassScores, RowWeights, classes_of, every_class
from crestline.mechanisms.canonical_reveal import CEILINGS, Revealed, Winner, winning_class
from crestline.mechanisms.universe import universe
from crestline.randomness.comparison import exceeding
from crestline.randomness.entropy import replay
from crestline.randomness.keys import Keys
from crestline.randomness.laws import LAWS
from crestline.randomness.points import GumbelPoints


@pytest.mark.parametrize("name", CEILINGS)
def test_no_noise_exceeds_its_ceiling(name: str) -> None:
    values = np.concatenate([np.linspace(-8, 60, 200_001), [0.0, 1e3, 1e6]])
    above = LAWS[name].quantile(GumbelPoints(values)) - np.maximum(values, 0.0)
    assert above.max() < float(CEILINGS[name])
    assert above.max() > float(CEILINGS[name]) - 0.02  # and none is much too high


@pytest.mark.parametrize("name", CEILINGS)
@pytest.mark.parametrize("first_bits", [9, 64])
def test_rough_ends_and_balls_agree(name: str, first_bits: int) -> None:
    histogram = Histogram.from_multiplicities({60: 1, 50: 2, 40: 3, 7: 30, 0: 10**9})
    classes = classes_of(universe(histogram), 4, Fraction(1, 3), Fraction(1, 2))
    row, m = every_class(classes, range(classes.rows))
    for trial in range(20):
        entropy = replay(f"reveal {trial}", first_bits=first_bits)
        draws = Revealed(
            classes,
            RowWeights(classes),
            entropy.uniforms(1, classes.rows),
            entropy.uniforms(1, len(row)),
            row,
            m,
            attains=m == trial % 4,
        )
        table = Keys(ClassScores(classes, row, m), LAWS[name], draws)
        low, high = table.ends(0, range(len(row)))
        for column in range(len(row)):
            ball = table.ball(0, column, 128)
            assert low[column] <= float(ball.mid()) <= high[column]
            if not table.edge[0, column]:
                assert abs(float(ball.mid()) - table.rough[0, column]) <= table.margin


@pytest.mark.parametrize("name", CEILINGS)
@pytest.mark.parametrize("at_once", [1, 1 << 20])
def test_no_row_that_stays_hidden_could_have_won(name: str, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every row is revealed at most once, the winner is the largest of those, and no other row holds a larger key."""
    histogram = Histogram.from_multiplicities({30: 3, 29: 2, 28: 2, 27: 3, 26: 3, 12: 5, 9: 5, 5: 5, 1: 5, 0: 9})
    classes, law = classes_of(universe(histogram), 4, Fraction(1, 3), Fraction(1, 2)), LAWS[name]
    weights, reveal = RowWeights(classes), canonical_reveal._reveal
    shown: list[tuple[list[int], Winner]] = []

    def recorded(*given: Any) -> Winner:
        shown.append((given[2], reveal(*given)))
        return shown[-1][1]

    monkeypatch.setattr(canonical_reveal, "_reveal", recorded)
    monkeypatch.setattr(canonical_reveal, "_ROWS_AT_ONCE", at_once)
    hidden_in_all, revealed_in_all = 0, 0
    for trial in range(25):
        shown.clear()
        entropy = replay(f"hidden {name} {trial}")
        uniforms = entropy.uniforms(1, classes.rows)
        monkeypatch.setattr(entropy, "uniforms", once(uniforms, entropy.uniforms))
        place = winning_class(classes, weights, law, entropy)
        rows = [row for some, _ in shown for row in some]
        assert len(set(rows)) == len(rows)
        assert at_once > 1 or all(len(some) == 1 for some, _ in shown)
        (best,) = (winner for _, winner in shown if winner.place == place)
        assert not any(exceeding(winner.key(), best.key())[0, 0] for _, winner in shown if winner is not best)
        hidden = sorted(set(range(classes.rows)) - set(rows))
        hidden_in_all, revealed_in_all = hidden_in_all + len(hidden), revealed_in_all + len(rows) - 1
        if hidden:
            other = reveal(classes, weights, hidden, uniforms, law, replay(f"later {trial}"))
            assert not exceeding(other.key(), best.key())[0, 0]
    assert hidden_in_all > 25
    assert revealed_in_all > 5 or "logistic" in name  # nearly Gumbel: hardly another row comes near


def once(first: Any, then: Any) -> Any:
    """A function that returns what was drawn already, and from then on what it would have returned."""
    waiting = [first]
    return lambda *shape: waiting.pop() if waiting else then(*shape)
