"""Whoever changes the ledger behind our back is found out; the checksum finds the rest."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.ledger.conftest import Clock, drawn, small_budget

from crestline.errors import LedgerError, ParameterError
from crestline.ledger.entries import GENESIS, canonical_json, entry_hash
from crestline.ledger.ledger import Ledger
from crestline.ledger.verify import Verification

Tamper = Callable[[sqlite3.Connection], object]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Eleven entries: two budgets, five questions (one refused, one never settled), one answer served again."""
    file = tmp_path / "ledger.db"
    with Ledger.create(file, small_budget(), dataset="sales", analysts={"ann": small_budget(8)}) as ledger:
        question = {"k": 3}
        receipt = ledger.reserve(drawn(3), question=question, data_version="v1", analyst="ann")
        ledger.settle(receipt, drawn(2), answer=["a", "b"])
        ledger.find_answer(question, "v1", analyst="ann")
        with pytest.raises(Exception, match="cannot pay"):
            ledger.reserve(drawn(50))
        for _ in range(2):
            ledger.settle(ledger.reserve(drawn(2)), drawn(1))
        ledger.reserve(drawn(1))
        assert ledger.verify().ok
    return file


def verified(path: Path, *tampering: Tamper, checksum: str | None = None) -> Verification:
    with sqlite3.connect(path) as raw:
        for tamper in tampering:
            tamper(raw)
    raw.close()
    with Ledger.open(path) as ledger:
        return ledger.verify(checksum)


def sql(statement: str, *values: object) -> Tamper:
    return lambda raw: raw.execute(statement, values)


def edit_body(sequence: int, change: Callable[[dict[str, object]], object], *, rehash: bool = False) -> Tamper:
    def tamper(raw: sqlite3.Connection) -> None:
        content = json.loads(
            raw.execute("SELECT body FROM crestline_entries WHERE sequence = ?", (sequence,)).fetchone()[0]
        )
        change(content)
        body = canonical_json(content)
        raw.execute("UPDATE crestline_entries SET body = ? WHERE sequence = ?", (body, sequence))
        if rehash:
            raw.execute("UPDATE crestline_entries SET hash = ? WHERE sequence = ?", (entry_hash(body), sequence))

    return tamper


def rewrite(raw: sqlite3.Connection) -> None:
    """What a determined forger does: hash everything again, and the head row as well."""
    previous = GENESIS
    for sequence, text in raw.execute("SELECT sequence, body FROM crestline_entries ORDER BY sequence").fetchall():
        content = json.loads(text) | {"previous": previous}
        body = canonical_json(content)
        previous = entry_hash(body)
        raw.execute("UPDATE crestline_entries SET body = ?, hash = ? WHERE sequence = ?", (body, previous, sequence))
    raw.execute(
        "UPDATE crestline_books SET head = ?, length = (SELECT max(sequence) FROM crestline_entries)", (previous,)
    )


def swap(first: int, second: int) -> Tamper:
    def tamper(raw: sqlite3.Connection) -> None:
        for old, new in ((first, -1), (second, first), (-1, second)):
            raw.execute("UPDATE crestline_entries SET sequence = ? WHERE sequence = ?", (new, old))

    return tamper


def cheaper(content: dict[str, object]) -> None:
    content["charge"] = [{**amount, "epsilon": "0/1"} for amount in content["charge"]]  # type: ignore[attr-defined] # JSON


LAST = 11


@pytest.mark.parametrize("sequence", range(1, LAST + 1))
def test_every_edit_is_found(path: Path, sequence: int) -> None:
    found = verified(path, edit_body(sequence, lambda content: content.update(time="1999-01-01T00:00:00+00:00")))
    assert f"entry {sequence}: its text does not match its hash; it was edited" in found.findings


@pytest.mark.parametrize("sequence", range(1, LAST + 1))
def test_an_edit_with_a_new_hash_breaks_the_chain(path: Path, sequence: int) -> None:
    change = edit_body(sequence, lambda content: content.update(time="1999-01-01T00:00:00+00:00"), rehash=True)
    found = verified(path, change)
    after = "the last entry is not" if sequence == LAST else f"entry {sequence + 1}: it does not follow"
    assert any(finding.startswith(after) for finding in found.findings)


@pytest.mark.parametrize("sequence", range(1, LAST + 1))
def test_every_deletion_is_found(path: Path, sequence: int) -> None:
    found = verified(path, sql("DELETE FROM crestline_entries WHERE sequence = ?", sequence))
    assert any(finding.startswith(f"entry {sequence} is missing") for finding in found.findings)


