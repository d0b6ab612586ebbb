"""The journey: charged before it is made, checked before it is charged, explained afterwards."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

import crestline as cl
from crestline.ask import ask, create_charging
from crestline.errors import BudgetExhausted, BudgetMismatch, MechanismError, QuestionError, SourceError
from crestline.histogram.view_kinds import SLOTS, View
from crestline.prepare import prepare
from crestline.question import NO_LIMITS, Question
from crestline.randomness.entropy import replay
from crestline.sources import open_source


@pytest.fixture
def loans(tmp_path: Path) -> Path:
    path = tmp_path / "loans.csv"
    rows = ["reader,title,country"]
    for reader in range(600):
        rows.append(f"r{reader},Rivers,{'DE' if reader % 2 else 'FR'}")
        rows.append(f"r{reader},Rivers,{'DE' if reader % 2 else 'FR'}")  # repeats count once
        if reader < 400:
            rows.append(f"r{reader},Bridges,FR")
    rows.append("r5,Only one reader has this,FR")
    rows.append(",Rivers,FR")
    rows.append("r7,,FR")
    path.write_text("\n".join(rows) + "\n")
    return path


def top(source: Any, **changes: Any) -> cl.Answer:
    call: dict[str, Any] = {"user": "reader", "item": "title", "k": 3, "epsilon": 1, "delta": "1e-6"}
    return cl.top_k(source, **{**call, "mechanism": "LimitedDomain", **changes})


def test_a_file_goes_in_and_a_private_answer_comes_out(loans: Path) -> None:
    answer = top(loans)
    assert answer.items == ("Rivers", "Bridges")
    assert answer.stopped
    assert answer.guarantee.epsilon is not None
    assert answer.guarantee.epsilon <= 1
    assert not answer.replayed


def test_an_empty_file_is_a_stop_and_not_an_error(tmp_path: Path) -> None:
    path = tmp_path / "empty.csv"
    path.write_text("reader,title\n")
    answer = top(path)
    assert answer.items == ()
    assert answer.stopped


def test_replayable_entropy_is_confessed(loans: Path) -> None:
    answer = top(loans, entropy=replay("x"))
    assert answer.replayed
    assert "not private" in answer.explain()


def test_the_explanation_says_what_matters_and_no_count(loans: Path) -> None:
    text = top(loans).explain()
    for words in (
        "the 3 values of 'title' with the most users",
        "stopped on purpose",
        "Promised: this",
        "over rank 16, to be named",
    ):
        assert words in text
    assert "600" not in text
    assert "400" not in text


def test_answers_survive_the_way_to_json_and_back(loans: Path) -> None:
    import json

    answer = top(loans)
    assert cl.Answer.from_dict(json.loads(json.dumps(answer.to_dict()))) == answer


@pytest.mark.parametrize("value", [{}, {"items": 3}, {"format": 1, "items": []}])
def test_other_json_is_not_an_answer(value: dict[str, Any]) -> None:
    with pytest.raises(cl.errors.ParameterError, match="not an answer written by crestline"):
        cl.Answer.from_dict(value)


@pytest.mark.long
def test_the_ledger_is_charged_what_was_got_and_serves_again_for_free(loans: Path, tmp_path: Path) -> None:
    books = tmp_path / "ledger.db"
    with cl.Ledger.create(books, cl.Budget(epsilon=2, delta="1e-5")) as ledger:
        before = ledger.remaining()
        answer = top(loans, k=6, ledger=ledger)
        assert answer.bill is not None
        assert answer.bill.paid != answer.bill.reserved  # two items and the stop, not six
        after = ledger.remaining()
        assert after != before
        again = top(loans, k=6, ledger=ledger)
        assert again.stored
        assert again.items == answer.items
        assert ledger.remaining() == after
        assert ledger.verify().ok
    assert top(loans, k=6, ledger=books).stored


def test_a_changed_file_is_a_new_question(loans: Path, tmp_path: Path) -> None:
    with cl.Ledger.create(tmp_path / "ledger.db", cl.Budget(epsilon=2, delta="1e-5")) as ledger:
        top(loans, ledger=ledger)
        loans.write_text(loans.read_text() + "r9,Bridges,FR\n")
        assert not top(loans, ledger=ledger).stored


class Unreadable:
    """A source that fails the test when a row is asked for."""

    name = "unreadable"
    limits = NO_LIMITS

    def check(self, question: Question, view: View = SLOTS) -> None: ...

    def ready(self) -> Any:
        return nullcontext(self)

    def version(self) -> None:
        return None

    def reading(self, question: Question, key: bytes = b"", view: View = SLOTS) -> Any:
        raise AssertionError("a refused question must not touch the data")


def test_a_refusal_touches_no_data() -> None:
    ledger = cl.Ledger.in_memory(cl.Budget(epsilon="0.01", delta="1e-9"))
    asked = prepare(
        Question.from_fields({"k": 3, "k_bar": 10, "epsilon": 1, "delta": "1e-6", "mechanism": "LimitedDomain"})
    )
    with pytest.raises(BudgetExhausted) as refused:
        ask(asked, source=Unreadable(), entropy=replay(0), charge=create_charging(ledger))
    assert refused.value.requested is not None
    assert refused.value.remaining is not None


class Breaking(Unreadable):
    def reading(self, question: Question, key: bytes = b"", view: View = SLOTS) -> Any:
        raise SourceError("the engine went away; try again")


def test_what_fails_after_the_reservation_stays_charged() -> None:
    ledger = cl.Ledger.in_memory(cl.Budget(epsilon=3, delta="1e-4"))
    asked = prepare(
        Question.from_fields({"k": 3, "k_bar": 10, "epsilon": 1, "delta": "1e-6", "mechanism": "LimitedDomain"})
    )
    before = ledger.remaining()
    with pytest.raises(SourceError):
        ask(asked, source=Breaking(), entropy=replay(0), charge=create_charging(ledger))
    assert ledger.remaining() != before
    assert len(ledger.open_reservations()) == 1


class Pure:
    """The least a third party's mechanism is."""

    def __init__(self, promise: Any) -> None:
        self.promise = promise

    def guarantee(self) -> Any:
        return self.promise

    def release(self, histogram: cl.Histogram, entropy: Any) -> cl.Selection:
        return cl.Selection((), True)


