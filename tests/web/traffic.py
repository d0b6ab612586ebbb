"""Many clients of a running service on this machine, what they were told, and whether the ledger says the same.

A client asks a new question most of the time; now and then it sends its last request again (same key), and now and then
it asks its last question anew (another key), which is answered from the ledger at no cost.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from typing import Any

from crestline.ledger.ledger import Ledger
from tests.patience import PATIENCE

EPSILON, DELTA = "0.01", "1e-9"
AGAIN, ANEW = 10, 5  # every tenth request is sent again, every fifth question is asked anew


@dataclass(frozen=True)
class Told:
    """What one request came to; `status` 0 where no response came."""

    analyst: str
    question: str
    key: str
    status: int
    body: Any
    seconds: float

    @property
    def paid(self) -> bool:
        return self.status == 200 and not self.body["stored"]

    @property
    def code(self) -> str:
        return "" if self.status in (0, 200) else str(self.body["error"]["code"])


class Client:
    """One connection of one analyst; it is opened again when it breaks."""

    def __init__(self, port: int, analyst: str, token: str) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        self._analyst = analyst
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def ask(self, question: str, key: str) -> Told:
        """Ask about a country of this name; the filter is what tells questions apart."""
        asked = {"k": 1, "item": "item", "where": f"country <> '{question}'", "epsilon": EPSILON, "delta": DELTA}
        start = time.perf_counter()
        try:
            headers = {**self._headers, "Idempotency-Key": key}
            self._connection.request("POST", "/v1/datasets/loans/top", json.dumps(asked), headers)
            response = self._connection.getresponse()
            status, body = response.status, json.loads(response.read())
        except (OSError, HTTPException, json.JSONDecodeError):
            self._connection.close()
            status, body = 0, None
        return Told(self._analyst, question, key, status, body, time.perf_counter() - start)

    def close(self) -> None:
        self._connection.close()


@dataclass(frozen=True)
class Plan:
    """How many clients, for how long, and how many requests each at most."""

    clients: int
    seconds: float
    requests: int = 1_000_000


def send(ports: Sequence[int], tokens: dict[str, str], plan: Plan, on_told: Callable[[Told], None]) -> None:
    """All clients at once. `on_told` is called from their threads. A client whose server is gone ends."""
    people = sorted(tokens)
    start, end = threading.Barrier(plan.clients), []

    def one(number: int) -> None:
        analyst = people[number % len(people)]
        client = Client(ports[number % len(ports)], analyst, tokens[analyst])
        start.wait(PATIENCE)
        end.append(time.monotonic() + plan.seconds)
        for turn in range(plan.requests):
            question = f"{number}-{turn}"
            key, kind = question, turn + number
            if turn and kind % AGAIN == 0:
                question = key = f"{number}-{turn - 1}"
            elif turn and kind % ANEW == 0:
                question = f"{number}-{turn - 1}"
            told = client.ask(question, key)
            on_told(told)
            if not told.status or time.monotonic() > end[0]:
                break
        client.close()

    with ThreadPoolExecutor(plan.clients) as threads:
        list(threads.map(one, range(plan.clients)))


def check_books(ledger: str, told: Iterable[Told]) -> Counter[str]:
    """Every charge has its answer and every answer its charge, once; the ledger holds. Counts the entries by kind.

    A reservation without an answer is allowed only for a question whose client got no response.
    """
    told = list(told)
    with Ledger.open(ledger, dataset="loans") as books:
        found = books.verify()
        assert found.ok, found.findings
        entries = books.history()
        for account in books.accounts:
            assert account.balance.total_charged.fits_in(account.balance.budget.limit)
    asked_for = [entry for entry in entries if entry.kind == "reserved"]
    reserved = {(entry.analyst, entry.number): entry.content["question"]["where"] for entry in asked_for}
    settled = {(entry.analyst, entry.number) for entry in entries if entry.kind == "settled"}
    asked = Counter(reserved.values())
    assert set(asked.values()) <= {1}, "a question was paid for twice"
    receipts = {(one.analyst, one.body["id"]): f"country <> '{one.question}'" for one in told if one.status == 200}
    assert set(receipts) <= settled, "an answer without its charge"
    assert all(reserved[number] == question for number, question in receipts.items())
    unanswered = {f"country <> '{one.question}'" for one in told if one.status == 0 or one.code == "unfinished"}
    lost = {reserved[number] for number in set(reserved) - set(receipts)}
    assert lost <= unanswered, "a charge without its answer"
    return Counter(entry.kind for entry in entries)
