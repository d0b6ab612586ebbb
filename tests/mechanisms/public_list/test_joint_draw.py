"""Sequences of the joint exponential mechanism: one for each trial, from as few uniforms as that takes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from crestline.histogram.count_levels import count_levels
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.public_list.joint_draw import draw_sequences
from crestline.mechanisms.public_list.joint_values import sequence_values
from crestline.randomness import batch_sizes as sizes
from crestline.randomness.entropy import Entropy, replay
from crestline.randomness.uniforms import Uniforms

VALUES = sequence_values(count_levels(Histogram.from_multiplicities({7: 2, 5: 3, 2: 4})), 3, Fraction(1, 2))


class Counting:
    """Counts the uniforms that it hands out."""

    def __init__(self, source: Entropy) -> None:
        self.source, self.drawn = source, 0

    def uniforms(self, rows: int, columns: int) -> Uniforms:
        self.drawn += rows * columns
        return self.source.uniforms(rows, columns)


def test_a_sequence_takes_one_uniform_for_each_value_one_for_its_first_place_and_one_for_each_item() -> None:
    entropy = Counting(replay("count"))
    drawn = draw_sequences(VALUES, 50, entropy)  # type: ignore[arg-type] # all that is asked of it
    assert drawn.shape == (50, 3)
    assert entropy.drawn == 50 * (len(VALUES.approx) + 1 + 3)


def test_no_trials_are_no_sequences() -> None:
    assert draw_sequences(VALUES, 0, replay(0)).shape == (0, 3)


def test_every_trial_gets_a_sequence_of_its_own_whatever_the_size_of_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """In batches of two: as many sequences as trials, no item twice, and hardly two sequences alike."""
    monkeypatch.setattr(sizes, "_CELLS", 2 * len(VALUES.approx))
    drawn = draw_sequences(VALUES, 101, replay("batches"))
    assert drawn.shape == (101, 3)
    assert (np.diff(np.sort(drawn, axis=1)) > 0).all()
    assert len(np.unique(drawn, axis=0)) > 50
