"""A reservation of which nothing was sent to the engine is given back in full; any other stays charged."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.ledger.conftest import DELTA, EPSILON, MakeLedger, drawn, small_budget

import crestline as cl
from crestline.cli.main import app
from crestline.errors import LedgerError, SourceError, SourceUnavailable, was_charged
from crestline.ledger.ledger import Ledger
from crestline.ledger.receipt import Receipt, StoredAnswer
from crestline.ledger.report import entry_row
from crestline.ledger.verify import verify
from crestline.sources.engine.runner import Runner, fetch_rows


def test_it_is_given_back_in_full_to_every_payer(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(small_budget(), analysts={"ann": small_budget()})
    kept = ledger.reserve(drawn(1), analyst="ann")
    receipt = ledger.reserve(drawn(3), question={"k": 3}, data_version="v1", analyst="ann")
    ledger.void(receipt)
    for whose in (None, "ann"):
        spent = ledger.spent(whose)
        assert (spent.loss, spent.failure) == (EPSILON, DELTA)  # the probability of failure, too
    assert [entry.sequence for entry in ledger.open_reservations()] == [kept.number]
    assert ledger.find_answer({"k": 3}, "v1", analyst="ann") is None
    assert ledger.answer(receipt.number) is None
    assert ledger.verify().findings == ()
    assert entry_row(ledger.history()[-1])["charge"] == "nothing: given back, it was never asked"


def test_it_ends_once(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(small_budget())
    receipt, settled = ledger.reserve(drawn(3)), ledger.reserve(drawn(1))
    ledger.settle(settled, drawn(1))
    ledger.void(receipt)
    for ended, words in ((receipt, "given back already"), (settled, "settled already")):
        with pytest.raises(LedgerError, match=words):
            ledger.void(ended)
        with pytest.raises(LedgerError, match=words):
            ledger.settle(ended, drawn(1))
    assert ledger.spent().loss == EPSILON


def test_only_what_was_reserved_ahead_is_taken_up_and_it_must_be(make_ledger: MakeLedger) -> None:
    """Being taken up once is a property of the ledger, and not of whoever asks."""
    ledger, question = make_ledger(small_budget()), {"k": 1, "ahead": True}
    running, ahead = ledger.reserve(drawn(1), question={"k": 1}), ledger.reserve(drawn(1), question=question)
    assert ledger.begin(running.number, {"k": 1}) is None  # another process is asking it
    with pytest.raises(LedgerError, match="was made ahead and is not taken up"):
        ledger.settle(ahead, drawn(1), answer=["a"])
    with pytest.raises(LedgerError, match="was made ahead and is not taken up"):
        ledger.void(ahead)
    taken = ledger.begin(ahead.number, question)
    assert taken is not None
    with pytest.raises(LedgerError, match="it is taken up once"):
        ledger.begin(ahead.number, question)
    ledger.settle(taken, drawn(1), answer=["a"])
    ledger.settle(running, drawn(1), answer=["a"])
    assert ledger.verify().findings == ()


def test_what_was_reserved_ahead_waits_until_it_is_asked_or_given_back(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(small_budget())
    later = [{"k": number, "ahead": True} for number in (1, 2)]
    asked, returned = (ledger.reserve(drawn(2), question=question) for question in later)
    ledger.reserve(drawn(1), question={"k": 1})
    ledger.reserve(drawn(1))
    assert [entry.is_reserved_ahead for entry in ledger.history()[1:]] == [True, True, False, False]
    waiting = ledger.reserved_ahead()
    assert [entry.sequence for entry in waiting] == [asked.number, returned.number]
    assert ledger.begin(asked.number, later[1]) is None
    taken = ledger.begin(asked.number, later[0])
    assert taken is not None
    assert [entry.sequence for entry in ledger.reserved_ahead()] == [returned.number]
    assert not ledger.history()[-1].is_reserved_ahead
    ledger.give_back(waiting[1])
    assert ledger.reserved_ahead() == []
    assert ledger.spent().loss == 4 * EPSILON
    assert ledger.verify().findings == ()


def test_what_was_reserved_ahead_is_taken_up_once(make_ledger: MakeLedger) -> None:
    """While its question runs, and after it was settled or given back: else one charge would pay for two releases."""
    ledger = make_ledger(small_budget())
    later = {"k": 1, "ahead": True}
    running, settled, returned = (ledger.reserve(drawn(1), question=later) for _ in range(3))
    ledger.begin(running.number, later)
    taken = ledger.begin(settled.number, later)
    assert taken is not None
    ledger.settle(taken, drawn(1))
    ledger.give_back(next(entry for entry in ledger.reserved_ahead() if entry.sequence == returned.number))
    for receipt in (running, settled, returned):
        with pytest.raises(LedgerError, match="it is taken up once"):
            ledger.begin(receipt.number, later)


def test_a_forged_return_is_found(make_ledger: MakeLedger) -> None:
    """One that keeps a part for somebody, and one of what was settled."""
    ledger = make_ledger(small_budget())
    ledger.void(ledger.reserve(drawn(3)))
    ledger.settle(ledger.reserve(drawn(1)), drawn(1))
    entries = ledger.history()
    for change in ({"charge": [{"epsilon": "1/10", "delta": "0/1"}]}, {"receipt": 4}):
        body = json.dumps({**entries[2].content, **change}, sort_keys=True, separators=(",", ":"))
        forged = [*entries[:2], type(entries[2])(3, "voided", "default", None, 2, None, body, "x"), *entries[3:]]
        found = verify(forged, 5, entries[-1].hash, {}, {})
        assert any("entry 3" in one and ("do not allow" in one or "not reserved" in one) for one in found.findings)


class Killing(Ledger):
    """A ledger that lets something happen after each reservation."""

    afterwards: Callable[[], object]

    def find_or_reserve(self, *args: Any, **options: Any) -> StoredAnswer | Receipt:
        receipt = super().find_or_reserve(*args, **options)
        self.afterwards()
        return receipt


@pytest.fixture
def loans(postgres_database: str) -> str:
    with psycopg.connect(postgres_database) as admin:
        admin.execute("create table loans (reader int, title text)")
        admin.execute("insert into loans select n, 'a' from generate_series(1, 400) n")
    return postgres_database


def killed(address: str) -> None:
    with psycopg.connect(address) as admin:
        admin.execute(
            "select pg_terminate_backend(pid, 30000) from pg_stat_activity "
            "where pid <> pg_backend_pid() and datname = current_database()"
        )


def asked(ledger: Ledger, source: Any) -> cl.Answer:
    question: Any = {"user": "reader", "item": "title", "k": 1, "epsilon": "0.5", "delta": "1e-6"}
    return cl.top_k(source, table="loans", ledger=ledger, **question)


def ledger_in(folder: Path) -> Killing:
    made = Ledger.create(folder / "ledger.db", cl.Budget(epsilon=2, delta="1e-4"))
    return Killing(made._store, made.dataset)


def test_a_connection_that_dies_between_the_charge_and_the_first_statement_costs_nothing(
    loans: str, tmp_path: Path
) -> None:
    ledger = ledger_in(tmp_path)
    with ledger:
        ledger.afterwards = lambda: killed(loans)
        with pytest.raises(SourceUnavailable, match="nothing was charged") as failure:
            asked(ledger, loans)
        assert not was_charged(failure.value)
        assert [entry.kind for entry in ledger.history()] == ["opened", "reserved", "voided"]
        assert ledger.spent().loss == 0
        ledger.afterwards = lambda: None
        assert asked(ledger, loans).items == ("a",)
        assert ledger.verify().findings == ()


def test_once_a_statement_may_have_been_sent_it_stays_charged(
    loans: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first statement of the question finds the connection dead: it is not known how far it came."""
    ledger = ledger_in(tmp_path)
    with ledger:
        ledger.afterwards = lambda: None
        run = Runner._run

        def dying(self: Runner, action: Callable[[], Any]) -> Any:
            return run(self, lambda: (killed(loans), action())[1])

        monkeypatch.setattr(
            Runner, "rows", lambda self, expression: dying(self, lambda: fetch_rows(self._engine, expression))
        )
        with pytest.raises(SourceError) as failure:
            asked(ledger, loans)
        assert was_charged(failure.value)
        assert [entry.kind for entry in ledger.history()] == ["opened", "reserved"]
        assert ledger.spent().loss > 0


@pytest.mark.long
def test_it_is_shown(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    with Ledger.create(tmp_path / "ledger.db", small_budget()) as ledger:
        ledger.void(ledger.reserve(drawn(3)))
    told = CliRunner().invoke(app, ["ledger", "history", str(tmp_path / "ledger.db"), "--format", "json"])
    assert [entry["kind"] for entry in json.loads(told.stdout)] == ["opened", "reserved", "voided"]
