"""Order statistics of groups: the law of listed noises, the same digits roughly, carefully and in balls."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import arb, ctx
from scipy.stats import beta as beta_law
from scipy.stats import chi2_contingency, kstest
from tests.randomness.reference import BITS, QUANTILES, uniform
from tests.randomness.test_compare import hard_uniforms

from crestline.randomness.compare import largest_columns
from crestline.randomness.draws import NoNoise, OnePerKey, OrderStatistics, unreliable_words
from crestline.randomness.entropy import replay
from crestline.randomness.exact_reals import Real
from crestline.randomness.keys import Keys, build_keys
from crestline.randomness.laws import LAWS
from crestline.randomness.laws.gumbel import GUMBEL
from crestline.randomness.scores import EqualScores, LinearScores, LogScores, RealScores
from crestline.randomness.uniforms import interleave, select_columns

SIGNIFICANCE = 1e-9
LIPSCHITZ = ("gumbel", "exponential", "laplace", "logistic", "half-logistic")


def group_sizes(rows: int, *sizes: int) -> np.ndarray:
    return np.tile(np.array(sizes, dtype=np.int64), (rows, 1))


@pytest.mark.parametrize("rank", [0, 1, 3])
def test_each_rank_follows_the_order_statistic(rank: int) -> None:
    """Kolmogorov–Smirnov, significance 1e-9: the rank-th largest of 4 uniforms is Beta(4 - rank, rank + 1)."""
    trials = 50_000
    draws = OrderStatistics(replay("beta").uniforms(trials, 8), group_sizes(trials, 4, 9), 4)
    drawn = np.exp(draws.rough_points().log_u[:, rank])
    assert kstest(drawn, beta_law(4 - rank, rank + 1).cdf).pvalue > SIGNIFICANCE
    assert kstest(drawn, beta_law(4.4 - rank, rank + 1).cdf).pvalue < SIGNIFICANCE


@pytest.mark.statistics
@pytest.mark.parametrize("name", LIPSCHITZ)
def test_groups_have_the_law_of_listed_items(name: str) -> None:
    """The two largest of five keys, in groups of 3 and 2 or one by one: the same law of the groups in order.

    A chi-square of two samples, significance 1e-9; a listed score 15% off is rejected.
    """
    trials, law = 100_000, LAWS[name]
    draws = OrderStatistics(replay("groups").uniforms(trials, 4), group_sizes(trials, 3, 2), 2)
    grouped = largest_columns(Keys(Doubled(RealScores([Real(), Real() + 1]), 2), law, draws), 2) // 2

    def listed(score: Fraction) -> np.ndarray:
        scores = RealScores([Real()] * 3 + [Real(score)] * 2)
        return largest_columns(build_keys(scores, law, replay("items").uniforms(trials, 5)), 2) // 3

    assert same_law(grouped, listed(Fraction(1))) > SIGNIFICANCE
    assert same_law(grouped, listed(Fraction(115, 100))) < SIGNIFICANCE


def same_law(first: np.ndarray, second: np.ndarray) -> float:
    seen = [Counter(map(tuple, table.tolist())) for table in (first, second)]
    outcomes = sorted(seen[0].keys() | seen[1].keys())
    counts = [[table[outcome] for outcome in outcomes] for table in seen]
    return float(chi2_contingency(counts).pvalue)


class Doubled:
    """Each score once for every rank."""

    def __init__(self, scores: RealScores, depth: int) -> None:
        self.scores, self.depth = scores, depth
        self.approx = np.repeat(scores.approx, depth)
        self.error = scores.error

    def ball(self, row: int, column: int) -> arb:
        return self.scores.ball(row, column // self.depth)


@pytest.mark.parametrize("name", LIPSCHITZ)
@pytest.mark.parametrize("first_bits", [1, 7, 53])
def test_fewer_bits_at_first_change_nothing(name: str, first_bits: int) -> None:
    def chosen(bits: int) -> list[list[int]]:
        uniforms = replay("first bits", first_bits=bits).uniforms(40, 9)
        draws = OrderStatistics(uniforms, group_sizes(40, 2, 10**12, 5), 3)
        return largest_columns(Keys(EqualScores(9), LAWS[name], draws), 4).tolist()

    assert chosen(first_bits) == chosen(64)


@pytest.mark.long
@pytest.mark.parametrize("name", LIPSCHITZ)
def test_rough_ends_and_balls_agree(name: str) -> None:
    rows, sizes = 200, (3, 10**9, 50)
    table = Keys(
        LinearScores(np.arange(12) // 4, rate=Fraction(1)),
        LAWS[name],
        OrderStatistics(replay("agree").uniforms(rows, 12), group_sizes(rows, *sizes), 4),
    )
    missing = table.draws.missing_columns()
    assert missing is not None
    for row in range(rows):
        columns = [int(c) for c in np.flatnonzero(~missing[row])]
        assert 3 not in columns  # a group of three has no fourth
        low, high = table.key_bounds(row, columns)
        for place, column in enumerate(columns):
            ball = table.ball(row, column, 128)
            assert low[place] <= float(ball.mid()) <= high[place]
            if not table.unreliable[row, column]:
                assert abs(float(ball.mid()) - table.rough_values[row, column]) <= table.error


@pytest.mark.parametrize("name", LIPSCHITZ)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_hard_bits_agree_with_the_reference(name: str, seed: int) -> None:
    uniforms = hard_uniforms(2, 6, seed, 64)
    found = largest_columns(Keys(EqualScores(6), LAWS[name], OrderStatistics(uniforms, group_sizes(2, 4, 7), 3)), 3)
    with mpmath.workprec(BITS + 100):
        for row in range(2):
            truth = []
            for column in range(6):
                first, size = column - column % 3, (4, 7)[column // 3]
                arrival = sum(
                    -mpmath.log(uniform(uniforms, row * 6 + i)) / (size - i % 3) for i in range(first, column + 1)
                )
                truth.append(QUANTILES[name](mpmath.exp(-arrival)))
            assert found[row].tolist() == sorted(range(6), key=lambda c: -truth[c])[:3]


def test_the_first_rank_is_the_largest_of_its_copies() -> None:
    uniforms = replay("copies").uniforms(5, 2)
    single = Keys(EqualScores(2), GUMBEL, OnePerKey(uniforms, LogScores((3, 10**20))))
    with ctx.workprec(200):
        for column, size in enumerate((3, 10**20)):
            exact = -(-uniforms.ball(column, 64).log() / size).log()
            assert exact.overlaps(single.ball(0, column, 64))


def test_picked_and_interleaved_uniforms_are_the_same_uniforms() -> None:
    table, other = replay("a").uniforms(2, 5), replay("b").uniforms(2, 4)
    chosen = np.array([[3, 1], [0, 4]])
    some = select_columns(table, chosen)
    both = interleave([some, other], groups=2)
    for row in range(2):
        for group in range(2):
            first = both.prefix(row * 6 + group * 3, 200)
            assert first == table.prefix(row * 5 + int(chosen[row, group]), 200)
            for rank in (0, 1):
                assert both.prefix(row * 6 + group * 3 + 1 + rank, 200) == other.prefix(row * 4 + group * 2 + rank, 200)


def test_errors_of_the_copies_widen_both_ends() -> None:
    """The ends contain the truth only if they move outwards by what the logarithms of the copies may be off."""

    class Rough:
        approx = np.array([1.0, 2.0, 3.0])
        error = 0.25

    uniforms = replay("copies").uniforms(2, 3)
    plain = OnePerKey(uniforms).point_bounds(1, [0, 2])
    low, high = OnePerKey(uniforms, Rough()).point_bounds(1, [0, 2])  # type: ignore[arg-type] # as much of scores as is used
    assert low.gumbel == pytest.approx(plain[0].gumbel + np.array([0.75, 2.75]), abs=1e-12)
    assert high.gumbel == pytest.approx(plain[1].gumbel + np.array([1.25, 3.25]), abs=1e-12)


def test_many_terms_of_one_sum_are_allowed_their_rounding() -> None:
    draws = OrderStatistics(replay("many").uniforms(1, 1000), group_sizes(1, 2000), 1000)
    assert draws.error >= 1000 * 2.0**-53 * 17
    assert draws.error < 1e-9
    low, high = draws.point_bounds(0, range(1000))
    assert (high.gumbel - low.gumbel >= 2 * 1000 * 2.0**-53).all()
    with ctx.workprec(300):
        for column in (0, 500, 999):
            exact = -draws.arrival_ball(0, column, 200).log()
            assert float(low.gumbel[column]) + 1000 * 2.0**-54 < exact < float(high.gumbel[column]) - 1000 * 2.0**-54


def test_what_the_copies_may_be_off_moves_a_quantile_as_fast_as_it_may() -> None:
    """Away from the edges E stays below 17, and no law moves faster with the Gumbel value (draws.py)."""

    class Rough:
        approx = np.array([1.0, 2.0])
        error = 0.25

    uniforms = replay("copies").uniforms(2, 2)
    assert OnePerKey(uniforms).error == 0.0
    assert 17 * 0.25 <= OnePerKey(uniforms, Rough()).error <= 2 * 17 * 0.25  # type: ignore[arg-type] # as above


def test_copies_may_differ_from_row_to_row() -> None:
    class Table:
        approx = np.array([[1.0, 2.0], [3.0, 5.0]])
        error = 0.0

    uniforms = replay("copies").uniforms(2, 2)
    plain = OnePerKey(uniforms)
    made = OnePerKey(uniforms, Table())  # type: ignore[arg-type] # as above
    assert made.rough_points().gumbel == pytest.approx(plain.rough_points().gumbel + Table.approx)
    for row in range(2):
        for got, bare in zip(made.point_bounds(row, [1, 0]), plain.point_bounds(row, [1, 0]), strict=True):
            assert got.gumbel == pytest.approx(bare.gumbel + Table.approx[row][[1, 0]])


def test_words_closer_to_either_end_than_is_promised_are_edges() -> None:
    """Rough points promise nothing within 2^-24 of nought and one (unit_points.py), and are relied on elsewhere."""
    low, high = 2**40, 2**64 - 2**40
    words = np.array([0, low - 1, low, 2**63, high - 1, high, 2**64 - 1], dtype=np.uint64)
    assert unreliable_words(words).tolist() == [True, True, False, False, False, True, True]


def test_fixed_thresholds_are_exact_and_never_edges() -> None:
    none = NoNoise((2, 3))
    assert none.error == 0.0
    assert none.first_bits == 64
    assert not none.unreliable().any()
    assert none.rough_points().log_u.shape == (2, 3)
