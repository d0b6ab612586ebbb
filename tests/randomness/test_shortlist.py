"""Leaving keys out early never changes who wins."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import arb

from crestline.randomness import shortlist as module
from crestline.randomness.compare import exceeds_threshold, largest_columns
from crestline.randomness.draws import OnePerKey, OrderStatistics
from crestline.randomness.entropy import replay
from crestline.randomness.exact_reals import Real
from crestline.randomness.keys import Keys, build_keys, noiseless_keys
from crestline.randomness.laws import LAWS
from crestline.randomness.laws.constant import CONSTANT
from crestline.randomness.scores import EqualScores, LinearScores, LogScores
from crestline.randomness.shortlist import Shortlist, build_shortlists
from crestline.randomness.uniforms import SparseHits, Uniforms

COLUMNS = 3000


def first_shortlist(noisy: Keys, many: int) -> Shortlist:
    """The shortlist of the first rows."""
    with np.errstate(all="ignore"):  # as `largest_columns` does
        return next(build_shortlists(noisy, many))[1]


def above(noisy: Keys, bar: float) -> Shortlist:
    """Who may reach the bar, in several rows."""
    return module._shortlist_table(noisy, module._uniforms_above(noisy, bar))


def table(law: str, order: str, rows: int, rate: Fraction) -> Keys:
    counts = (50_000 / np.arange(1, COLUMNS + 1)).astype(np.int64)
    if order == "ascending":
        counts = counts[::-1].copy()
    elif order == "mixed":
        counts = np.random.default_rng(5).permutation(counts)
    return build_keys(
        LinearScores(counts, rate), LAWS[law], replay(f"{law} {order}").uniforms(rows, COLUMNS), scale=Fraction(2)
    )


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("order", ["descending", "ascending", "mixed"])
@pytest.mark.parametrize("rows", [1, 6, 20])
@pytest.mark.parametrize("rate", [Fraction(1, 10), Fraction(1, 10_000)])
def test_the_winners_are_those_of_the_whole_field(law: str, order: str, rows: int, rate: Fraction) -> None:
    noisy = table(law, order, rows, rate)
    assert module._is_worth_thinning(noisy, 31)
    winners = largest_columns(noisy, 30)  # before all keys are drawn
    whole = np.argsort(-noisy.rough_values, axis=1)[:, :30]
    sure = np.abs(np.diff(-np.sort(-noisy.rough_values, axis=1)[:, :31], axis=1)).min(axis=1) > 2 * noisy.error
    sure &= ~noisy.unreliable.any(axis=1)  # words at the very ends have no rough value
    assert np.count_nonzero(sure) >= rows - 1
    assert (winners[sure] == whole[sure]).all()
    assert (largest_columns(noisy, 30) == winners).all()  # and after


def test_most_of_a_steep_field_is_left_out() -> None:
    assert first_shortlist(table("gumbel", "descending", 6, Fraction(1, 10)), 31).values.shape[1] < COLUMNS // 10


def test_a_small_field_is_kept_whole() -> None:
    small = build_keys(LinearScores(np.arange(100), Fraction(1)), LAWS["gumbel"], replay("small").uniforms(2, 100))
    assert first_shortlist(small, 20).values.shape[1] == 100
    assert first_shortlist(table("gumbel", "mixed", 1, Fraction(1)), COLUMNS).values.shape[1] == COLUMNS


@pytest.mark.parametrize("rows", [1, 3])
def test_words_at_the_ends_stay_in_the_race(rows: int) -> None:
    """The largest word of all must win against equal scores, wherever it stands."""
    for place in (3, COLUMNS - 1):
        words = replay("ends").words(rows * COLUMNS).reshape(rows, COLUMNS)
        words[:, place] = 2**64 - 1
        noisy = build_keys(
            LinearScores(np.zeros(COLUMNS, np.int64), Fraction(1)), LAWS["gumbel"], Uniforms(words, 64, lambda i, b: 0)
        )
        assert largest_columns(noisy, 5)[:, 0].tolist() == [place] * rows


@pytest.mark.parametrize("rate", [Fraction(0), Fraction(1, 10)])
def test_a_bar_that_too_few_keys_reach_is_lowered(monkeypatch: pytest.MonkeyPatch, rate: Fraction) -> None:
    monkeypatch.setattr(module, "_SPARE", -3.0)
    monkeypatch.setattr(module, "_SPARE_AT_LEAST", -5.0)
    noisy = table("gumbel", "mixed", 20, rate)
    winners = largest_columns(noisy, 30)
    assert "words" in vars(noisy.draws.uniforms)  # type: ignore[attr-defined] # all of it had to be drawn
    assert (np.argsort(-noisy.rough_values, axis=1)[:, :30] == winners).all()


def test_when_nothing_can_be_left_out_everything_stays() -> None:
    noisy = table("gumbel", "mixed", 3, Fraction(1))
    assert module._expected_bar(noisy, COLUMNS) == -np.inf
    with np.errstate(all="ignore"):  # as `largest_columns` does
        assert above(noisy, -np.inf).values.shape == (3, COLUMNS)


@pytest.mark.parametrize("law", LAWS)
def test_about_as_many_keys_stay_as_were_expected(law: str) -> None:
    for rate in (Fraction(0), Fraction(1, 10_000), Fraction(1, 10)):
        noisy = table(law, "descending", 50, rate)
        with np.errstate(all="ignore"):  # as `largest_columns` does
            bar = module._expected_bar(noisy, 100)
            left = above(noisy, bar).values >= bar
        assert 100 < left.sum(axis=1).mean() < 180


def test_a_bar_that_is_too_high_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Power: were the safety of the bar lost, winners would be missing; several rows would notice and lower it."""

    def wrong(rows: int) -> bool:
        noisy = table("gumbel", "mixed", rows, Fraction(1, 10_000))
        winners = largest_columns(noisy, 30)
        return bool((np.argsort(-noisy.rough_values, axis=1)[:, :30] != winners).any())

    assert not wrong(1)
    assert not wrong(20)
    monkeypatch.setattr(module, "_SAFE", 1.01)
    monkeypatch.setattr(module, "_PREFIX", 60)
    assert wrong(1)
    assert not wrong(20)


