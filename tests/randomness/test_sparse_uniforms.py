"""Sparse uniforms: what is found first and what is drawn later are one table of fair coins."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from crestline.histogram.histogram import Histogram
from crestline.mechanisms.limited_domain.gumbel import LimitedDomain
from crestline.randomness import sparse_uniforms as module
from crestline.randomness.entropy import replay
from crestline.randomness.sparse_uniforms import LEVELS, SparseUniforms, mark_cells, skip_lengths
from crestline.randomness.uniforms import Uniforms

SIGNIFICANCE = 1e-9
ROWS, COLUMNS = 60, 6000


def least_words() -> np.ndarray:
    """Columns that ask for nothing, and for a little more than each level, in mixed order."""
    wanted = [2**64 - 2 ** (64 - level) + 2 ** (61 - level) for level in LEVELS]
    least = np.array(wanted, dtype=np.uint64)[np.random.default_rng(3).integers(0, len(LEVELS), COLUMNS)]
    least[::7] = 0
    return least


def table(key: str, rows: int = ROWS) -> SparseUniforms:
    made = replay(key).uniforms(rows, COLUMNS)
    assert isinstance(made, SparseUniforms)
    return made


@pytest.fixture(autouse=True)
def every_level(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FEW", 1)


def p_value(seen: np.ndarray, expected: np.ndarray) -> float:
    return float(chi2.sf(float(np.sum((seen - expected) ** 2 / expected)), len(seen) - 1))


def test_what_is_found_is_what_the_whole_table_holds_and_nothing_is_missed() -> None:
    uniforms, least = table("found"), least_words()
    found = uniforms.hits_above(least)
    assert set(uniforms._levels) == set(LEVELS)
    assert (np.diff(found.row) >= 0).all()
    assert len(found.row) < ROWS * COLUMNS / 10
    words = uniforms.words
    assert (words[:, found.every] == found.full).all()
    assert (words[found.row, found.column] == found.word).all()
    reached = words >= least
    reached[:, found.every] = False
    assert sorted(zip(*np.nonzero(reached), strict=True)) == sorted(zip(found.row, found.column, strict=True))


def test_rows_of_what_was_found() -> None:
    found = table("rows").hits_above(least_words())
    part = found.rows(10, 13)
    assert (part.full == found.full[10:13]).all()
    inside = (found.row >= 10) & (found.row < 13)
    assert (part.row == found.row[inside] - 10).all()
    assert (part.column == found.column[inside]).all()
    assert (part.word == found.word[inside]).all()


def test_single_words_are_those_of_the_table_before_and_after_it_is_drawn() -> None:
    uniforms = table("single")
    found = uniforms.hits_above(least_words())
    places = np.array([[found.every[3], 5 * COLUMNS + found.every[0]], [found.row[9] * COLUMNS + found.column[9]] * 2])
    before = uniforms.words_at(places)
    kept = uniforms._found
    assert kept is not None
    whole, single = (ROWS - 1) * COLUMNS + found.every, np.sort(kept.row * COLUMNS + kept.column)
    ends = np.array([whole[0], whole[-1], single[0], single[-1]])
    first = uniforms.words_at(ends)
    assert "words" not in vars(uniforms)
    outside = int(np.flatnonzero(uniforms._levels == 16)[0])  # hardly ever found
    passed_over = uniforms.words_at(np.array([outside]))
    assert (uniforms.words.reshape(-1)[places] == before).all()
    assert (uniforms.words.reshape(-1)[ends] == first).all()
    assert uniforms.words[0, outside] == passed_over[0] < 2**64 - 2**48


@pytest.mark.long
def test_a_second_look_sees_the_same_table() -> None:
    uniforms, least = table("twice"), least_words()
    first, lower = uniforms.hits_above(least), least // 2
    second = uniforms.hits_above(lower)
    assert len(second.every) == 0
    where = set(zip(second.row.tolist(), second.column.tolist(), second.word.tolist(), strict=True))
    assert where >= set(zip(first.row.tolist(), first.column.tolist(), first.word.tolist(), strict=True))
    assert len(where) == np.count_nonzero(uniforms.words >= lower)


def test_a_table_that_is_drawn_whole_is_not_sparse_any_more() -> None:
    uniforms = table("whole")
    words = uniforms.words.copy()
    found = uniforms.hits_above(least_words())
    assert len(found.every) == 0
    assert (words == uniforms.words).all()
    assert (words >= least_words()).sum() == len(found.row)


def coin_p_values(uniforms: SparseUniforms) -> dict[int, float]:
    """For each level, how well the highest byte of its words fits a fair one once everything is drawn."""
    uniforms.hits_above(least_words())
    result = {}
    for level in LEVELS:
        words = uniforms.words[:, uniforms._levels == level]
        seen = np.bincount((words >> np.uint64(56)).astype(np.int64).reshape(-1), minlength=256)
        result[level] = p_value(seen, np.full(256, words.size / 256))
    return result


def test_every_level_is_made_of_fair_coins() -> None:
    """Chi-square of the first byte at 1e-9 for each level; what follows has power."""
    assert min(coin_p_values(table("coins", 300)).values()) > SIGNIFICANCE


def test_words_that_are_drawn_late_must_not_begin_with_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Power: were what was passed over drawn like all others, the levels 2 and 4 would have too many ones."""
    monkeypatch.setattr(SparseUniforms, "_redraw_columns", lambda *_: None)
    found = coin_p_values(table("coins", 300))
    assert max(found[2], found[4]) < SIGNIFICANCE


