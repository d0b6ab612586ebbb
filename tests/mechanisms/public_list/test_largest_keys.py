"""The largest keys of a public list by groups: as few uniforms as it takes, and every item at most once."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from crestline.histogram.count_levels import count_levels
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.public_list.largest_keys import draw_top_ranks
from crestline.randomness import batch_sizes as sizes
from crestline.randomness.entropy import Entropy, replay
from crestline.randomness.laws.gumbel import GUMBEL
from crestline.randomness.uniforms import Uniforms


class Counting:
    """Notes the tables of uniforms that it hands out."""

    def __init__(self, source: Entropy) -> None:
        self.source, self.columns = source, list[int]()

    def uniforms(self, rows: int, columns: int) -> Uniforms:
        self.columns.append(columns)
        return self.source.uniforms(rows, columns)


def drawn(multiplicities: dict[int, int], k: int, trials: int = 20) -> tuple[np.ndarray, list[int]]:
    """The ranks, and how many uniforms each trial took, table by table. Counts that differ never change places."""
    entropy = Counting(replay("ranks"))
    items = count_levels(Histogram.from_multiplicities(multiplicities))
    ranks = draw_top_ranks(items, k, Fraction(10**6), GUMBEL, trials, entropy)  # type: ignore[arg-type] # all it asks
    assert ranks.shape == (trials, k)
    assert (np.diff(np.sort(ranks, axis=1)) > 0).all()  # no item twice
    return ranks, entropy.columns


def test_items_that_stand_alone_take_one_uniform_each() -> None:
    ranks, columns = drawn({9: 1, 7: 1, 5: 1, 0: 1}, 2)
    assert ranks.tolist() == [[0, 1]] * 20
    assert columns == [4]


def test_a_group_takes_a_uniform_for_its_largest_and_one_for_who_it_is() -> None:
    ranks, columns = drawn({9: 50, 7: 10**10}, 1)
    assert (ranks < 50).all()
    assert len(np.unique(ranks)) > 10
    assert [many for many in columns if many] == [2, 1]


def test_groups_are_looked_into_only_as_deep_as_may_be_needed() -> None:
    """Five groups for five items: four deep at first, and at once as deep as all when groups are fewer."""
    pairs = {9 - place: 2 for place in range(5)}
    ranks, columns = drawn(pairs, 5)
    assert [sorted(row) for row in ranks.tolist()] == [[0, 1, 2, 3, row[-1]] for row in ranks.tolist()]
    assert columns == [5, 5, 5]  # a second one of each pair, then who is who: no pair has a third
    ranks, columns = drawn({9: 100, 0: 10**10}, 5)
    assert (ranks < 100).all()
    assert columns == [2, 2 * 4, 5]


@pytest.mark.parametrize(
    ("first", "second", "deeper"),
    [
        (4, 3, []),  # a group that has no fifth
        (4, 1, []),  # the third group gives three of fifty: a fourth would have been seen
        (5, 2, [8 * 4]),  # a fifth is wanted
        (3, 1, [8 * 4]),  # the third group gives all four that were looked at: perhaps a fifth comes next
        (100, 1, [8 * 4]),
    ],
)
def test_a_group_that_gives_all_that_was_looked_at_is_looked_into_further(
    first: int, second: int, deeper: list[int]
) -> None:
    """Eight of eight groups, far apart: the first two give all they have, the third the rest; four deep at first."""
    ranks, columns = drawn({90: first, 80: second, **dict.fromkeys(range(6), 50)}, 8)
    for row in ranks.tolist():
        kept = min(8, first + second)
        assert sum(rank < first + second for rank in row) == kept
        assert (np.array(row) < first + second + 50).all()
    assert columns == [8, 8 * 3, *deeper, 8]


def test_no_trials_and_no_items() -> None:
    assert drawn({5: 3}, 2, trials=0)[0].shape == (0, 2)
    assert drawn({}, 0)[0].shape == (20, 0)


def test_batches_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "_CELLS", 8)
    ranks, _ = drawn({9: 4, 7: 2, 1: 5}, 3, trials=101)
    assert (ranks < 4).all()
    assert len(np.unique(ranks, axis=0)) == 4 * 3 * 2
