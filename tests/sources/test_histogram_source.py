"""A ready histogram as a source: no empty slot is ever named."""

from __future__ import annotations

from typing import Any

import pytest

import crestline as cl
from crestline.histogram.histogram import Histogram
from crestline.histogram.label_order import Padding
from crestline.mechanisms.catalogue import CATALOGUE
from crestline.question import Question
from crestline.sources import open_source

UNKNOWN = [
    line.name
    for line in CATALOGUE
    if line.domain == "unknown"
    and line.name not in ("Restricted", "Observed", "Sieve", "Routed")  # which need no slots
]


@pytest.mark.parametrize("k_bar", [1, 2, 3, 6, 8])
def test_a_smaller_k_bar_sees_what_counting_with_it_would_have_seen(k_bar: int) -> None:
    counts = {"a": 5, "b": 3}
    found = open_source(Histogram.from_counts(counts, 8, unit=2)).top_counts(Question(k=1, k_bar=k_bar))
    wanted = Histogram.from_counts(counts, k_bar, unit=2)
    for name in ("items", "counts", "next_count", "filled", "padded", "step", "k_bar"):
        assert getattr(found, name) == getattr(wanted, name)


@pytest.mark.long
@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("name", UNKNOWN)
def test_no_label_of_an_answer_is_an_empty_slot(name: str, counts: bool) -> None:
    """Two items far ahead of nothing, eight slots of which six are seen, and a budget with which all could be named."""
    ready = Histogram.from_counts({"tea": 10**9, "milk": 10**9 - 10**8}, 8)
    named = 0
    for seed in range(2):
        entropy = cl.entropy.replay(f"slots {seed}")
        answer = cl.top_k(ready, k=3, k_bar=6, epsilon=50, delta="0.5", mechanism=name, counts=counts, entropy=entropy)
        assert not [item for item in answer.items if isinstance(item, Padding)]
        assert set(answer.items) <= {"tea", "milk"}
        named += len(answer.items)
    assert named or "Canonical" in name  # which choose sets of k items: here an empty slot is always among them


@pytest.mark.parametrize(
    "mechanism",
    [
        cl.mechanisms.LimitedDomain(3, 6, epsilon=1, delta="0.9"),
        cl.mechanisms.LimitedDomainLaplace(3, 6, epsilon=1, delta="0.9", contribution=None),
        cl.mechanisms.LimitedDomainGauss(3, 6, sigma=1, delta="0.9"),
        cl.mechanisms.TopStable(3, 6, epsilon=1, delta="0.9"),
    ],
    ids=lambda mechanism: type(mechanism).__name__,
)
def test_an_unlikely_answer_has_no_empty_slots_either(mechanism: Any) -> None:
    """Empty slots pass with a chance of about δ; what is named ends before them all the same."""
    ready = open_source(Histogram.from_counts({"tea": 900}, 8)).top_counts(Question(k=3, k_bar=6))
    for selection in mechanism.release_many(ready, 200, cl.entropy.replay("beyond")):
        assert set(selection.items) <= {"tea"}


def test_a_histogram_made_by_hand_knows_its_empty_slots() -> None:
    ready = Histogram.from_counts({"tea": 3}, 4)
    assert Histogram(ready.items, ready.array.copy(), 0).filled == 1