@pytest.mark.parametrize("level", LEVELS[1:4])
def test_gaps_are_geometric_and_ten_percent_would_be_noticed(level: int) -> None:
    """Chi-square at 1e-9 over twenty equally likely ranges of gaps."""
    gaps = skip_lengths(replay(f"gaps {level}").uniforms(1, 400_000), level, 1 << 40)

    def fits(chance: float) -> float:
        edges = np.unique(np.floor(np.log1p(-np.arange(1, 20) / 20) / math.log1p(-chance)))
        below = np.concatenate([[0.0], -np.expm1(edges * math.log1p(-chance)), [1.0]])
        seen = np.bincount(np.searchsorted(edges, gaps, side="right"), minlength=len(edges) + 1)
        wanted = np.diff(below) * len(gaps)
        kept = wanted > 0
        return p_value(seen[kept], wanted[kept])

    assert fits(2.0**-level) > SIGNIFICANCE
    assert fits(1.1 * 2.0**-level) < SIGNIFICANCE
    assert fits(0.9 * 2.0**-level) < SIGNIFICANCE


def by_definition(word: int, tail: int, level: int) -> int:
    """The g with `q^(g+1) < U ≤ q^g`, by fractions: U has the 64 bits of the word and 256 more."""
    uniform, q, gap = Fraction((word << 256) | tail, 1 << 320), 1 - Fraction(1, 1 << level), 0
    power = q
    while uniform <= power:
        gap, power = gap + 1, power * q
    return gap


