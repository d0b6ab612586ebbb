"""Tokens and sessions: signed, listed in the chain, shown once, revocable; and the commands for them."""

from __future__ import annotations

import hashlib
import json
import shutil
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import delete, insert, update
from sqlalchemy import text as db_text

from crestline.access.expiry import expiry_time
from crestline.access.keys import Keys
from crestline.access.tokens import Tokens
from crestline.cli.main import run
from crestline.errors import LedgerError, ParameterError
from crestline.ledger.entries import GENESIS, Draft, chain_entry
from crestline.ledger.storage.store import Store
from crestline.ledger.storage.tables import entries
from crestline.web.access.sessions import Sessions


def now() -> datetime:
    return datetime(2026, 11, 1, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store.create(str(tmp_path / "ledger.db"), now, 5.0)) as store:
        yield store


@pytest.fixture
def keys(store: Store, tmp_path: Path) -> Keys:
    return Keys.read_or_create(tmp_path / "service.key", store)


@pytest.fixture
def tokens(store: Store, keys: Keys) -> Tokens:
    return Tokens(store, keys)


@pytest.fixture
def sessions(store: Store, keys: Keys, tokens: Tokens) -> Sessions:
    return Sessions(store, keys, tokens)


def test_a_token_names_its_holder(tokens: Tokens) -> None:
    ann, bob = tokens.create("ann"), tokens.create("bob")
    assert tokens.find_holder(ann) == (ann.split("_")[1], "ann")
    assert tokens.find_holder(bob) == (bob.split("_")[1], "bob")
    mixed = "_".join([*ann.split("_")[:2], bob.split("_", 2)[2]])
    for wrong in ("", "cl_", ann[:-1], ann + "A", mixed, ann.upper(), "é" * 60, "\udc80"):
        assert tokens.find_holder(wrong) is None


def test_neither_the_token_nor_the_key_is_in_the_database(tokens: Tokens, tmp_path: Path) -> None:
    secret = tokens.create("ann").split("_", 2)[2]
    kept = b"".join(path.read_bytes() for path in tmp_path.glob("ledger.db*"))
    assert secret.rpartition(".")[2].encode() not in kept
    assert (tmp_path / "service.key").read_bytes().strip() not in kept


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


