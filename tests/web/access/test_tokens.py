"""Tokens: shown once, hashed, found by number, revocable; and the commands for them."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, update

from crestline.cli.main import run
from crestline.errors import LedgerError, ParameterError
from crestline.ledger.storage.store import Store
from crestline.ledger.storage.tables import entries
from crestline.web.access import tokens as module
from crestline.web.access.expiry import expiry_time
from crestline.web.access.tokens import Tokens
from crestline.web.schema import open_tables, service_tables
from crestline.web.schema import tokens as table


def now() -> datetime:
    return datetime(2026, 11, 1, tzinfo=UTC)


@pytest.fixture
def tokens(tmp_path: Path) -> Iterator[Tokens]:
    address = str(tmp_path / "ledger.db")
    Store.create(address, now, 5.0).close()
    tables = open_tables(address)
    yield Tokens(tables, now)
    tables.close()


def test_a_token_names_its_holder(tokens: Tokens) -> None:
    ann, bob = tokens.create("ann"), tokens.create("bob")
    assert tokens.find_holder(ann) == (ann.split("_")[1], "ann")
    assert tokens.find_holder(bob) == (bob.split("_")[1], "bob")
    mixed = "_".join([*ann.split("_")[:2], bob.split("_", 2)[2]])
    for wrong in ("", "cl_", ann[:-1], ann + "A", mixed, ann.upper(), "é" * 60, "\udc80"):
        assert tokens.find_holder(wrong) is None


def test_the_token_is_not_kept(tokens: Tokens, tmp_path: Path) -> None:
    secret = tokens.create("ann").split("_", 2)[2]
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert secret.encode() not in kept
    assert hashlib.sha256(secret.encode()).hexdigest().encode() not in kept


def test_a_revoked_token_ends_at_once(tokens: Tokens) -> None:
    text = tokens.create("ann")
    number = text.split("_")[1]
    assert tokens.find_holder(text) is not None
    tokens.revoke(number)
    tokens.revoke(number)  # twice does no harm
    assert tokens.find_holder(text) is None
    assert tokens.list_tokens()[0].revoked is not None
    with pytest.raises(ParameterError, match="there is no token"):
        tokens.revoke("nobody")


def test_one_hash_for_known_and_unknown_numbers_alike(tokens: Tokens, monkeypatch: pytest.MonkeyPatch) -> None:
    text = tokens.create("ann")
    hashes: list[Any] = []
    plain = module._keyed_hash
    monkeypatch.setattr(module, "_keyed_hash", lambda *arguments: hashes.append(1) or plain(*arguments))
    for asked in ("nonsense", "cl_aaaaaaaaaaaaa_" + "A" * 43, text[:-3] + "AAA", text):
        tokens.find_holder(asked)
    assert len(hashes) == 4


@pytest.mark.long
def test_the_commands(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(folder / "crestline.toml")
    assert run(["token", "create", path, "ann"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("cl_")
    assert "not shown again" in shown.err
    number = shown.out.split("_")[1]
    assert run(["token", "revoke", path, number]) == 0
    capsys.readouterr()
    assert run(["token", "list", path, "--format", "json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)
    assert (listed["id"], listed["analyst"]) == (number, "ann")
    assert listed["revoked"]
    assert run(["token", "create", path, "nobody"]) == 2
    assert "it names: ann, bob, olga" in capsys.readouterr().err


def test_a_token_ends_by_itself(tokens: Tokens, monkeypatch: pytest.MonkeyPatch) -> None:
    text = tokens.create("ann", expiry_time("2d", now()))
    number, day = text.split("_")[1], timedelta(days=1)
    assert tokens.list_tokens()[0].expires == (now() + 2 * day).isoformat()
    monkeypatch.setattr(tokens, "_clock", lambda: now() + 2 * day - timedelta(seconds=1))
    assert tokens.find_holder(text) == (number, "ann")
    assert tokens.analyst_of_token(number) == "ann"
    monkeypatch.setattr(tokens, "_clock", lambda: now() + 2 * day)
    assert tokens.find_holder(text) is None
    assert tokens.analyst_of_token(number) is None


def test_how_long_a_token_holds() -> None:
    assert expiry_time("12h", now()) - now() == timedelta(hours=12)
    assert expiry_time("8w", now()) - now() == timedelta(weeks=8)
    for wrong in ("", "0d", "90", "d", "-1d", "1.5d", "١d", "999999d", "90 d"):
        with pytest.raises(ParameterError, match="such as 12h, 90d or 8w"):
            expiry_time(wrong, now())


def changed(tokens: Tokens, statement: Any) -> None:
    tokens._database.write(lambda books: books.connection.execute(statement))


def test_a_row_that_was_forged_is_no_token(tokens: Tokens) -> None:
    """They can write the table, and know how rows are made; the chain knows nothing of it."""
    secret, salt = "A" * 43, bytes(16)
    row = {
        "id": "a" * 13,
        "analyst": "olga",
        "salt": salt.hex(),
        "hash": module._keyed_hash(secret, salt),
        "created": "x",
    }
    changed(tokens, insert(table).values(row))
    assert tokens.find_holder(f"cl_{row['id']}_{secret}") is None
    assert tokens.analyst_of_token("a" * 13) is None


@pytest.mark.parametrize("change", [{"analyst": "olga"}, {"expires": None}, {"revoked": None}])
def test_a_row_that_was_changed_is_no_token(tokens: Tokens, change: dict[str, str | None]) -> None:
    text = tokens.create("ann", expires=now() + timedelta(days=1))
    number = text.split("_")[1]
    if "revoked" in change:
        tokens.revoke(number)
    else:
        assert tokens.find_holder(text) == (number, "ann")
    changed(tokens, update(table).where(table.c.id == number).values(change))
    assert tokens.find_holder(text) is None
    assert tokens.analyst_of_token(number) is None


def test_what_holds_of_tokens_is_in_the_chain_and_no_secret_is(tokens: Tokens, tmp_path: Path) -> None:
    text = tokens.create("ann")
    tokens.revoke(text.split("_")[1])
    store = Store.open(tmp_path / "ledger.db", now, 5.0)
    assert store.verify().findings == ()
    told = [entry.content["token"] for entry in store.entries() if entry.kind == "token"]
    assert [(one["analyst"], one["revoked"] is None) for one in told] == [("ann", True), ("ann", False)]
    assert text.split("_", 2)[2] not in "".join(entry.body for entry in store.entries())
    edited = update(entries).where(entries.c.kind == "token").values(body=entries.c.body + " ")
    again = tokens.create("bob")
    changed(tokens, edited)
    assert tokens.find_holder(again) is None
    store.close()


def test_a_restored_backup_does_not_bring_a_revoked_token_back(tmp_path: Path) -> None:
    path, witness = tmp_path / "ledger.db", tmp_path / "witness"
    store = Store.create(path, now, 5.0, witness)
    tokens = Tokens(service_tables(store.database), now)
    text = tokens.create("ann")
    store.close()
    shutil.copy(path, tmp_path / "backup.db")
    store = Store.open(path, now, 5.0, witness)
    Tokens(service_tables(store.database), now).revoke(text.split("_")[1])
    store.close()
    shutil.copy(tmp_path / "backup.db", path)
    with pytest.raises(LedgerError, match="it is an older copy"):
        Store.open(path, now, 5.0, witness)
