"""Classes revealed given the largest of their row: bounds that hold, and the same digits three ways."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from crestline.histogram.histogram import Histogram
from crestline.mechanisms.canonical_classes import ClassScores, RowWeights, classes_of, every_class
from crestline.mechanisms.canonical_reveal import CEILINGS, Revealed
from crestline.mechanisms.universe import universe
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
