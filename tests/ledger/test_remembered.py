"""A check of all entries is remembered, signed: a start reads what is new, and believes no other hand."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from itsdangerous import URLSafeSerializer
from tests.ledger.conftest import Clock, drawn, small_budget
from tests.ledger.test_verify import Tamper, edit_body, rewrite, sql
from tests.ledger.victim import _REACH, by_period

from crestline.errors import LedgerError
from crestline.ledger.ledger import Ledger
from crestline.ledger.storage import store
from crestline.ledger.verify import ChainAudit

SIGNER = URLSafeSerializer("a key outside", salt="verified")


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A ledger whose first entries were checked and remembered, and some that came after."""
    monkeypatch.setattr(store, "_REMEMBERED", 1)
    file = tmp_path / "ledger.db"
    with Ledger.create(file, small_budget(50), analysts={"ann": small_budget(20)}, clock=Clock()) as ledger:
        hanging = [ledger.reserve(drawn(1), analyst="ann") for _ in range(2)]
        ahead = ledger.reserve(drawn(1), question={"user": "reader", "ahead": True})
        ledger._store.refuse_damaged(SIGNER)
        ledger.settle(hanging[0], drawn(1), answer=["a"])
        taken = ledger.begin(ahead.number, {"user": "reader", "ahead": True})
        assert taken is not None
        ledger.void(taken)
        ledger.reserve(drawn(1), analyst="ann")
    return file


def checked(path: Path, *tampering: Tamper, signer: URLSafeSerializer = SIGNER) -> int:
    """How many entries a start reads."""
    with sqlite3.connect(path) as raw:
        for tamper in tampering:
            tamper(raw)
    raw.close()
    read, plain = [], ChainAudit.check_entry
    with pytest.MonkeyPatch.context() as patch, Ledger.open(path, clock=Clock()) as ledger:
        patch.setattr(ChainAudit, "check_entry", lambda self, entry: (read.append(1), plain(self, entry))[1])
        ledger._store.refuse_damaged(signer)
    return len(read)


def test_a_start_reads_what_is_new(path: Path) -> None:
    assert checked(path) == 4
    assert checked(path) == 0
    with Ledger.open(path, clock=Clock()) as ledger:
        ledger.reserve(drawn(1))
    assert checked(path) == 1


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM crestline_verified",
        "UPDATE crestline_verified SET statement = replace(statement, 'a', 'b')",
        "UPDATE crestline_verified SET statement = 'x'",
    ],
)
def test_a_statement_of_another_hand_is_not_believed(path: Path, statement: str) -> None:
    assert checked(path, sql(statement)) == 9
    assert checked(path) == 0


def test_a_statement_signed_with_another_key_is_not_believed(path: Path) -> None:
    other = URLSafeSerializer("another key", salt="verified")
    assert checked(path, signer=other) == 9
    assert checked(path) == 9


@pytest.mark.parametrize(
    ("tamper", "finding"),
    [
        (edit_body(7, lambda content: content.update(time="1999-01-01T00:00:00+00:00")), "entry 7: its text"),
        (sql("UPDATE crestline_accounts SET settled = held WHERE analyst = 'ann'"), "the stored balance is not"),
        (sql("DELETE FROM crestline_entries WHERE sequence = 3"), "entry 3 is missing"),
        (sql("DELETE FROM crestline_entries WHERE sequence = 9"), "entry 9 is missing"),
        (rewrite, ""),
    ],
)
def test_what_is_new_is_checked_against_what_was_remembered(path: Path, tamper: Tamper, finding: str) -> None:
    def forge(raw: sqlite3.Connection) -> None:
        if tamper is rewrite:  # everything anew, so that the new entries do not follow the remembered one
            edit_body(2, lambda content: content.update(time="1999-01-01T00:00:00+00:00"))(raw)
        tamper(raw)

    with pytest.raises(LedgerError, match=f"does not hold: .*{finding}"):
        checked(path, forge)


@pytest.mark.parametrize("kind", ["plain", "by period"])
def test_a_check_that_is_taken_up_again_finds_the_same(tmp_path: Path, kind: str) -> None:
    """At every entry: what was added up to there is put down whole."""
    budget = small_budget(50) if kind == "plain" else by_period(small_budget(50))
    reach = None if kind == "plain" else _REACH
    with Ledger.create(tmp_path / "ledger.db", budget, user="reader", clock=Clock()) as ledger:
        for number in range(3):
            ledger.settle(ledger.reserve(drawn(2), reach=reach), drawn(1))
            asked = {"user": "reader", "ahead": True, "n": number}
            ahead = ledger.reserve(drawn(1), reach=reach, question=asked)
            if number:
                taken = ledger.begin(ahead.number, asked)
                assert taken is not None
                ledger.settle(taken, drawn(1))
        entries = ledger._store.entries()
    audit = ChainAudit()
    whole = ChainAudit()
    for entry in entries:
        whole.check_entry(entry)
        audit = ChainAudit.from_text(audit.to_text())
        audit.check_entry(entry)
        assert audit.to_text() == whole.to_text()
    assert audit.findings == []
    assert audit.length == len(entries)
