"""The journey of a sum: clipped by user, ranked, published in the units of its column, charged like a count."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import crestline as cl
from crestline.errors import MechanismError, QuestionError
from crestline.randomness.entropy import replay

SALES = "select i as buyer, 'sku ' || i % 3 as sku, (i % 3 + 1) * 10 as cents, (i % 3 + 1) / 4.0 as euros"


@pytest.fixture
def sales(tmp_path: Path) -> Path:
    import duckdb

    path = tmp_path / "sales.parquet"
    duckdb.sql(f"copy ({SALES} from range(3000) t(i)) to '{path}' (format parquet)")
    return path


def sums(source: Any, score: str, **changes: Any) -> cl.Answer:
    call: dict[str, Any] = {"user": "buyer", "item": "sku", "k": 3, "epsilon": 2, "delta": "1e-6", "clip": 40}
    return cl.top_k(source, **{**call, "score": score, "entropy": replay("sums"), **changes})


@pytest.mark.long
@pytest.mark.parametrize("contribution", [None, 1])
@pytest.mark.parametrize(("score", "clip", "unit"), [("sum(cents)", 40, 10), ("sum(euros)", 1, 0.25)])
def test_a_score_ranks_and_publishes_sums(
    sales: Path, score: str, clip: int, unit: float, contribution: int | None
) -> None:
    answer = sums(sales, score, clip=clip, counts=True, contribution=contribution)
    assert set(answer.listed_items) == {"sku 0", "sku 1", "sku 2"}
    assert answer.counts is not None
    assert answer.spread is not None
    assert answer.margin is not None
    assert answer.margin > clip  # in the units of the column
    for item, count in zip(answer.listed_items, answer.counts, strict=True):
        assert abs(float(count) - 1000 * unit * (int(str(item)[-1]) + 1)) < 6 * answer.spread
    assert f"of {score}" in answer.explain()
    assert f"at most {clip} from each user" in " ".join(answer.explain().split())


def test_a_smaller_clip_needs_a_smaller_margin_and_counts_less(sales: Path) -> None:
    wide, narrow = (sums(sales, "sum(cents)", clip=clip, counts=True) for clip in (40, 10))
    assert wide.margin is not None
    assert narrow.margin is not None
    assert wide.margin == pytest.approx(4 * narrow.margin)
    assert narrow.counts is not None
    assert max(narrow.counts) < 15_000  # 1000 buyers, 10 each at most


@pytest.mark.long
def test_a_score_is_part_of_the_question(sales: Path) -> None:
    books = cl.Budget(epsilon=4, delta="1e-4")
    dataset = cl.connect(str(sales)).dataset("sales", user="buyer", budget=books)
    call: dict[str, Any] = {"k": 2, "item": "sku", "score": "sum(cents)", "clip": 40}
    price = dataset.price(**call)
    assert not price.stored
    dataset.top(**call)
    assert dataset.price(**call).stored
    assert not dataset.price(**{**call, "clip": 41}).stored
    with pytest.raises(QuestionError, match="needs clip"):
        dataset.price(k=2, item="sku", score="sum(cents)")


def test_laplace_with_a_score_is_refused_before_it_is_charged(sales: Path) -> None:
    ledger = cl.Ledger.in_memory(cl.Budget(epsilon=4, delta="1e-4"))
    before = ledger.remaining()
    with pytest.raises(MechanismError, match="Laplace noise"):
        sums(sales, "sum(cents)", mechanism="LimitedDomainLaplace", contribution=1, ledger=ledger)
    assert ledger.remaining() == before


def test_a_score_over_a_public_list(sales: Path) -> None:
    answer = sums(sales, "sum(euros)", clip=1, k=1, domain=["sku 0", "sku 1", "sku 2", "never sold"], counts=True)
    assert answer.items == ("sku 2",)
    assert answer.counts is not None
    assert abs(float(answer.counts[0]) - 750) < 100