def test_a_deleted_tail_is_found(path: Path) -> None:
    found = verified(path, sql("DELETE FROM crestline_entries WHERE sequence > 6"))
    assert "entries 7 to 11 are missing at the end; removed" in found.findings


def test_all_entries_deleted_is_found(path: Path) -> None:
    found = verified(path, sql("DELETE FROM crestline_entries"))
    assert "entries 1 to 11 are missing at the end; removed" in found.findings


@pytest.mark.parametrize("first", range(1, LAST))
def test_every_reordering_is_found(path: Path, first: int) -> None:
    found = verified(path, swap(first, first + 1))
    assert any(finding.startswith(f"entry {first}: its columns do not match") for finding in found.findings)
    assert any(finding.startswith(f"entry {first}: it does not follow") for finding in found.findings)


def test_deletion_with_the_numbers_closed_up_is_found(path: Path) -> None:
    found = verified(
        path,
        sql("DELETE FROM crestline_entries WHERE sequence = 5"),
        sql("UPDATE crestline_entries SET sequence = sequence - 1 WHERE sequence > 5"),
    )
    assert any(finding.startswith("entry 5: it does not follow") for finding in found.findings)


def test_an_inserted_entry_is_found(path: Path) -> None:
    copied = (
        "INSERT INTO crestline_entries SELECT 12, 'refused', dataset, analyst, NULL, answer_key, body, hash, 1, NULL"
    )
    found = verified(path, sql(f"{copied} FROM crestline_entries WHERE sequence = 6"))
    assert "entry 12 is not known to the head row; inserted" in found.findings


@pytest.mark.parametrize("column", ["kind", "dataset", "analyst", "answer_key", "number"])
def test_the_columns_are_checked_against_the_text(path: Path, column: str) -> None:
    found = verified(path, sql(f"UPDATE crestline_entries SET {column} = 'x' WHERE sequence = 4"))
    assert "entry 4: its columns do not match its text; they were edited" in found.findings


@pytest.mark.parametrize("column", ["settled", "held"])
def test_a_doctored_balance_is_found(path: Path, column: str) -> None:
    nothing = canonical_json({"epsilon": "0/1", "delta": "0/1"})
    found = verified(path, sql(f"UPDATE crestline_accounts SET {column} = ?", nothing))
    assert any("the stored balance is not what its entries add up to" in finding for finding in found.findings)


def test_a_doctored_budget_is_found(path: Path) -> None:
    larger = canonical_json(small_budget(1000).to_json())
    found = verified(path, sql("UPDATE crestline_accounts SET budget = ? WHERE analyst = ''", larger))
    assert found.findings == ("data set 'sales': the stored balance is not what its entries add up to",)


def test_a_removed_account_is_found(path: Path) -> None:
    found = verified(path, sql("DELETE FROM crestline_accounts WHERE analyst = 'ann'"))
    assert found.findings == (
        "analyst 'ann' of data set 'sales': the stored balance is not what its entries add up to",
    )


def test_a_doctored_head_is_found(path: Path) -> None:
    found = verified(path, sql("UPDATE crestline_books SET head = ?", GENESIS))
    assert found.findings == ("the last entry is not the one the head row names; one of the two was edited",)


UNDIVIDED = '{"kind": "opened", "budget": {"kind": "pure", "epsilon": "1/0"}}'


@pytest.mark.parametrize("body", [b"blob", UNDIVIDED, "[" * 100_000])
def test_more_garbage(path: Path, body: object) -> None:
    found = verified(path, sql("UPDATE crestline_entries SET body = ? WHERE sequence = 4", body))
    assert "entry 4: its text does not match its hash; it was edited" in found.findings
    assert "entry 4: it cannot be read; it was edited" in found.findings


@pytest.mark.parametrize("text", ["", "{}", '{"epsilon": "1/0", "delta": "0/1"}', '{"rho": "0/1", "delta": "0/1"}'])
@pytest.mark.parametrize("column", ["settled", "held", "budget"])
def test_a_balance_that_cannot_be_read_is_found_and_nothing_is_granted(path: Path, column: str, text: str) -> None:
    found = verified(path, sql(f"UPDATE crestline_accounts SET {column} = ? WHERE analyst = 'ann'", text))
    assert found.findings == (
        "analyst 'ann' of data set 'sales': the stored balance is not what its entries add up to",
    )
    with (
        Ledger.open(path.with_name("ledger.db"), dataset="sales") as ledger,
        pytest.raises(LedgerError, match="verify"),
    ):
        ledger.reserve(drawn(1), analyst="ann")


