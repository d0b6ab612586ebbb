"""Stored answers: served again to whom, for which data, and at no cost."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.ledger.conftest import EPSILON, MakeLedger, drawn, small_budget

from crestline.errors import BudgetExhausted
from crestline.ledger.ledger import Ledger
from crestline.ledger.receipt import Receipt, StoredAnswer

QUESTION = {"item": ["venue"], "k": 5, "where": None}


def test_the_same_question_on_the_same_version_is_free(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(small_budget())
    assert ledger.find_answer(QUESTION, "v1") is None
    receipt = ledger.reserve(drawn(5), question=QUESTION, data_version="v1")
    assert ledger.find_answer(QUESTION, "v1") is None  # reserved is not answered
    ledger.settle(receipt, drawn(2), answer={"items": ["a", "ü\x00\ud800"], "stopped": True})
    spent = ledger.spent()
    found = ledger.find_answer({"where": None, "k": 5, "item": ("venue",)}, "v1")
    assert found is not None
    assert found.answer == {"items": ["a", "ü\x00\ud800"], "stopped": True}
    assert found.number == receipt.number
    assert ledger.answer(receipt.number) == found
    assert ledger.spent() == spent
    assert ledger.history()[-1].kind == "answered"
    assert ledger.find_answer(QUESTION, "v2") is None
    assert ledger.find_answer({**QUESTION, "k": 6}, "v1") is None
    assert ledger.verify().ok


def test_without_a_version_nothing_is_served_again(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(small_budget())
    ledger.settle(ledger.reserve(drawn(1), question=QUESTION), drawn(1), answer=["a"])
    assert ledger.find_answer(QUESTION, None) is None


def test_serving_can_go_unrecorded(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(small_budget())
    receipt = ledger.reserve(drawn(1), question=QUESTION, data_version="v1")
    ledger.settle(receipt, drawn(1), answer=["a"])
    assert ledger.find_answer(QUESTION, "v1", record=False) is not None
    assert ledger.history()[-1].kind == "settled"


def test_an_analyst_with_a_budget_is_served_what_they_paid_for(make_ledger: MakeLedger) -> None:
    own = {"ann": small_budget(4), "bob": small_budget(4)}
    ledger = make_ledger(small_budget(), analysts=own)
    receipt = ledger.reserve(drawn(1), question=QUESTION, data_version="v1", analyst="ann")
    ledger.settle(receipt, drawn(1), answer=["a"])
    mine = ledger.find_answer(QUESTION, "v1", analyst="ann")
    assert mine is not None
    assert mine.answer == ["a"]
    assert ledger.find_answer(QUESTION, "v1", analyst="bob") is None
    assert ledger.find_answer(QUESTION, "v1") is None


@pytest.mark.parametrize("own", [True, False])
def test_a_repeated_question_is_served_or_charged_in_one_step(make_ledger: MakeLedger, own: bool) -> None:
    """Analysts with budgets of their own are served what they paid for; where there are none, all share the answers."""
    ledger = make_ledger(small_budget(), analysts=dict.fromkeys(("ann", "bob"), small_budget()) if own else None)

    def asks(analyst: str | None) -> StoredAnswer | Receipt:
        return ledger.find_or_reserve(drawn(1), question=QUESTION, data_version="v1", analyst=analyst)

    first = asks("ann")
    assert isinstance(first, Receipt)
    ledger.settle(first, drawn(1), answer=["a"])
    again, other = asks("ann"), asks("bob")
    assert isinstance(again, StoredAnswer)
    assert (again.answer, again.number) == (["a"], first.number)
    assert isinstance(other, Receipt) is own
    assert ledger.spent().loss == (2 if own else 1) * EPSILON


def test_an_answer_of_another_data_set_is_not_handed_out(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "ledger.db", small_budget(), dataset="sales") as sales:
        receipt = sales.reserve(drawn(1))
        sales.settle(receipt, drawn(1), answer=["a"])
        assert sales.answer(receipt.number) is not None
        assert sales.answer(receipt.number + 100) is None
        with Ledger.create(tmp_path / "ledger.db", small_budget(), dataset="visits") as visits:
            assert visits.answer(receipt.number) is None


def test_the_newest_of_several_answers_is_served(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(small_budget())
    for answer in (["old"], ["new"]):
        ledger.settle(ledger.reserve(drawn(1), question=QUESTION, data_version="v1"), drawn(1), answer=answer)
    found = ledger.find_answer(QUESTION, "v1")
    assert found is not None
    assert found.answer == ["new"]


def test_analysts_number_their_own_questions(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(small_budget(), analysts={"ann": small_budget(4), "bob": small_budget()})

    def ask(analyst: str | None, times: int = 1) -> int:
        question = {**QUESTION, "where": str(analyst), "k": times}
        receipt = ledger.reserve(drawn(times), question=question, data_version="v1", analyst=analyst)
        ledger.settle(receipt, drawn(times), answer={"of": analyst})
        return receipt.analyst_number

    assert [ask("bob"), ask("ann"), ask("bob"), ask("bob")] == [1, 1, 2, 3]
    with pytest.raises(BudgetExhausted):
        ask("ann", 9)
    assert ledger.find_answer({**QUESTION, "where": "ann", "k": 1}, "v1", analyst="ann") is not None
    assert ask("ann", 2) == 4  # after one that was refused, and one that was served again
    assert ask(None) == ledger.history()[-2].sequence
    ledger.void(ledger.reserve(drawn(1), analyst="ann"))
    own = [(entry.kind, entry.number) for entry in ledger.history(analyst="ann")]
    told = [("opened", None), ("reserved", 1), ("settled", 1), ("refused", 2), ("answered", 3)]
    assert own == [*told, ("reserved", 4), ("settled", 4), ("reserved", 5), ("voided", 5)]
    found = ledger.answer(4, analyst="ann")
    assert found is not None
    assert (found.analyst_number, found.answer) == (4, {"of": "ann"})
    assert [ledger.answer(number, analyst="ann") for number in (2, 3, 5, 6)] == [None] * 4
    assert ledger.verify().ok