def test_a_made_up_token_costs_no_look_up(tokens: Tokens, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    text = tokens.create("ann")
    looked: list[str] = []
    plain = store.entries_with_key
    monkeypatch.setattr(store, "entries_with_key", lambda key: looked.append(key) or plain(key))
    for asked in ("nonsense", "cl_aaaaaaaaaaaaa_" + "A" * 43, text[:-3] + "AAA"):
        assert tokens.find_holder(asked) is None
    assert looked == []
    assert tokens.find_holder(text) is not None
    assert len(looked) == 1


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


def test_a_token_ends_by_itself(
    tokens: Tokens, sessions: Sessions, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = tokens.create("ann", expiry_time("2h", now()))
    number, hour = text.split("_")[1], timedelta(hours=1)
    cookie = sessions.create_cookie(number, "ann")
    assert tokens.list_tokens()[0].expires == (now() + 2 * hour).isoformat()
    monkeypatch.setattr(store, "_clock", lambda: now() + 2 * hour - timedelta(seconds=1))
    assert tokens.find_holder(text) == sessions.find_holder(cookie) == (number, "ann")
    monkeypatch.setattr(store, "_clock", lambda: now() + 2 * hour)
    assert tokens.find_holder(text) is None
    assert sessions.find_holder(cookie) is None


def test_how_long_a_token_holds() -> None:
    assert expiry_time("12h", now()) - now() == timedelta(hours=12)
    assert expiry_time("8w", now()) - now() == timedelta(weeks=8)
    for wrong in ("", "0d", "90", "d", "-1d", "1.5d", "١d", "999999d", "90 d"):
        with pytest.raises(ParameterError, match="such as 12h, 90d or 8w"):
            expiry_time(wrong, now())


def write_entry(store: Store, sequence: int, previous: str, draft: Draft) -> None:
    """An entry that is honest in every hash, written by somebody who has the database and not the key."""
    entry = chain_entry(draft, sequence=sequence, previous=previous, time=now())
    store.database.write(lambda books: books.connection.execute(insert(entries), vars(entry)))


class Intruder:
    """Somebody who can write the whole database, knows all of this code, and has a key of their own."""

    def __init__(self, store: Store, folder: Path) -> None:
        Keys.rotate(folder / "intruder.key")
        self.keys = Keys.read(folder / "intruder.key")
        self.tokens = Tokens(store, self.keys)
        self.sessions = Sessions(store, self.keys, self.tokens)


def test_who_can_write_the_database_makes_no_token_and_no_session(
    tokens: Tokens, sessions: Sessions, store: Store, tmp_path: Path
) -> None:
    """Not with an entry of the chain, as the program would write it, nor with rows of tables that earlier ones had."""
    intruder = Intruder(store, tmp_path)
    text = intruder.tokens.create("olga", by="olga")
    number, hashed = text.split("_")[1], hashlib.sha256(b"cookie").hexdigest()
    assert intruder.tokens.find_holder(text) == (number, "olga")  # all that they can write is written
    assert store.verify().ok
    assert tokens.find_holder(text) is None
    assert sessions.find_holder(intruder.sessions.create_cookie(number, "olga")) is None
    store.database.write(
        lambda books: [
            books.connection.execute(db_text(statement))
            for statement in (
                "CREATE TABLE crestline_sessions (id TEXT PRIMARY KEY, token TEXT NOT NULL, ends TEXT NOT NULL)",
                f"INSERT INTO crestline_sessions VALUES ('{hashed}', '{number}', '9999')",
            )
        ]
    )
    assert sessions.find_holder("cookie") is None


def test_a_forged_entry_of_any_number_changes_nobodys_token_for_the_better(
    tokens: Tokens, sessions: Sessions, store: Store
) -> None:
    """Their own token is honest: they want it to be the owner's, and to hold again after it was revoked."""
    text = tokens.create("ann")
    number = text.split("_")[1]
    cookie = sessions.create_cookie(number, "ann")
    tokens.revoke(number)
    for sequence, analyst in ((-7, "olga"), (10**6, "olga"), (-8, "ann"), (10**6 + 1, "ann")):
        details = {"token": {"id": number, "analyst": analyst, "expires": None}, "by": "olga"}
        write_entry(store, sequence, "0" * 64, Draft("token", "", answer_key=f"token:{number}", details=details))
        assert tokens.find_holder(text) is None
        assert sessions.find_holder(cookie) is None


def test_a_token_whose_creation_was_replaced_by_one_for_the_owner_is_nobodys(
    tokens: Tokens, sessions: Sessions, store: Store
) -> None:
    text = tokens.create("ann")
    number = text.split("_")[1]
    cookie = sessions.create_cookie(number, "ann")
    store.database.write(
        lambda books: books.connection.execute(delete(entries).where(entries.c.answer_key == f"token:{number}"))
    )
    details = {"token": {"id": number, "analyst": "olga", "expires": None}, "by": "olga"}
    write_entry(store, 1, GENESIS, Draft("token", "", answer_key=f"token:{number}", details=details))
    assert tokens.find_holder(text) is None
    assert sessions.find_holder(cookie) is None


def test_what_an_entry_says_that_was_edited_is_not_believed(tokens: Tokens, store: Store) -> None:
    text = tokens.create("ann", expires=now() + timedelta(days=1))
    number = text.split("_")[1]
    assert tokens.find_holder(text) == (number, "ann")
    edited = update(entries).where(entries.c.kind == "token").values(body=entries.c.body + " ")
    store.database.write(lambda books: books.connection.execute(edited))
    assert tokens.find_holder(text) is None


def test_who_made_and_ended_a_token_is_in_the_chain_and_no_secret_is(
    tokens: Tokens, sessions: Sessions, store: Store
) -> None:
    text = tokens.create("ann", by="olga")
    number = text.split("_")[1]
    sessions.end(sessions.create_cookie(number, "ann"))
    tokens.revoke(number, by="root (command line)")
    assert store.verify().findings == ()
    told = [(entry.kind, entry.content.get("ended"), entry.content["by"]) for entry in store.entries()]
    assert told == [("token", None, "olga"), ("session", None, "ann"), ("token", number, "root (command line)")]
    assert text.rpartition(".")[2] not in "".join(entry.body for entry in store.entries())


def test_a_session_ends_once_and_only_its_holder_ends_it(tokens: Tokens, sessions: Sessions, store: Store) -> None:
    number = tokens.create("ann").split("_")[1]
    cookie = sessions.create_cookie(number, "ann")
    for wrong in ("", "x", cookie[:-1], cookie + "A", "\udc80", "é.1.2"):
        sessions.end(wrong)
    assert sessions.find_holder(cookie) == (number, "ann")
    sessions.end(cookie)
    sessions.end(cookie)
    assert sessions.find_holder(cookie) is None
    assert [entry.kind for entry in store.entries()] == ["token", "session"]


def test_the_start_of_a_session_is_a_line_of_the_log(
    tokens: Tokens, sessions: Sessions, caplog: pytest.LogCaptureFixture
) -> None:
    number = tokens.create("ann").split("_")[1]
    with caplog.at_level("INFO", logger="crestline.requests"):
        cookie = sessions.create_cookie(number, "ann")
    (line,) = (json.loads(record.message) for record in caplog.records)
    assert (line["event"], line["result"], line["message"]) == ("session", "begun", f"token {number}")
    assert cookie not in caplog.text


def test_two_keys_while_one_is_rotated(tokens: Tokens, store: Store, tmp_path: Path) -> None:
    path = tmp_path / "service.key"
    old = tokens.create("ann")
    Keys.rotate(path)
    both = Tokens(store, Keys.read_or_create(path, store))
    new = both.create("ann")
    assert both.find_holder(old)
    assert both.find_holder(new)
    assert tokens.find_holder(new) is None  # a server that has not read the new key yet
    Keys.rotate(path)
    newest = Tokens(store, Keys.read(path))
    assert newest.find_holder(old) is None
    assert newest.find_holder(new)
    assert len(path.read_text().split()) == 2
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".")] == []


