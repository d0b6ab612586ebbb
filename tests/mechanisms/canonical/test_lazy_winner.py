"""Classes revealed given the largest of their row: bounds that hold, and the same digits three ways."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from crestline.histogram.count_levels import count_levels
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.canonical import lazy_winner as canonical_reveal
from crestline.mechanisms.canonical.lazy_winner import CEILINGS, LazyClassNoise, Winner, winning_class
from crestline.mechanisms.canonical.subset_classes import ClassScores, RowWeights, all_classes, subset_classes
from crestline.randomness.compare import exceeds_threshold
from crestline.randomness.entropy import replay
from crestline.randomness.keys import Keys
from crestline.randomness.laws import LAWS
from crestline.randomness.unit_points import GumbelPoints


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
    classes = subset_classes(count_levels(histogram), 4, Fraction(1, 3), Fraction(1, 2))
    row, m = all_classes(classes, range(classes.rows))
    for trial in range(20):
        entropy = replay(f"reveal {trial}", first_bits=first_bits)
        draws = LazyClassNoise(
            classes,
            RowWeights(classes),
            entropy.uniforms(1, classes.rows),
            entropy.uniforms(1, len(row)),
            row,
            m,
            attains=m == trial % 4,
        )
        table = Keys(ClassScores(classes, row, m), LAWS[name], draws)
        low, high = table.key_bounds(0, range(len(row)))
        for column in range(len(row)):
            ball = table.ball(0, column, 128)
            assert low[column] <= float(ball.mid()) <= high[column]
            if not table.unreliable[0, column]:
                assert abs(float(ball.mid()) - table.rough_values[0, column]) <= table.error


@pytest.mark.parametrize("name", CEILINGS)
@pytest.mark.parametrize("at_once", [1, 1 << 20])
def test_no_row_that_stays_hidden_could_have_won(name: str, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every row is revealed at most once, the winner is the largest of those, and no other row holds a larger key."""
    histogram = Histogram.from_multiplicities({30: 3, 29: 2, 28: 2, 27: 3, 26: 3, 12: 5, 9: 5, 5: 5, 1: 5, 0: 9})
    classes, law = subset_classes(count_levels(histogram), 4, Fraction(1, 3), Fraction(1, 2)), LAWS[name]
    weights, reveal = RowWeights(classes), canonical_reveal._largest_class
    shown: list[tuple[list[int], Winner]] = []

    def recorded(*given: Any) -> Winner:
        shown.append((given[2], reveal(*given)))
        return shown[-1][1]

    monkeypatch.setattr(canonical_reveal, "_largest_class", recorded)
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
        (best,) = (winner for _, winner in shown if winner.row_and_class == place)
        assert best.key().scores.approx.item() == pytest.approx(float(classes.exact_score(*place)), rel=1e-15)
        assert not any(exceeds_threshold(winner.key(), best.key())[0, 0] for _, winner in shown if winner is not best)
        hidden = sorted(set(range(classes.rows)) - set(rows))
        hidden_in_all, revealed_in_all = hidden_in_all + len(hidden), revealed_in_all + len(rows) - 1
        if hidden:
            other = reveal(classes, weights, hidden, uniforms, law, replay(f"later {trial}"))
            assert not exceeds_threshold(other.key(), best.key())[0, 0]
    assert hidden_in_all > 25
    assert revealed_in_all > 5 or "logistic" in name  # nearly Gumbel: hardly another row comes near


def test_the_best_score_of_a_row_is_exact() -> None:
    """Without noise, relative to the best k: what its count falls short of the k-th, weighted."""
    histogram = Histogram.from_multiplicities({30: 1, 29: 1, 25: 2, 12: 5, 0: 9})
    classes = subset_classes(count_levels(histogram), 2, Fraction(1, 3), Fraction(1, 2))
    best = canonical_reveal._BestRowScores(classes)
    short = [Fraction(0), *(Fraction(29 - count, 6) for count in (25, 12, 0))]
    assert best.approx == pytest.approx([-float(part) for part in short])
    for column, part in enumerate(short):
        assert abs(float(best.ball(0, column).mid()) + part) <= best.error


def test_every_row_has_one_class_that_attains_its_largest() -> None:
    """The best k are alone in their row; in any other row all classes have their chance."""
    histogram = Histogram.from_multiplicities({30: 3, 29: 2, 28: 2, 0: 9})
    classes = subset_classes(count_levels(histogram), 3, Fraction(1, 3), Fraction(1, 50))
    entropy, law = replay("attains"), LAWS["laplace"]
    seen = set()
    for _ in range(40):
        best, *others = canonical_reveal._draw_attaining_classes(classes, list(range(classes.rows)), entropy)
        assert best == 0
        seen |= set(others)
    assert seen == {0, 1, 2}
    weights = [classes.exact_size(3, m) * math.exp(classes.exact_score(3, m)) for m in range(3)]
    drawn = Counter(m for _ in range(400) for m in canonical_reveal._draw_attaining_classes(classes, [3], entropy))
    for m, weight in enumerate(weights):  # significance 1e-9; chances by the score alone are rejected
        assert two_sided(drawn[m], 400, weight / sum(weights)) > 1e-9
    scores = [math.exp(classes.exact_score(3, m)) for m in range(3)]
    assert two_sided(drawn[0], 400, scores[0] / sum(scores)) < 1e-9
    alone = canonical_reveal._largest_class(
        classes, RowWeights(classes), [0], entropy.uniforms(1, classes.rows), law, entropy
    )
    assert alone.row_and_class == (0, 0)
    assert alone.draws.attains.tolist() == [True]


def two_sided(hits: int, trials: int, chance: float) -> float:
    return float(2 * min(binom.cdf(hits, trials, chance), binom.sf(hits - 1, trials, chance)))


def once(first: Any, then: Any) -> Any:
    """A function that returns what was drawn already, and from then on what it would have returned."""
    waiting = [first]
    return lambda *shape: waiting.pop() if waiting else then(*shape)
