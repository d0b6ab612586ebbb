"""Mechanisms that look at all observed items or at pairs: what they cannot do is refused before anything is charged."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import crestline as cl
from crestline.errors import CrestlineError, MechanismError, ParameterError, QuestionError
from crestline.histogram.observed_items import ObservedItems
from crestline.histogram.view_kinds import SLOTS, view_of
from crestline.mechanisms.observed.observed import LARGEST_CAP, Observed
from crestline.mechanisms.observed.sieve import Sieve

TABLE = pa.table({"user": [1, 2], "item": ["a", "b"], "price": [1, 2]})
SLOT_COUNTS = cl.Histogram.from_counts({"a": 900}, 8)
SCORES = ObservedItems.from_scores({"a": 900, "b": 1})
BOUND: dict[str, Any] = {"mechanism": "Observed", "contribution": 2}
SIEVE: dict[str, Any] = {"mechanism": "Sieve"}


class Looking:
    """A third party's mechanism whose `view` is something else."""

    k, k_bar, view = 1, 1, "from above"

    def guarantee(self) -> Any:
        return cl.PureDP(1)

    def release(self, histogram: Any, entropy: Any) -> Any:
        raise AssertionError("nothing may be released")


REFUSED: list[tuple[Any, dict[str, Any], type[CrestlineError], str]] = [
    (TABLE, SIEVE | {"contribution": 3}, ParameterError, "leave contribution out"),
    (TABLE, {"mechanism": "Routed", "counts": True}, MechanismError, "where counts cost nothing"),
    (TABLE, SIEVE | {"domain": ["a"]}, MechanismError, "not publicly listed"),
    (TABLE, SIEVE | {"score": "sum(price)", "clip": 2}, MechanismError, "leave score out"),
    (TABLE, {"mechanism": Sieve(1, 1, "1e-6"), "contribution": 3}, MechanismError, "leave contribution out"),
    (TABLE, {"mechanism": Sieve(1, 1, "1e-6"), "counts": True}, MechanismError, "leave counts out"),
    (TABLE, {"mechanism": "Observed"}, ParameterError, "needs a contribution bound"),
    (TABLE, BOUND | {"contribution": LARGEST_CAP + 1}, ParameterError, "cap must be at most"),
    (TABLE, BOUND | {"domain": ["a"]}, MechanismError, "not publicly listed"),
    (TABLE, BOUND | {"score": "sum(price)", "clip": 2}, MechanismError, "leave score out"),
    (TABLE, {"mechanism": Observed(1, 5, 9, "1e-6"), "contribution": 2}, MechanismError, "contribution=5"),
    (TABLE, {"mechanism": Looking()}, MechanismError, "view must be a View"),
    (SLOT_COUNTS, SIEVE, MechanismError, "give the table"),
    (SLOT_COUNTS, BOUND, MechanismError, "ObservedItems.from_scores"),
    (SCORES, SIEVE, MechanismError, "take mechanism='Observed'"),
    (SCORES, {}, MechanismError, "take mechanism='Observed'"),
    (ObservedItems.from_scores({"a": 900}, unit=7), BOUND, QuestionError, "unit=1"),
]


@pytest.mark.parametrize(("source", "options", "error", "says"), REFUSED)
def test_what_cannot_be_looked_at_costs_nothing(
    source: Any, options: dict[str, Any], error: type[CrestlineError], says: str
) -> None:
    ledger = cl.Ledger.in_memory(cl.Budget(epsilon=3, delta="1e-4"))
    total: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}
    with pytest.raises(error, match=says):
        cl.top_k(source, k=1, ledger=ledger, **{**total, **options})
    assert [entry.kind for entry in ledger.history()] == ["opened"]


def test_noisy_counts_are_not_for_what_shows_no_slots() -> None:
    for mechanism in (Sieve(1, 1, "1e-6"), Observed(1, 2, 9, "1e-6")):
        with pytest.raises(MechanismError, match="does not see the counts"):
            cl.mechanisms.NoisyCounts(mechanism, 3)  # type: ignore[arg-type] # that is what is refused


def test_ready_scores_of_observed_items_are_asked_with_a_bound() -> None:
    answer = cl.top_k(SCORES, k=2, epsilon=1, delta="1e-6", counts=True, **BOUND)
    assert answer.items == ("a",)
    assert answer.counts is not None


def test_who_says_nothing_looks_at_slots() -> None:
    assert view_of(cl.mechanisms.LimitedDomain(1, 2, 1, "1e-6")) == SLOTS
    assert view_of(Observed(1, 2, 9, "1e-6")).weights == (1, 1)
    assert view_of(Observed(1, 2, 9, "1e-6", cap=3)).weights[:2] == (2**20, 2**20)