def test_a_third_party_mechanism_can_be_asked_and_charged(loans: Path) -> None:
    ledger = cl.Ledger.in_memory(cl.Budget(epsilon=3, delta="1e-4"))
    answer = top(loans, mechanism=Pure(cl.PureDP("0.5")), k_bar=9, ledger=ledger)
    assert answer.stopped
    assert answer.mechanism.name == "Pure"


def test_a_third_party_promise_is_charged_where_the_budget_knows_its_kind(loans: Path) -> None:
    concentrated, pure = (cl.Budget(epsilon=3, delta=delta, kind=kind) for delta, kind in ((1e-4, "zcdp"), (0, "pure")))
    mechanism = Pure(cl.ZCDP("0.01"))
    ledger = cl.Ledger.in_memory(concentrated)
    answer = top(loans, mechanism=mechanism, k_bar=9, ledger=ledger)
    assert answer.bill is not None
    assert answer.bill.paid.startswith("rho 0.01")
    other = cl.Ledger.in_memory(pure)
    before = other.remaining()
    with pytest.raises(BudgetMismatch):
        top(loans, mechanism=mechanism, k_bar=9, ledger=other)
    assert other.remaining() == before


@pytest.mark.long
@pytest.mark.parametrize("counts", [False, True])
def test_an_order_that_was_drawn_at_random_is_shown_without_ranks(loans: Path, counts: bool) -> None:
    from crestline.answer.tabular import columns

    answer = top(loans, k=2, epsilon=8, mechanism="RestrictedCanonical", counts=counts)
    assert isinstance(answer.items, frozenset)
    assert answer.items == {"Rivers", "Bridges"}
    assert "rank" not in columns(answer)
    if answer.counts is not None:  # of Bridges (400 users), then of Rivers (600)
        assert [300 < count < 500 for count in answer.counts] == [True, False]
    box = cl.mechanisms.Restricted(cl.mechanisms.Canonical(2, 2), 10, cl.mechanisms.JointTest(2, "1e-6"))
    assert isinstance(top(loans, k=2, mechanism=box).items, frozenset)
    assert isinstance(top(loans, k=2, mechanism="RestrictedGumbel").items, tuple)


def test_a_mechanism_must_agree_with_the_question(loans: Path) -> None:
    mechanism = cl.mechanisms.LimitedDomain(3, 10, "0.1", "1e-6")
    assert top(loans, mechanism=mechanism).question.k_bar == 10
    refused: list[tuple[dict[str, Any], str]] = [
        ({"mechanism": mechanism, "k": 2}, "does not agree with the mechanism's own k=3"),
        ({"mechanism": mechanism, "k_bar": 11}, "does not agree with the mechanism's own k_bar=10"),
        ({"mechanism": Pure(cl.PureDP(1))}, "k_bar="),
        ({"mechanism": 3}, "a mechanism is"),
        ({"mechanism": "Limited"}, "there is no mechanism 'Limited'"),
        ({"epsilon": None}, "give epsilon and delta, the total of the answer"),
    ]
    for changes, words in refused:
        with pytest.raises(MechanismError, match=words):
            top(loans, **changes)


