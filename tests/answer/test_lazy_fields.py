"""What only an explanation needs is computed when somebody looks at it, once."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import pytest

import crestline as cl
from crestline.answer.answer import Choice
from crestline.mechanisms.selection import GroupSelections, Selection
from crestline.prepare import Prepared


class Calls:
    def __init__(self) -> None:
        self.number = 0

    def __call__(self) -> str:
        self.number += 1
        return "another"


def test_a_function_is_called_when_its_field_is_looked_at_and_once() -> None:
    calls = Calls()
    choice = Choice("Name", {}, "reason", calls)
    assert choice.replace_fields(reason="other").reason == "other"
    assert calls.number == 0
    assert (choice.instead, choice.instead) == ("another", "another")
    assert calls.number == 1
    assert replace(choice, reason="other") == Choice("Name", {}, "other", "another")
    assert Choice("Name", {}, "reason").instead == ""


def test_what_is_copied_or_sent_is_computed_before() -> None:
    choice = Choice("Name", {}, "reason", lambda: "another")
    assert pickle.loads(pickle.dumps(choice)).instead == "another"
    assert copy.deepcopy(Choice("Name", {}, "reason", lambda: "another")).instead == "another"


def test_an_answer_without_a_ledger_computes_no_margin(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def spy(prepared: Prepared, selection: Selection | GroupSelections) -> float:
        asked.append(selection)
        return 7.0

    monkeypatch.setattr(Prepared, "margin_of_selection", spy)
    histogram = cl.Histogram.from_counts({"a": 1000, "b": 10}, 1)
    answer = cl.top_k(histogram, k=1, epsilon=1, delta=1e-8, mechanism="LimitedDomain")
    assert not asked
    assert answer.to_dict()["margin"] == answer.margin == 7.0
    assert len(asked) == 1
