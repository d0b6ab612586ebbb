"""Real server processes under load: killed, told to end, two on one ledger. The ledger holds against what was told."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from crestline.cli.main import run
from tests.patience import PATIENCE
from tests.web.processes import Server, serving, write_service
from tests.web.traffic import Client, Plan, Told, check_books, send

pytestmark = [pytest.mark.engines, pytest.mark.slow]
AMPLE = 1000.0


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.engines)])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "ledger.db")
    url: str = request.getfixturevalue("postgres_database")
    return url


def after(count: int, told: list[Told], act: Callable[[], object]) -> Callable[[Told], None]:
    """Keep what clients are told; act once, when so many have been answered."""
    turn = threading.Lock()

    def keep(one: Told) -> None:
        with turn:
            told.append(one)
            due = len(told) == count
        if due:
            act()

    return keep


def verified(ledger: str) -> bool:
    with redirect_stdout(StringIO()):
        return run(["ledger", "verify", ledger]) == 0


def test_no_charge_is_lost_and_none_is_made_twice(ledger: str, tmp_path: Path) -> None:
    tokens, told = write_service(tmp_path, ledger, AMPLE, 4), list[Told]()
    with serving(tmp_path / "crestline.toml") as (server,):
        send([server.port], tokens, Plan(clients=16, seconds=4, requests=40), told.append)
    assert {one.status for one in told} == {200}
    entries = check_books(ledger, told)
    assert entries["settled"] == entries["reserved"] == len({one.question for one in told})


def test_a_server_is_killed_under_load_and_started_again(ledger: str, tmp_path: Path) -> None:
    tokens, told = write_service(tmp_path, ledger, AMPLE, 4), list[Told]()
    config = tmp_path / "crestline.toml"
    with serving(config) as (server,):
        plan = Plan(clients=12, seconds=100, requests=40)
        send([server.port], tokens, plan, after(15, told, server.kill))
    assert verified(ledger)
    check_books(ledger, told)
    broken = [one for one in told if not one.status]
    assert len(broken) >= 10  # nearly all clients waited for a response that never came
    with serving(config) as (server,):
        again = [ask_again(server, one, tokens) for one in broken + [one for one in told if one.status]]
    assert {one.status for one in again} <= {200, 409}
    assert all(one.status == 200 or one.code == "unfinished" for one in again)
    assert verified(ledger)
    check_books(ledger, told + again)
    items = {one.key: one.body["items"] for one in told if one.status == 200}
    assert all(one.body["items"] == items[one.key] for one in again if one.key in items)  # word for word


def ask_again(server: Server, one: Told, tokens: dict[str, str]) -> Told:
    client = Client(server.port, one.analyst, tokens[one.analyst])
    try:
        return client.ask(one.question, one.key)
    finally:
        client.close()


def test_a_server_that_gets_a_signal_to_end_settles_what_it_has_begun(tmp_path: Path) -> None:
    ledger = str(tmp_path / "ledger.db")
    tokens, told, codes = write_service(tmp_path, ledger, AMPLE, 4), list[Told](), list[int]()
    with serving(tmp_path / "crestline.toml") as (server,):
        plan = Plan(clients=8, seconds=100, requests=40)
        send([server.port], tokens, plan, after(10, told, lambda: codes.append(server.stop())))
    assert codes[0] in (0, -15)  # it ended by itself, or passed the signal on when it was done
    entries = check_books(ledger, told)
    assert entries["settled"] == entries["reserved"]
    # Nothing that was begun is without its answer: whoever got no response was not charged.
    assert entries["settled"] == len({(one.analyst, one.body["id"]) for one in told if one.status == 200})


def test_two_servers_never_spend_more_than_there_is(postgres_database: str, tmp_path: Path) -> None:
    tokens, told = write_service(tmp_path, postgres_database, 0.02, 4), list[Told]()
    with serving(tmp_path / "crestline.toml", 2) as servers:
        send([one.port for one in servers], tokens, Plan(clients=8, seconds=100, requests=12), told.append)
        twins = same_key_at_both(servers, tokens)
    statuses = {one.status for one in told}
    assert statuses == {200, 402}  # all of it was fought over
    check_books(postgres_database, told)
    refused = {one.status for one in twins}
    assert 402 in refused
    assert refused <= {402, 409}  # the other may find that the first has not ended yet


def same_key_at_both(servers: list[Server], tokens: dict[str, str]) -> list[Told]:
    """One request with one key, at both servers at the same moment."""
    analyst = min(tokens)
    clients = [Client(server.port, analyst, tokens[analyst]) for server in servers]
    both = threading.Barrier(len(clients), timeout=PATIENCE)

    def one(client: Client) -> Told:
        both.wait()
        return client.ask("twin", "twin")

    with ThreadPoolExecutor(len(clients)) as threads:
        found = list(threads.map(one, clients))
    for client in clients:
        client.close()
    return found


def test_one_key_at_two_servers_pays_once(postgres_database: str, tmp_path: Path) -> None:
    tokens = write_service(tmp_path, postgres_database, AMPLE, 1)
    with serving(tmp_path / "crestline.toml", 2) as servers:
        told = same_key_at_both(servers, tokens)
        later = [ask_again(server, told[0], tokens) for server in servers]
    assert 200 in {one.status for one in told}
    assert all(one.status == 200 or one.code == "unfinished" for one in told)
    assert later[0].body == later[1].body == next(one.body for one in told if one.status == 200)
    assert check_books(postgres_database, told + later)["reserved"] == 1