@pytest.mark.long
@pytest.mark.parametrize("first_bits", [5, 33])
def test_how_many_bits_come_first_does_not_matter(first_bits: int) -> None:
    counts = np.arange(1100, 0, -1)

    def winners(bits: int) -> np.ndarray:
        uniforms = replay("bits", first_bits=bits).uniforms(2, 1100)
        return largest_columns(build_keys(LinearScores(counts, Fraction(1, 300)), LAWS["gumbel"], uniforms), 7)

    assert (winners(first_bits) == winners(64)).all()


@pytest.mark.parametrize("looked_at", [50, 700, 2000])
@pytest.mark.parametrize("order", ["descending", "ascending", "mixed"])
def test_long_rows_looked_at_by_blocks_and_intervals(
    monkeypatch: pytest.MonkeyPatch, looked_at: int, order: str
) -> None:
    """Rows longer than are looked at one by one: the same winners, and about as many keys stay as were expected."""
    monkeypatch.setattr(module, "_LOOKED_AT", looked_at)
    monkeypatch.setattr(module, "_JUDGED", looked_at)
    noisy = table("gumbel", order, 20, Fraction(1, 1000))
    winners = largest_columns(noisy, 30)
    assert (np.argsort(-noisy.rough_values, axis=1)[:, :30] == winners).all()
    with np.errstate(all="ignore"):  # as `largest_columns` does
        bar = module._expected_bar(noisy, 100)
        left = above(noisy, bar).values >= bar
    assert 80 < left.sum(axis=1).mean() < 220