@pytest.mark.parametrize("level", [2, 4])
@pytest.mark.parametrize("first_bits", [3, 40, 64])
def test_gaps_at_the_very_border_are_decided_by_further_bits(level: int, first_bits: int) -> None:
    q = 1 - Fraction(1, 1 << level)
    border = [math.floor(q**power * 2**64) for power in range(1, 30)]
    words = np.array([[2**64 - 1, 2**63, 2**40, 2**40 - 1, *border, *(word - 1 for word in border)]], dtype=np.uint64)
    for tail in (1, 2**256 - 1, 2**255 // 3):  # never 0: some borders are whole words, and equality is never decided

        def bits_of(index: int, bits: int, tail: int = tail) -> int:
            return (tail << bits) >> 256

        uniforms = Uniforms(words, first_bits, bits_of)
        truth = [by_definition(int(word), tail, level) for word in words[0]]
        assert skip_lengths(uniforms, level, 1000).tolist() == truth
        assert skip_lengths(uniforms, level, 7).tolist() == [min(gap, 7) for gap in truth]


@pytest.mark.parametrize(("level", "powers"), [(8, (1, 10, 1000, 5000)), (16, (1, 10, 1000, 100_000))])
def test_borders_of_long_gaps_are_decided_by_further_bits(level: int, powers: tuple[int, ...]) -> None:
    """The words around `q^power`: the longer a gap, the less a double knows of it."""
    borders = [((1 << level) - 1) ** power * 2**320 >> (level * power) for power in powers]
    words = [(border >> 256) + off for border in borders for off in (-1, 0, 1)]
    for tail in (1, 2**256 - 1, 2**255 // 3):
        uniforms = Uniforms(
            np.array([words], dtype=np.uint64), 64, lambda index, bits, tail=tail: (tail << bits) >> 256
        )
        truth = [
            power if ((border >> 256) + off) << 256 | tail <= border else power - 1
            for power, border in zip(powers, borders, strict=True)
            for off in (-1, 0, 1)
        ]
        assert skip_lengths(uniforms, level, 10**7).tolist() == truth


def test_the_smallest_word_of_all_passes_over_everything() -> None:
    tiny = Uniforms(np.zeros((1, 1), dtype=np.uint64), 64, lambda index, bits: (1 << bits) >> 7)
    assert skip_lengths(tiny, 2, 100).tolist() == [100]


def test_marks_lie_inside_and_go_on_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(mark_cells(0, 2, replay("none"))) == 0
    many = np.concatenate([mark_cells(10, 2, replay(i)) for i in range(2000)])
    seen = np.bincount(many, minlength=10)
    assert p_value(np.append(seen, 20_000 - seen.sum()), np.append(np.full(10, 500.0), 15_000.0)) > SIGNIFICANCE
    # as many as asked for, however few gaps are drawn at a time
    drawn: list[int] = []

    class Sparing:
        source = replay("sparing")

        def uniforms(self, rows: int, columns: int) -> Uniforms:
            drawn.append(columns)
            return self.source.uniforms(1, 3)

    found = mark_cells(4000, 4, Sparing())  # type: ignore[arg-type] # words are not asked for
    assert (np.diff(found) > 0).all()
    assert 150 < len(found) < 350
    assert len(drawn) > 50


def test_few_columns_are_taken_along_by_the_level_below(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FEW", 1 << 12)
    places = np.repeat([0, 1, 2, 3, 4], [5, 3, 4, 5, 4000])
    assert np.unique(module._merge_levels(places, 100)[:12]).tolist() == [0]
    assert np.unique(module._merge_levels(places, 100)[12:]).tolist() == [8]
    assert np.unique(module._merge_levels(places, 10**7)).tolist() == list(LEVELS)
    assert np.unique(module._merge_levels(places, 1)).tolist() == [0]


@pytest.mark.statistics
def test_releases_from_sparse_uniforms_follow_the_law_and_ten_percent_would_be_noticed() -> None:
    """Chi-square at 1e-9 of the first item: eight leaders one by one, and the long tail together."""
    k_bar, trials = 3000, 20_000
    counts = {f"{i:04}": 1000 + 15 * max(0, 8 - i) for i in range(k_bar + 1)}
    histogram = Histogram.from_counts(counts, k_bar)
    drawn = LimitedDomain(3, k_bar, "0.1", "0.1").release_many(histogram, trials, replay("first items"))
    first = [int(next(iter(selection.items), 9)) for selection in drawn]
    seen = np.bincount(np.minimum(first, 9), minlength=10)

    def fits(epsilon: float) -> float:
        scores = epsilon * (histogram.array - 1000)
        weights = np.append(np.exp(scores), math.exp(epsilon) * k_bar / 0.1)
        chances = weights / weights.sum()
        return p_value(seen, np.append(chances[:9], chances[9:].sum()) * trials)

    assert fits(0.1) > SIGNIFICANCE
    assert fits(0.11) < SIGNIFICANCE
    assert fits(0.09) < SIGNIFICANCE


@pytest.mark.parametrize("level", [2, 4])
def test_small_words_are_decided_by_further_bits(level: int) -> None:
    """Of a word with few digits the logarithm is known roughly only, however well a double holds it."""
    words = np.array([[1, 2, 3, 5, 100, 2**20, 2**30 + 1, 2**39, 2**41]], dtype=np.uint64)
    for tail in (1, 2**256 - 1, 2**255 // 3):
        uniforms = Uniforms(words, 64, lambda index, bits, tail=tail: (tail << bits) >> 256)
        truth = [by_definition(int(word), tail, level) for word in words[0]]
        assert skip_lengths(uniforms, level, 10**6).tolist() == truth


def test_gaps_are_hardly_ever_decided_by_further_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A word within 2^-37 of a border, or below 2^40: one in 10^7."""
    asked: list[int] = []
    monkeypatch.setattr(module, "_skip_length_exactly", lambda uniforms, index, level, most: asked.append(index) or 0)
    skip_lengths(replay("rare gaps").uniforms(1, 20_000), 2, 1 << 40)
    assert len(asked) <= 2


@pytest.mark.parametrize("cells", range(1, 14))
def test_no_cell_at_the_end_of_a_batch_is_forgotten(cells: int) -> None:
    """Gaps of nought, three at a time: every cell is marked, wherever a batch ends."""

    batches: list[int] = []

    class Without:
        def uniforms(self, rows: int, columns: int) -> Uniforms:
            batches.append(columns)
            return Uniforms(np.full((1, 3), 2**64 - 2**60, dtype=np.uint64), 64, lambda index, bits: 0)

    assert mark_cells(cells, 2, Without()).tolist() == list(range(cells))  # type: ignore[arg-type] # as above
    assert len(batches) == math.ceil(cells / 3)  # and none is drawn in vain


@pytest.mark.parametrize("level", LEVELS[1:4])
def test_a_level_of_a_single_column(level: int) -> None:
    """All cells of it that begin with `level` ones are found, and in their rows."""
    least = np.zeros(2000, dtype=np.uint64)
    least[1234] = 2**64 - 2 ** (64 - level)
    uniforms = replay("single column").uniforms(400, 2000)
    found = uniforms.hits_above(least)
    assert set(found.column.tolist()) == {1234}
    assert len(found.every) == 1999
    assert found.row.tolist() == np.flatnonzero(uniforms.words[:, 1234] >= least[1234]).tolist()
    assert abs(len(found.row) - 400 * 2.0**-level) < 7 * (400 * 2.0**-level) ** 0.5


def test_a_word_no_less_than_the_least_is_found() -> None:
    words = np.array([[5, 9], [7, 8]], dtype=np.uint64)
    found = Uniforms(words, 64, lambda index, bits: 0).hits_above(np.array([7, 9], dtype=np.uint64))
    assert (found.row.tolist(), found.column.tolist(), found.word.tolist()) == ([0, 1], [1, 0], [9, 7])
    assert found.full.shape == (2, 0)


def asked_of(
    monkeypatch: pytest.MonkeyPatch, words: list[int], level: int, most: int = 1 << 40, first_bits: int = 64
) -> list[int]:
    """Which of these words are decided by further bits."""
    asked: list[int] = []
    monkeypatch.setattr(module, "_skip_length_exactly", lambda uniforms, index, level, most: asked.append(index) or 0)
    skip_lengths(Uniforms(np.array([words], dtype=np.uint64), first_bits, lambda index, bits: 0), level, most)
    return asked


@pytest.mark.parametrize("level", LEVELS[1:4])
def test_the_words_of_which_64_bits_are_not_enough(monkeypatch: pytest.MonkeyPatch, level: int) -> None:
    """Below 2^40, or a logarithm within 2^-39 of a border's: `2^(level - 39)` of a length, which grows by `2^level`."""
    assert asked_of(monkeypatch, [2**40 - 1, 2**40], level) == [0]
    border = (1 - 2.0**-level) ** 3
    words = [int(border * math.exp(off * 2.0**-39) * 2.0**64) for off in (-1.2, -0.8, 0.8, 1.2)]
    assert asked_of(monkeypatch, words, level) == [1, 2]


def test_a_gap_beyond_the_end_is_certain_and_of_fewer_bits_nothing_is(monkeypatch: pytest.MonkeyPatch) -> None:
    words = [2**41 + 2**20 * off for off in range(5)]  # gaps of about 55
    assert asked_of(monkeypatch, words, 2, most=7) == []
    assert asked_of(monkeypatch, words, 2, first_bits=40) == [0, 1, 2, 3, 4]


def test_a_length_right_at_the_bound_is_decided_by_further_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    word = 2**63 + 2**62 + 2**40
    length = math.log(word * 2.0**-64) / math.log1p(-0.25)
    for off, asked in ((1, [0]), (1 - 2.0**-40, [])):
        monkeypatch.setattr(module, "_LOGARITHM", abs(length - round(length)) / 4 * off)
        assert asked_of(monkeypatch, [word], 2) == asked


class Zeros:
    """Words of zero; gaps are drawn as usual."""

    def __init__(self) -> None:
        self.drawn: list[int] = []

    def words(self, n: int) -> np.ndarray:
        self.drawn.append(n)
        return np.zeros(n, dtype=np.uint64)

    def uniforms(self, rows: int, columns: int) -> Uniforms:
        return replay("gaps").uniforms(rows, columns)


def test_a_single_cell_no_less_than_the_least_is_found() -> None:
    """All that follows the first ones is nought, so that the words are the least that begin so."""
    for off, found in ((0, True), (1, False)):
        uniforms = SparseUniforms((50, 4), 64, lambda index, bits: 0, Zeros())
        cells = uniforms.hits_above(np.array([0, 2**64 - 2**62 + off, 0, 0], dtype=np.uint64))
        assert (len(cells.row) > 0) == found
        assert len(uniforms._found.row) > 0  # type: ignore[union-attr] # it was looked for


def test_late_words_that_begin_with_ones_are_drawn_anew_and_no_others() -> None:
    source = Zeros()
    uniforms = SparseUniforms((2, 3), 64, lambda index, bits: 0, source)
    ones = np.uint64(2**64 - 2**62)
    words = np.array([[ones, ones - np.uint64(1), ones], [ones, ones + np.uint64(1), 5]], dtype=np.uint64)
    uniforms._redraw_columns(words, np.array([1, 2]), ones)
    assert words.tolist() == [[int(ones), int(ones) - 1, 0], [int(ones), 0, 5]]
    assert source.drawn == [2]


def test_nothing_is_drawn_anew_where_everything_was_found() -> None:
    """The columns that ask for nothing are there already, whatever they begin with."""

    class Ones(Zeros):
        def words(self, n: int) -> np.ndarray:
            return super().words(n) - np.uint64(1)

    source = Ones()
    uniforms = SparseUniforms((5, 4), 64, lambda index, bits: 0, source)
    uniforms.hits_above(np.zeros(4, dtype=np.uint64))
    assert (uniforms.words == np.uint64(2**64 - 1)).all()
    assert sum(source.drawn) == 40  # once when looked for, once as a table that they replace


def test_gaps_are_drawn_at_once_in_nearly_every_case() -> None:
    """Four standard deviations to spare: one draw in 30 000 needs a second batch, of 20 none."""
    batches: list[int] = []

    class Counting:
        def __init__(self, key: int) -> None:
            self.source = replay(key)

        def uniforms(self, rows: int, columns: int) -> Uniforms:
            batches.append(columns)
            return self.source.uniforms(rows, columns)

    for key in range(20):
        mark_cells(1 << 12, 4, Counting(key))  # type: ignore[arg-type] # as above
    assert len(batches) == 20
    assert max(batches) < 2 * 256  # about twice as many as are expected would be in vain


def test_numbers_are_looked_up_among_ascending_ones() -> None:
    at, there = module._look_up(np.array([2, 5]), np.array([5, 9, 0, 2, 3]))
    assert there.tolist() == [True, False, False, True, False]
    assert at[there].tolist() == [1, 0]
    assert module._look_up(np.zeros(0, np.int64), np.array([5, 9]))[1].tolist() == [False, False]
