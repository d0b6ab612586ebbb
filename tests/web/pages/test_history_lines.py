"""Every question is one line, with what came of it and what it cost."""

from __future__ import annotations

from urllib.parse import parse_qs

import pytest

from crestline.errors import BudgetExhausted
from crestline.guarantees.cost import repeat_step
from crestline.guarantees.guarantee import BoundedRange
from crestline.ledger.budget import Budget
from crestline.ledger.ledger import Ledger
from crestline.question import Question
from crestline.web.pages.history_lines import HistoryWriter

QUESTION = Question(k=3, item=("venue",), where="<b> = 1", mechanism="LimitedDomain", counts=True).to_json()


def test_one_line_for_each_question() -> None:
    ledger = Ledger.in_memory(Budget(epsilon=1, kind="pure"))
    first = ledger.reserve(repeat_step(BoundedRange("0.1"), 5), question=QUESTION, data_version="1")
    ledger.settle(first, repeat_step(BoundedRange("0.1"), 3), answer={})
    ledger.find_answer(QUESTION, "1")
    ledger.reserve(repeat_step(BoundedRange("0.1"), 4), question={"other": "words"})
    with pytest.raises(BudgetExhausted):
        ledger.reserve(repeat_step(BoundedRange("0.1"), 9), question=QUESTION)
    lines = HistoryWriter(None, {ledger.dataset: ledger.budget.limit}).lines(ledger.history())
    assert [line.sequence for line in lines] == sorted((line.sequence for line in lines), reverse=True)
    words = "The 3 values of 'venue' with the most users, where <b> = 1"
    assert [(line.words, line.outcome, line.cost) for line in lines] == [
        (words, "refused, nothing paid", ""),
        ("A question in other words", "not ended", "stays charged: 40.0%"),
        (f"The same as answer {first.number}", "free", ""),
        (words, "answered", "paid 30.0%"),
        ("Budget of epsilon 1, delta 0 (pure)", "opened", ""),
    ]
    assert [line.answer for line in lines] == [None, None, first.number, first.number, None]


def test_a_line_leads_to_the_form_with_the_same_question() -> None:
    ledger = Ledger.in_memory(Budget(epsilon=1, kind="pure"))
    ledger.reserve(repeat_step(BoundedRange("0.1"), 5), question=QUESTION, data_version="1")
    (line, _) = HistoryWriter(None, {ledger.dataset: ledger.budget.limit}).lines(ledger.history())
    address, _, query = str(line.again).partition("?")
    assert address == f"/datasets/{ledger.dataset}"
    assert parse_qs(query) == {"k": ["3"], "item": ["venue"], "where": ["<b> = 1"], "counts": ["yes"]}
