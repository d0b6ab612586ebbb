"""Two services whose tables differ by one user answer, or refuse in the same words, through every face."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from crestline.audit.program.neighbouring_files import columns_of, write_typed_files
from crestline.client.http import Service as Remote
from crestline.client.remote import RemoteConnection
from crestline.errors import CrestlineError
from tests.web.conftest import Service, started
from tests.web.test_agents import call

pytestmark = pytest.mark.slow

NAMES = [column.name for column in columns_of("parquet")]
CONFIG = f"""\
ledger = "ledger.db"

[limits]
requests_per_minute = 100000
free_seconds = 100000

[datasets.events]
source = "events.parquet"
user = "user"
items = ["item"]
filters = {NAMES}
version = "1"
budget = {{ epsilon = 5000, delta = 1e-2 }}

[analysts.ann.budgets]
events = {{ epsilon = 4000, delta = 1e-2 }}

[analysts.bob.budgets]
events = {{ epsilon = 1, delta = 1e-6 }}

[analysts.olga]
role = "owner"
"""
LITERALS = ("1", "-9223372036854775809", "1e300", "'a'", "'2026-01-31'", "'9999-12-31 23:59:59.999999'", "true")
CONDITIONS = [
    *(f"{name} >= {LITERALS[place % len(LITERALS)]}" for place, name in enumerate(NAMES)),
    *(f"{name} = {LITERALS[(place + 3) % len(LITERALS)]}" for place, name in enumerate(NAMES)),
    *("absent = 1", "user = 'mallory'", "item like '%a%' and 1", "now() > 1"),
]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, Service]]:
    with ExitStack() as running:
        services, made = [], write_typed_files(tmp_path_factory.mktemp("tables"), "parquet", 60)
        for table in (made.with_user, made.without):
            folder = tmp_path_factory.mktemp("service")
            (folder / "crestline.toml").write_text(CONFIG.replace("events.parquet", table))
            services.append(running.enter_context(started(folder)))
        yield services[0], services[1]


def asked_by_http(service: Service, who: str, question: dict[str, Any]) -> str:
    response = service.client.post("/v1/datasets/events/top", json=question, headers=service.headers(who))
    return "an answer" if response.status_code == 200 else f"{response.status_code} {response.text}"


def asked_in_sql(service: Service, who: str, question: dict[str, Any]) -> str:
    text = f"SELECT item, COUNT(*) FROM events WHERE {question['where']} GROUP BY item LIMIT {question['k']}"
    options = {"epsilon": question["epsilon"], "delta": question["delta"]}
    body = {"dataset": "events", "sql": text, **options}
    response = service.client.post("/v1/sql", json=body, headers=service.headers(who))
    return "an answer" if response.status_code == 200 else f"{response.status_code} {response.text}"


def asked_by_a_tool(service: Service, who: str, question: dict[str, Any]) -> str:
    good, text, _ = call(service, "top", who, dataset="events", **question)
    return "an answer" if good else text


def asked_by_the_client(service: Service, who: str, question: dict[str, Any]) -> str:
    remote = Remote("http://testserver", service.tokens[who], service.client)  # type: ignore[arg-type] # a client
    try:
        RemoteConnection(remote).dataset("events").top(**question)
    except CrestlineError as error:
        return f"{type(error).__name__} {error}"
    return "an answer"


def priced_by_a_tool(service: Service, who: str, question: dict[str, Any]) -> str:
    return call(service, "price", who, dataset="events", **question)[1]


FACES: dict[str, Callable[[Service, str, dict[str, Any]], str]] = {
    "HTTP": asked_by_http,
    "SQL": asked_in_sql,
    "tool": asked_by_a_tool,
    "client": asked_by_the_client,
    "price": priced_by_a_tool,
}
NUMBER = re.compile(r'"request_id": ?"\w+"')


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("who", ["ann", "bob"])
def test_no_face_tells_whether_one_user_is_there(pair: tuple[Service, Service], face: str, who: str) -> None:
    """`bob` has no budget for what he asks: he is refused by the ledger, `ann` by nothing but her own words."""
    said = set[str]()
    for place, where in enumerate(CONDITIONS):
        if who == "bob" and place % 4:
            continue
        question = {"k": 3, "item": "item", "where": where, "epsilon": 9, "delta": "1e-5"}
        seen = [NUMBER.sub("", FACES[face](service, who, question)) for service in pair]
        assert seen[0] == seen[1], where
        said.add(seen[0].partition(":")[0][:60])
    assert len(said) > 1  # some were answered or priced, and some refused
