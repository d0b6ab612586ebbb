"""Every question is one line, with what came of it and what it cost."""

from __future__ import annotations

import pytest
from tests.web.pages.conftest import Page

from crestline.errors import BudgetExhausted
from crestline.guarantees.cost import repeat_step
from crestline.guarantees.guarantee import BoundedRange
from crestline.ledger.budget import Budget
from crestline.ledger.ledger import Ledger
from crestline.web.pages.history.lines import history, history_lines

QUESTION = {"k": 3, "item": ["venue"], "where": "<b> = 1", "mechanism": "LimitedDomain"}


def test_one_line_for_each_question() -> None:
    ledger = Ledger.in_memory(Budget(epsilon=1, kind="pure"))
    first = ledger.reserve(repeat_step(BoundedRange("0.1"), 5), question=QUESTION, data_version="1")
    ledger.settle(first, repeat_step(BoundedRange("0.1"), 3), answer={})
    ledger.find_answer(QUESTION, "1")
    ledger.reserve(repeat_step(BoundedRange("0.1"), 4), question={"other": "words"})
    with pytest.raises(BudgetExhausted):
        ledger.reserve(repeat_step(BoundedRange("0.1"), 9), question=QUESTION)
    lines = history_lines(ledger.history(), None, {ledger.dataset: ledger.budget.limit})
    assert [line.sequence for line in lines] == sorted((line.sequence for line in lines), reverse=True)
    text = Page(history(lines, with_analysts=True)).text
    shown = [
        "top 3 venue where <b> = 1, by LimitedDomainrefusednothing",
        "a question in other wordsnot ended40.0% (stays charged)",
        f"the same as answer {first.number}served againnothing",
        f"by LimitedDomainanswer {first.number}30.0%",
        "opened",
    ]
    places = [text.find(words) for words in shown]
    assert -1 not in places, text
    assert places == sorted(places)
