"""The contribution bound: fresh keys, no bias, no word about the key, and no user decides for another."""

from __future__ import annotations

import hashlib
import logging
import traceback
from collections.abc import Sequence

import pyarrow as pa
import pytest
from scipy.stats import chi2

from crestline.errors import ParameterError, SourceError
from crestline.histogram.histogram import Histogram
from crestline.histogram.label_order import Label
from crestline.question import Question
from crestline.randomness import entropy
from crestline.sources import open_source
from crestline.sources.expression.contribution import fresh_key
from tests.sources import oracle

pytestmark = pytest.mark.long

KEY = bytes(range(32))


def question(contribution: int, k_bar: int = 100) -> Question:
    return Question(k=1, k_bar=k_bar, contribution=contribution)


def test_fresh_keys_are_long_and_differ() -> None:
    system = entropy.system()
    keys = {fresh_key(system) for _ in range(10)}
    assert len(keys) == 10
    assert {len(key) for key in keys} == {32}
    assert fresh_key(entropy.replay(b"k")) == fresh_key(entropy.replay(b"k"))


def test_a_bound_without_a_key_is_refused() -> None:
    source = open_source(pa.table({"user": [1], "item": ["a"]}))
    source.check(question(1))  # a question can be checked before there is a key
    with pytest.raises(ParameterError, match="fresh random key"):
        source.top_counts(question(1))
    with pytest.raises(ParameterError, match="fresh random key"):
        source.top_counts(question(1), b"short")


def test_the_key_reaches_no_error_and_no_log(caplog: pytest.LogCaptureFixture) -> None:
    source = open_source(pa.table({"user": [1], "item": ["a"]}))
    engine = source._runner._engine  # type: ignore[attr-defined] # broken on purpose
    engine.disconnect()
    with caplog.at_level(logging.DEBUG), pytest.raises(SourceError) as failure:
        source.top_counts(question(1), KEY)
    text = "".join(traceback.format_exception(failure.value)) + caplog.text
    assert KEY.hex() not in text
    assert hashlib.sha256(KEY).hexdigest()[:32] not in text  # the form in which the engine sees it
    assert failure.value.__context__ is None


def test_removing_a_user_changes_the_counts_of_that_user_alone() -> None:
    rows = [{"user": user, "item": f"i{item}"} for user in range(30) for item in range(user % 7 + 1)]
    source = open_source(pa.Table.from_pylist(rows))
    everyone = counts(source.top_counts(question(3), KEY))
    for gone in (0, 5, 6, 29):
        others = [row for row in rows if row["user"] != gone]
        without = counts(open_source(pa.Table.from_pylist(others)).top_counts(question(3), KEY))
        moved = {item: everyone.get(item, 0) - without.get(item, 0) for item in everyone | without}
        assert set(moved.values()) <= {0, 1}
        assert sum(moved.values()) == min(3, gone % 7 + 1)


def test_every_item_of_a_user_is_kept_equally_often() -> None:
    """Pearson's χ² over 8 items that 30 000 users all hold, 2 kept each; false alarm below 1e-6.

    The counts of a fair choice of 2 of 8 have covariance n p (1-p) m/(m-1) (I - J/m) with p = 2/8 and m = 8.
    """
    users, items, kept = 30_000, 8, 2
    rows = {
        "user": [u for u in range(users) for _ in range(items)],
        "item": [f"item {i}" for i in range(items)] * users,
    }
    histogram = open_source(pa.table(rows)).top_counts(question(kept), fresh_key(entropy.replay(b"bias")))
    seen, threshold = list(counts(histogram).values()), chi2.isf(1e-6, items - 1)
    assert sum(seen) == users * kept
    assert statistic(seen, users, items, kept) < threshold
    favoured = [seen[0] * 1.1, *(count - seen[0] * 0.1 / (items - 1) for count in seen[1:])]
    assert statistic(favoured, users, items, kept) > threshold  # one item kept 10% more often would be noticed


def statistic(seen: Sequence[float], users: int, items: int, kept: int) -> float:
    share = kept / items
    expected, spread = users * share, users * share * (1 - share) * items / (items - 1)
    return sum((count - expected) ** 2 for count in seen) / spread


def test_keys_are_independent_between_releases() -> None:
    """Two keys keep the same single item of a user with probability 1/8; over 4000 users, false alarm below 1e-6."""
    items, users = 8, 4000
    stream = entropy.replay(b"independence")
    pairs = {(user, f"item {item}") for user in range(users) for item in range(items)}
    first, second = (oracle.bounded(pairs, 1, fresh_key(stream)) for _ in range(2))
    agreed = len(first & second)
    mean, deviation = users / items, (users / items * (1 - 1 / items)) ** 0.5
    assert abs(agreed - mean) < 5 * deviation


def counts(histogram: Histogram) -> dict[Label, int]:
    return {item: count for item, count in zip(histogram.items, histogram.counts, strict=True) if count}