def test_a_connection_keeps_ledgers_for_its_data_set(loans: Path) -> None:
    library = cl.connect(str(loans)).dataset("loans", user="reader", budget=cl.Budget(epsilon=10, delta="1e-5"))
    before = library.remaining
    answer = library.top(k=2, item="title", mechanism="LimitedDomain")
    assert answer.items == ("Rivers", "Bridges")
    assert library.remaining != before


def test_missing_columns_are_named_and_nothing_else(loans: Path) -> None:
    with pytest.raises(QuestionError, match="titel") as wrong:
        top(loans, item="titel")
    assert "Rivers" not in str(wrong.value)


def test_the_question_is_checked_before_it_is_charged(loans: Path) -> None:
    ledger = cl.Ledger.in_memory(cl.Budget(epsilon=3, delta="1e-4"))
    before = ledger.remaining()
    with pytest.raises(QuestionError):
        top(loans, item="titel", ledger=ledger)
    assert ledger.remaining() == before


def test_sources_name_no_row(loans: Path) -> None:
    assert "Rivers" not in open_source(loans).name


def test_a_list_that_does_not_fit_is_refused_before_anything_is_charged(loans: Path, tmp_path: Path) -> None:
    books = tmp_path / "ledger.db"
    ledger = cl.Ledger.create(books, cl.Budget(epsilon=2, delta="1e-5"))
    before = ledger.remaining()
    with pytest.raises(QuestionError, match="domain"):
        top(loans, domain=[1, 2], ledger=ledger, mechanism="auto")
    assert ledger.remaining() == before
    ledger.close()


@pytest.mark.long
def test_a_public_list_is_counted_in_the_engine(loans: Path) -> None:
    listed = ["Rivers", "Bridges", "Ponds", "Lakes"]
    answer = top(loans, domain=listed, k=2, mechanism="auto")
    assert answer.mechanism.name == "Lipschitz"
    assert answer.items == ("Rivers", "Bridges")
    one = top(loans, domain=listed, k=1, mechanism="auto")
    assert one.items == ("Rivers",)


@pytest.mark.long
def test_a_choice_over_a_public_list_is_published(loans: Path) -> None:
    """A list was peeled and a set drawn as a whole; a list stays one in the answer."""
    listed = ["Rivers", "Bridges", "Ponds", "Lakes"]
    choice = cl.mechanisms.CanonicalOrPeeling(k=2, look="1e-4", epsilon=1, step="0.5", eta="0.2", lean="0.5")
    asked = {"domain": listed, "k": 2, "k_bar": 2, "mechanism": choice}
    assert {type(top(loans, **asked, entropy=replay(n)).items) for n in range(20)} == {tuple, frozenset}


@pytest.mark.long
def test_the_same_list_is_the_same_question(loans: Path) -> None:
    ledger = cl.Ledger.in_memory(cl.Budget(epsilon=9, delta="1e-4"))
    listed = ["Rivers", "Bridges", "Ponds"]
    assert not top(loans, domain=listed, k=1, mechanism="auto", ledger=ledger).stored
    assert top(loans, domain=listed, k=1, mechanism="auto", ledger=ledger).stored
    assert not top(loans, domain=[*listed, "Lakes"], k=1, mechanism="auto", ledger=ledger).stored


@pytest.mark.long
@pytest.mark.parametrize("contribution", [None, 2])
@pytest.mark.parametrize("domain", [None, ["Rivers", "Bridges", "Ponds"]])
def test_noisy_counts_stay_with_their_items(loans: Path, contribution: int | None, domain: list[str] | None) -> None:
    """600 and 400 readers: with this much ε, counts are off by far less than the 200 between them."""
    answer = top(
        loans, k=2, epsilon=20, mechanism="auto", counts=True, contribution=contribution, domain=domain, delta="1e-4"
    )
    assert answer.counts is not None
    found = dict(zip(answer.listed_items, answer.counts, strict=True))
    assert abs(found["Rivers"] - 600) < 90
    assert abs(found["Bridges"] - 400) < 90