@pytest.mark.parametrize("body", ["", "{}", "[]", "null", '{"kind": 1}', "\udcff".encode("utf-8", "surrogatepass")])
def test_garbage_is_found_and_does_not_stop_the_check(path: Path, body: object) -> None:
    found = verified(path, sql("UPDATE crestline_entries SET body = CAST(? AS TEXT) WHERE sequence = 4", body))
    assert "entry 4: it cannot be read; it was edited" in found.findings


def test_rules_hold_even_where_every_hash_was_made_anew(path: Path) -> None:
    found = verified(path, edit_body(3, cheaper), rewrite)
    assert any("entry 4" in finding and "pays what the rules do not allow" in finding for finding in found.findings)
    found = verified(path, edit_body(4, lambda content: content.update(receipt=11)), rewrite)
    assert any("settles what is not reserved" in finding for finding in found.findings)


def test_a_charge_over_budget_is_found(path: Path) -> None:
    def dear(content: dict[str, object]) -> None:
        content["charge"] = [{"epsilon": "100/1", "delta": "0/1"}]

    found = verified(path, edit_body(11, dear), rewrite)
    assert any("charged more than there is" in finding for finding in found.findings)


def test_only_a_checksum_finds_ledgers_rewritten_from_end_to_end(path: Path, tmp_path: Path) -> None:
    with Ledger.open(path) as ledger:
        checksum = ledger.verify().checksum
        assert ledger.verify().checksum == checksum
    assert checksum.startswith("11:")
    forge = edit_body(7, lambda content: content.update(question={"k": 999}))
    assert verified(path, forge, rewrite).ok  # without a secret outside, nobody can tell
    assert verified(path, checksum=checksum).findings == (
        "the checksum is not in this ledger: it was rewritten, or replaced by an older copy",
    )


def test_a_checksum_finds_an_older_copy_and_stays_valid_as_the_ledger_grow(path: Path, tmp_path: Path) -> None:
    older = tmp_path / "older.db"
    shutil.copy(path, older)
    with Ledger.open(path) as ledger:
        ledger.reserve(drawn(1))
        checksum = ledger.verify().checksum
        ledger.reserve(drawn(1))
        assert ledger.verify(checksum).ok
    assert not verified(older, checksum=checksum).ok


@pytest.mark.parametrize("checksum", ["", "abc", "10", "10:abc", "x:" + GENESIS])
def test_a_checksum_has_one_form(path: Path, checksum: str) -> None:
    with Ledger.open(path) as ledger, pytest.raises(ParameterError, match="length:hash"):
        ledger.verify(checksum)


def test_an_edited_answer_is_not_served(path: Path) -> None:
    verified(path, edit_body(4, lambda content: content.update(answer=["forged"])))
    with Ledger.open(path) as ledger, pytest.raises(LedgerError, match="edited"):
        ledger.find_answer({"k": 3}, "v1", analyst="ann")


def charge(*amounts: dict[str, str]) -> Callable[[dict[str, object]], object]:
    return lambda content: content.update(charge=[{"epsilon": "1/10", "delta": "0/1"} | amount for amount in amounts])


@pytest.mark.parametrize(
    ("sequence", "change", "says"),
    [
        (11, charge({"epsilon": "-1/10"}), "charged more than there is, or less than nothing"),
        (11, charge({"delta": "-1/10"}), "charged more than there is, or less than nothing"),
        (11, charge({"delta": "1/2"}), "charged more than there is, or less than nothing"),
        (8, charge({"epsilon": "-1/10", "delta": "1/1000000000"}), "pays what the rules do not allow"),
        (8, charge({"epsilon": "3/10", "delta": "1/1000000000"}), "pays what the rules do not allow"),
        (8, charge({"delta": "0/1"}), "pays what the rules do not allow"),
        (11, charge({"epsilon": "2/20"}), "cannot be read"),
        (11, charge({}, {}, {}), "cannot be read"),
        (8, charge({}, {}), "cannot be read"),
        (4, charge({}), "cannot be read"),
    ],
)
def test_each_rule_is_checked_even_where_every_hash_was_made_anew(
    path: Path, sequence: int, change: Callable[[dict[str, object]], object], says: str
) -> None:
    found = verified(path, edit_body(sequence, change), rewrite)
    assert any(finding.startswith(f"entry {sequence}: ") and says in finding for finding in found.findings)


def test_a_budget_that_is_opened_twice_is_found(path: Path) -> None:
    def opened(content: dict[str, object]) -> None:
        content.update(kind="opened", analyst=None, budget=small_budget().to_json())

    found = verified(
        path, edit_body(11, opened), sql("UPDATE crestline_entries SET kind = 'opened' WHERE sequence = 11"), rewrite
    )
    assert "entry 11: data set 'sales' is opened twice" in found.findings


