"""A small service in this process: a CSV file, a ledger in SQLite, two analysts and an owner."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from crestline.config import load_config
from crestline.web.app import create_app
from crestline.web.service_state import ServiceState, open_state

CONFIG = """\
ledger = "ledger.db"

[limits]
requests_per_minute = 1000
k = 50

[datasets.loans]
source = "loans.csv"
user = "reader"
items = ["title", "genre"]
filters = ["country"]
version = "2026-11"
budget = { epsilon = 8, delta = 1e-4 }

[datasets.secret]
source = "loans.csv"
user = "reader"
items = ["title"]
budget = { epsilon = 1, delta = 1e-6 }

[analysts.ann.budgets]
loans = { epsilon = 4, delta = 1e-5 }

[analysts.bob.budgets]
loans = { epsilon = 4, delta = 1e-5 }

[analysts.olga]
role = "owner"
"""


def write_loans(path: Path) -> None:
    rows = ["reader,title,genre,country,salary"]
    for reader in range(3000):
        country = "DE" if reader % 2 else "FR"
        rows.append(f"r{reader},Rivers,nature,{country},{reader}")
        if reader < 2000:
            rows.append(f"r{reader},Bridges,craft,{country},{reader}")
    path.write_text("\n".join(rows) + "\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_loans(tmp_path / "loans.csv")
    (tmp_path / "crestline.toml").write_text(CONFIG)
    return tmp_path


@dataclass(frozen=True)
class Service:
    """The service and a token for everybody."""

    client: TestClient
    state: ServiceState
    tokens: dict[str, str]

    def headers(self, who: str | None, key: str | None = None) -> dict[str, str]:
        headers = {} if who is None else {"Authorization": f"Bearer {self.tokens.get(who, who)}"}
        return headers if key is None else {**headers, "Idempotency-Key": key}

    def get(self, path: str, who: str | None = "ann") -> Any:
        return self.client.get(path, headers=self.headers(who))

    def top(self, who: str | None = "ann", dataset: str = "loans", key: str | None = None, **changes: Any) -> Any:
        body = {"k": 2, "item": "title", "epsilon": 1, "delta": "1e-6", **changes}
        return self.client.post(f"/v1/datasets/{dataset}/top", json=body, headers=self.headers(who, key))

    def spent(self, who: str | None = "ann") -> Any:
        return self.state.datasets["loans"].ledger.spent(who)


@contextmanager
def started(folder: Path) -> Iterator[Service]:
    """The service of the configuration in a folder, with a token for everybody."""
    state = open_state(load_config(folder / "crestline.toml"))
    tokens = {name: state.tokens.create(name) for name in ("ann", "bob", "olga")}
    with TestClient(create_app(state)) as client:
        yield Service(client, state, tokens)


@pytest.fixture
def service(folder: Path) -> Iterator[Service]:
    with started(folder) as running:
        yield running
