"""Stored answers: served again to whom, for which data, and at no cost."""

from __future__ import annotations

from pathlib import Path

from tests.ledger.conftest import MakeLedger, drawn, small_budget

from crestline.ledger.ledger import Ledger

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