@pytest.mark.parametrize(("receipt", "found"), [(12, False), (11, True), (9, True), (999, True)])
def test_only_what_is_reserved_ahead_can_be_taken_up(path: Path, receipt: int, found: bool) -> None:
    """Entry 12 is made ahead, entry 11 a reservation of a question that runs, entry 9 one that was settled."""
    with Ledger.open(path) as ledger:
        ahead = ledger.reserve(drawn(1), question={"ahead": True})
        assert ledger.begin(ahead.number, {"ahead": True}) is not None
    column = sql("UPDATE crestline_entries SET receipt = ? WHERE sequence = 13", receipt)
    faults = verified(path, edit_body(13, lambda content: content.update(receipt=receipt)), column, rewrite).findings
    assert ("entry 13: it takes up what is not reserved ahead, or was taken up already" in faults) is found


def test_a_settlement_of_what_was_reserved_ahead_and_never_taken_up_is_found(path: Path) -> None:
    with Ledger.open(path) as ledger:
        ledger.settle(ledger.reserve(drawn(1), question={"k": 1}), drawn(1))

    def say_ahead(content: dict[str, Any]) -> None:
        content["question"]["ahead"] = True

    faults = verified(path, edit_body(12, say_ahead), rewrite).findings
    assert "entry 13: it settles what was reserved ahead and not taken up" in faults


def test_a_kind_that_is_not_known_is_found(path: Path) -> None:
    found = verified(path, edit_body(6, lambda content: content.update(kind="erased")), rewrite)
    assert "entry 6: its kind is not known" in found.findings


def test_what_was_checked_is_counted_and_a_checksum_of_nothing_is_in_all_ledgers(path: Path) -> None:
    found = verified(path, checksum=f"0:{GENESIS}")
    assert (found.findings, found.entries, found.backwards) == ((), 11, 0)
    assert not verified(path, checksum=f"1:{GENESIS}").ok
    assert not verified(path, checksum="0:" + "0" * len(GENESIS)).ok


def test_a_clock_that_stands_still_does_not_go_backwards() -> None:
    clock = Clock()
    clock.step = timedelta(0)
    with Ledger.in_memory(small_budget(), clock=clock) as ledger:
        ledger.reserve(drawn(1))
        ledger.reserve(drawn(1))
        assert ledger.verify().backwards == 0


def test_several_inserted_entries_are_named_from_the_first_to_the_last(path: Path) -> None:
    copied = (
        "INSERT INTO crestline_entries SELECT {}, 'refused', dataset, analyst, NULL, answer_key, body, hash, 1, NULL"
    )
    whence = " FROM crestline_entries WHERE sequence = 6"
    found = verified(path, *(sql(copied.format(number) + whence) for number in (12, 13, 14)))
    assert "entries 12 to 14 are not known to the head row; inserted" in found.findings


def test_several_missing_entries_are_named_from_the_first_to_the_last(path: Path) -> None:
    found = verified(path, sql("DELETE FROM crestline_entries WHERE sequence BETWEEN 5 AND 7"))
    assert "entries 5 to 7 are missing; removed" in found.findings


@pytest.fixture
def pinned(tmp_path: Path) -> Path:
    """Three entries: a budget, and two questions about the same users."""
    file = tmp_path / "pinned.db"
    with Ledger.create(file, small_budget(), dataset="loans") as ledger:
        for _ in range(2):
            ledger.reserve(drawn(1), question={"user": "reader"})
    return file


@pytest.mark.parametrize("column", ["branch", None])
def test_a_doctored_user_column_is_found(pinned: Path, column: str | None) -> None:
    found = verified(pinned, sql("UPDATE crestline_accounts SET user_column = ?", column))
    assert found.findings == ("data set 'loans': the stored user column is not the one its entries fix",)


def test_a_question_about_other_users_is_found(pinned: Path) -> None:
    """A ledger of the first version may hold one: it did not refuse them."""
    found = verified(pinned, edit_body(3, lambda content: content.update(question={"user": "branch"})), rewrite)
    assert found.findings == (
        "entry 3: it asks about the users of column 'branch', and data set 'loans' is about those of 'reader': its "
        "budget bounds neither",
    )


def test_a_budget_opened_for_other_users_than_its_questions_is_found(pinned: Path) -> None:
    found = verified(pinned, edit_body(1, lambda content: content.update(user="branch")), rewrite)
    assert any(finding.startswith("entry 2: it asks about the users of column 'reader'") for finding in found.findings)
    assert any("the stored user column" in finding for finding in found.findings)