@pytest.mark.parametrize(
    ("text", "mode", "says"),
    [
        ("", 0o600, "one key, or two"),
        ("short\n", 0o600, "one key, or two"),
        (f"{'a' * 43}\n" * 3, 0o600, "one key, or two"),
        ("é" * 43, 0o600, "not a key file"),
        ("a" * 43, 0o640, "others may read it"),
        ("a" * 43, 0o604, "others may read it"),
    ],
)
def test_key_files_that_are_refused(tmp_path: Path, text: str, mode: int, says: str) -> None:
    path = tmp_path / "service.key"
    path.write_text(text)
    path.chmod(mode)
    with pytest.raises(ParameterError, match=says) as caught:
        Keys.read(path)
    assert "a" * 43 not in str(caught.value)


def test_a_key_file_that_is_missing_is_not_made_anew_where_it_signed_tokens(
    tokens: Tokens, store: Store, tmp_path: Path
) -> None:
    path = tmp_path / "service.key"
    path.unlink()
    assert Keys.read_or_create(path, store)
    tokens.create("ann")
    path.unlink()
    with pytest.raises(ParameterError, match="copy it from the machine that has it"):
        Keys.read_or_create(path, store)
    with pytest.raises(ParameterError, match="cannot be written"):
        Keys.rotate(tmp_path / "nowhere" / "service.key")


def test_of_two_servers_that_make_the_key_at_once_both_have_the_same(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "service.key"
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: Keys.read_or_create(path, store), range(8)))
    assert len({keys.signer("x").dumps("x") for keys in made}) == 1


def test_a_restored_backup_does_not_bring_a_revoked_token_back(tmp_path: Path) -> None:
    path, witness, key = tmp_path / "ledger.db", tmp_path / "witness", tmp_path / "service.key"
    with closing(Store.create(path, now, 5.0, witness)) as store:
        text = Tokens(store, Keys.read_or_create(key, store)).create("ann")
    shutil.copy(path, tmp_path / "backup.db")
    with closing(Store.open(path, now, 5.0, witness)) as store:
        Tokens(store, Keys.read(key)).revoke(text.split("_")[1])
    shutil.copy(tmp_path / "backup.db", path)
    with pytest.raises(LedgerError, match="it is an older copy"):
        Store.open(path, now, 5.0, witness)