def test_what_is_thinned() -> None:
    """One uniform for each key, noise that grows with it, and the same scores in each row."""
    columns = module._WORTH_IT * module._BLOCK
    scores, words = LinearScores(np.zeros(columns, np.int64), Fraction(1)), replay("thin").uniforms(16, columns)
    law = LAWS["gumbel"]
    assert module._is_worth_thinning(build_keys(scores, law, words), 1)
    assert module._is_worth_thinning(build_keys(scores, law, replay("thin").uniforms(1, columns)), 1)
    assert module._is_worth_thinning(build_keys(scores, law, words, scale=Fraction(1, 2)), columns // module._WORTH_IT)
    several = LinearScores(np.zeros((16, columns), np.int64), Fraction(1))
    others = [
        build_keys(scores, law, words, scale=Fraction(0)),
        build_keys(scores, law, words, scale=Fraction(-1, 2)),
        build_keys(scores, CONSTANT, words),
        build_keys(several, law, words),
        Keys(scores, law, OnePerKey(words, EqualScores(columns))),
        Keys(scores, law, OrderStatistics(words, np.full((16, 2), 9), columns // 2)),
        build_keys(
            LinearScores(np.zeros(columns - 1, np.int64), Fraction(1)), law, replay("thin").uniforms(1, columns - 1)
        ),
        build_keys(
            LinearScores(np.zeros(columns - 1, np.int64), Fraction(1)), law, replay("thin").uniforms(16, columns - 1)
        ),
    ]
    assert not any(module._is_worth_thinning(other, 1) for other in others)
    assert not module._is_worth_thinning(build_keys(scores, law, words), columns // module._WORTH_IT + 1)


class Given:
    """Scores with an error of their own."""

    def __init__(self, approx: np.ndarray, error: float) -> None:
        self.approx, self.error = approx, error

    def ball(self, row: int, column: int) -> arb:
        raise AssertionError("doubles decide here")


def columns_above(noisy: Keys, bar: float) -> list[list[int]]:
    """The columns of the keys that may reach a bar."""
    columns = module._keys_above(noisy, bar).columns
    assert columns is not None
    return columns.tolist()


def words_of(values: np.ndarray) -> np.ndarray:
    """The words whose Gumbel noise lies at these values, or less than 2^-40 above."""
    with mpmath.workdps(40):
        return np.array([int(mpmath.ceil(mpmath.exp(-mpmath.exp(-mpmath.mpf(x))) * 2**64)) for x in values], np.uint64)


@pytest.mark.parametrize("error", [0.0, 0.1])
def test_a_key_that_may_reach_the_threshold_stays(monkeypatch: pytest.MonkeyPatch, error: float) -> None:
    """Keys right at the bar, and less than a margin below it: their scores may be off by as much."""
    monkeypatch.setattr(module, "_BLOCK", 1)
    scores = np.linspace(-3.0, 3.0, 64)
    values = 2.0 - scores - np.where(np.arange(64) % 2, 0.9 * error, 0.0)
    words = words_of(values).reshape(1, 64)
    noisy = Keys(Given(scores, error), LAWS["gumbel"], OnePerKey(Uniforms(words, 64, zeros)))
    assert columns_above(noisy, 2.0) == [list(range(64))]


def zeros(index: int, bits: int) -> int:
    return 0


def test_a_key_that_cannot_reach_the_threshold_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BLOCK", 1)
    scores = np.linspace(-3.0, 3.0, 64)
    words = words_of(2.0 - scores - np.where(np.arange(64) % 2, 1e-2, 0.0)).reshape(1, 64)
    noisy = Keys(Given(scores, 0.0), LAWS["gumbel"], OnePerKey(Uniforms(words, 64, zeros)))
    assert columns_above(noisy, 2.0) == [list(range(0, 64, 2))]


def test_the_bar_of_a_pilot_is_certainly_reached() -> None:
    scores = np.zeros(3000)
    noisy = Keys(Given(scores, 0.25), LAWS["gumbel"], OnePerKey(replay("pilot").uniforms(1, 3000)))
    best = np.sort(noisy.rough_values[0, : module._PREFIX * 40])[::-1]
    assert module._bar_from_prefix(noisy, 40) == best[39] - noisy.error


def test_a_pilot_that_cannot_be_relied_on_leaves_no_key_out() -> None:
    """Words close to 0 among the first columns: had they counted as high, no key would reach the bar."""
    words = replay("low").words(COLUMNS).reshape(1, COLUMNS)
    words[0, :31] = 5
    noisy = build_keys(
        LinearScores(np.zeros(COLUMNS, np.int64), Fraction(1)), LAWS["gumbel"], Uniforms(words, 64, lambda i, b: 0)
    )
    assert (largest_columns(noisy, 30)[0] == np.argsort(-noisy.rough_values[0] - 0.0)[:30]).all()


def test_a_bar_counts_as_reached_when_it_certainly_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three wanted keys lie above the first bar, but one by less than the margin: the next bar is asked for."""
    scores = np.zeros(2000)
    scores[:3] = 1000.0
    words = np.full((2, 2000), 2**63, dtype=np.uint64)
    noisy = Keys(Given(scores, 0.5), LAWS["gumbel"], OnePerKey(Uniforms(words, 64, zeros)))
    top = float(noisy.rough_values[0, 0])
    for off, calls in ((0.25, 2), (-0.25, 2), (0.75, 1)):
        bars = iter([top - off, -np.inf])
        asked: list[float] = []

        def bar(_: object, wanted: float, bars: Iterator[float] = bars, asked: list[float] = asked) -> float:
            asked.append(wanted)
            return next(bars)

        monkeypatch.setattr(module, "_expected_bar", bar)
        with np.errstate(all="ignore"):  # as `largest_columns` does
            list(module._thin_by_rows(noisy, 3))
        assert len(asked) == calls


def test_rows_of_several_lengths_make_one_table() -> None:
    """Whole columns first, then single cells; the values are those of the keys, whatever their places."""
    noisy = table("gumbel", "descending", 3, Fraction(1, 1000))
    words = replay("cells").words(11)
    words[9] = 3  # an edge
    row, column = np.array([0, 0, 2, 2, 2]), np.array([7, 9, 1, 2, 4])
    made = module._shortlist_table(noisy, SparseHits(np.array([5, 0]), words[:6].reshape(3, 2), row, column, words[6:]))
    columns, present = made.columns, made.present
    assert columns is not None
    assert present is not None
    assert present.tolist() == [[True] * 4 + [False], [True] * 2 + [False] * 3, [True] * 5]
    assert columns[0].tolist()[:4] == [5, 0, 7, 9]
    assert columns[2].tolist() == [5, 0, 1, 2, 4]
    assert np.argwhere(made.edge).tolist() == [[2, 3]]
    scores = noisy.scores.approx
    assert made.values[1, :2] == pytest.approx(-2 * np.log(-np.log(words[2:4] * 2.0**-64)) + scores[[5, 0]])
    assert made.values[2, 4] == pytest.approx(-2 * np.log(-np.log(words[10] * 2.0**-64)) + scores[4])
    assert (made.values[~present] == -np.inf).all()
    part = made.rows(1, 3)
    assert part.columns is not None
    assert part.present is not None
    assert part.columns.tolist() == columns[1:].tolist()
    assert part.present.tolist() == present[1:].tolist()


@pytest.mark.parametrize("cells", [1, 1000])
@pytest.mark.parametrize("rows", [2, 21])
@pytest.mark.parametrize("spare", [5.0, -3.0])
def test_rows_are_judged_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch, cells: int, rows: int, spare: float) -> None:
    """However many fit the cache, and whether or not the bar must be lowered: the largest of all keys."""
    monkeypatch.setattr(module, "_CELLS", cells)
    monkeypatch.setattr(module, "_SPARE", spare)
    noisy = table("gumbel", "mixed", rows, Fraction(1, 1000))
    winners = largest_columns(noisy, 30)
    assert (np.argsort(-noisy.rough_values, axis=1)[:, :30] == winners).all()


@pytest.mark.parametrize(("cells", "least", "most"), [(1, 1, 1), (1000, 5, 20)])
def test_as_many_rows_at_a_time_as_fit_the_cache(
    monkeypatch: pytest.MonkeyPatch, cells: int, least: int, most: int
) -> None:
    """About fifty keys of each row stay: of a thousand cells, twenty rows at most; and never less than one."""
    monkeypatch.setattr(module, "_CELLS", cells)
    with np.errstate(all="ignore"):  # as `largest_columns` does
        firsts = [first for first, _ in build_shortlists(table("gumbel", "mixed", 50, Fraction(1, 1000)), 31)]
    assert firsts[0] == 0
    assert least <= min(np.diff(firsts)) <= max(np.diff(firsts)) <= most


@pytest.mark.parametrize("sort", ["plain", "copies", "several", "groups", "few bits"])
def test_chosen_keys_are_those_of_the_whole_table(sort: str) -> None:
    """Values and edges of some columns, other ones in every row, and the comparisons made with them."""
    words = replay("chosen").words(20).reshape(4, 5)
    words[1, 2], words[3, 0] = 3, 2**64 - 1
    uniforms = Uniforms(words, 40 if sort == "few bits" else 64, zeros)
    counts = np.arange(20).reshape(4, 5) if sort == "several" else np.arange(5)
    draws: OnePerKey | OrderStatistics = OnePerKey(
        uniforms, LogScores((1, 2, 3, 1000, 10**6)) if sort == "copies" else None
    )
    if sort == "groups":
        draws = OrderStatistics(uniforms, np.full((4, 1), 9), 5)
    made = Keys(LinearScores(counts, Fraction(1)), LAWS["gumbel"], draws, Fraction(2))
    chosen = np.array([[0, 4], [2, 1], [3, 3], [0, 1]])
    values, edge = module.rough_chosen(made, chosen)
    assert (edge == np.take_along_axis(made.unreliable, chosen, axis=1)).all()
    whole = np.take_along_axis(made.rough_values, chosen, axis=1)
    assert values[~edge] == pytest.approx(whole[~edge])
    assert np.isfinite(values).all()
    if sort != "few bits":  # the tails are all nought, so that nothing more is ever known
        bar = noiseless_keys(EqualScores(1, Real(Fraction(3))), 4)
        assert (
            exceeds_threshold(made, bar, chosen) == np.take_along_axis(exceeds_threshold(made, bar), chosen, axis=1)
        ).all()


def test_a_word_no_less_than_the_least_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    words = replay("least").words(10).reshape(1, 10)
    least = words[0] + np.array([0, 1] * 5, dtype=np.uint64)
    monkeypatch.setattr(module, "_least_words", lambda keys, bar, block: least)
    noisy = Keys(Given(np.zeros(10), 0.0), LAWS["gumbel"], OnePerKey(Uniforms(words, 64, zeros)))
    assert columns_above(noisy, 0.0) == [[0, 2, 4, 6, 8]]


def test_a_key_right_at_the_bar_has_reached_it() -> None:
    noisy = Shortlist(np.array([[1.0, 3.0, 2.0], [2.0, 2.0, 0.0]]), np.zeros((2, 3), dtype=np.bool_))
    assert module._all_rows_reach(noisy, 2.0, 2)
    assert not module._all_rows_reach(noisy, 2.0, 3)
    assert not module._all_rows_reach(noisy, 2.5, 1)


def test_a_single_row_has_its_bar_from_a_pilot(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(keys: Keys, many: int) -> float:
        raise AssertionError("not for a single row")

    monkeypatch.setattr(module, "_expected_bar", never)
    assert first_shortlist(table("gumbel", "descending", 1, Fraction(1, 10)), 31).values.shape[1] < COLUMNS // 10


def test_there_is_no_bar_where_half_of_all_keys_would_reach_it() -> None:
    """Four wanted and five times their root: fourteen, which is half of 28 keys."""
    for columns, found in ((28, True), (27, False)):
        noisy = Keys(Given(np.zeros(columns), 0.0), LAWS["gumbel"], OnePerKey(replay("half").uniforms(2, columns)))
        assert np.isfinite(module._expected_bar(noisy, 4)) == found


class Steps:
    """Noise that is always the same; which bars are asked for, and of how many columns, is noted."""

    def __init__(self, noise: float, top: float) -> None:
        self.noise, self.top = noise, top
        self.bars: list[float] = []
        self.sizes: set[int] = set()

    def cdf(self, x: np.ndarray) -> np.ndarray:
        self.bars.append(float(x[0]) + self.top)
        self.sizes.add(len(x))
        return np.where(x >= self.noise, 1.0, 0.0)


EVERY = list(range(200, 0, -1))


@pytest.mark.parametrize(
    ("scores", "noise", "bars"),
    [
        (EVERY, 0.0, [169, 168, 166, 162, 164, 165]),  # down to a bar that is low enough, and half-way up again
        ([*EVERY[:33], 167, *EVERY[33:]], 0.0, [169, 168, 166]),  # as many as wanted on the way down
        ([*EVERY[:34], *EVERY[36:]], 0.0, [169, 168, 166, 162, 164, 163]),  # one too few half-way
        (EVERY, 5.0, [169, 170, 172]),  # up: as many as wanted, then two too few
        (EVERY, 4.0, [169, 170]),  # up: one too few
    ],
)
def test_a_bar_is_the_highest_that_enough_keys_reach(scores: list[int], noise: float, bars: list[float]) -> None:
    """32 wanted and three more: keys without chance, so that all of them can be counted; each look is counted, too."""
    law = Steps(noise, scores[0])
    bar = module._expected_bar(Keys(Given(np.array(scores, float), 0.0), law, None), 32)  # type: ignore[arg-type] # as much as is used
    assert law.bars == bars
    assert bar == max(bar for bar in bars if sum(score + noise > bar for score in scores) >= 35)


@pytest.mark.parametrize(("columns", "looked_at"), [(199, 199), (200, 150), (299, 200), (300, 167)])
def test_of_a_long_row_about_twice_as_many_columns_are_looked_at(
    monkeypatch: pytest.MonkeyPatch, columns: int, looked_at: int
) -> None:
    """The first hundred, and of the others as many at most, at equal intervals."""
    monkeypatch.setattr(module, "_LOOKED_AT", 100)
    law = Steps(0.0, columns)
    module._expected_bar(Keys(Given(np.arange(columns, 0.0, -1.0), 0.0), law, None), 4)  # type: ignore[arg-type] # as above
    assert law.sizes == {looked_at}


def test_of_a_long_row_at_least_twice_as_many_columns_as_are_wanted_are_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """64 of them one by one, and of the other 136 every fourteenth."""
    monkeypatch.setattr(module, "_LOOKED_AT", 10)
    law = Steps(0.0, 200)
    module._expected_bar(Keys(Given(np.array(EVERY, float), 0.0), law, None), 32)  # type: ignore[arg-type] # as above
    assert law.sizes == {64 + 10}


@pytest.mark.parametrize(
    ("first_bits", "offs", "asked"), [(64, [0.75], [6]), (64, [0.25, 0.75], [6, 12]), (40, [0.75, np.inf], [6, 12])]
)
def test_a_bar_is_lowered_until_it_is_certainly_reached(
    monkeypatch: pytest.MonkeyPatch, first_bits: int, offs: list[float], asked: list[int]
) -> None:
    """Three keys, by more than a margin of one half; where none can be relied on, until there is no bar at all."""
    scores = np.zeros(2000)
    scores[:3] = 1000.0
    words = np.full((2, 2000), 2**63, dtype=np.uint64)
    noisy = Keys(Given(scores, 0.5), LAWS["gumbel"], OnePerKey(Uniforms(words, first_bits, zeros)))
    top, wanted, bars = 1000 - np.log(np.log(2)), [], iter(offs)

    def bar(_: object, many: int) -> float:
        wanted.append(many)
        return float(top - next(bars))

    monkeypatch.setattr(module, "_expected_bar", bar)
    with np.errstate(all="ignore"):  # as `largest_columns` does
        assert module._with_lowered_bar(noisy, 3).values.shape[0] == 2
    assert wanted == asked


def test_chosen_keys_are_looked_at_without_drawing_the_rest() -> None:
    noisy = table("gumbel", "descending", 20, Fraction(1, 10))
    winners = largest_columns(noisy, 30)
    values, _ = module.rough_chosen(noisy, winners[:, 3:5])
    assert "words" not in vars(noisy.draws.uniforms)  # type: ignore[attr-defined] # nothing else was drawn
    assert values == pytest.approx(np.take_along_axis(noisy.rough_values, winners[:, 3:5], axis=1))
