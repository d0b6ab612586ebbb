"""A real server with a real ledger and a past: some weeks of questions by two analysts, so that charts have a shape."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from crestline.config import load_config
from crestline.question import Question, QuestionFields
from crestline.web.access.callers import caller_by_token
from crestline.web.answer_once import QueuedQuestion, answer_once
from crestline.web.problems import Problem
from crestline.web.requests.cancellation import Ticket
from crestline.web.service_state import ServiceState, open_state
from tests.web.processes import serving

ANALYSTS = ("ann", "bob", "cyd", "dan", "eve")
OWNER = "olga"
_BUDGETS = "\n".join(
    f"[analysts.{name}.budgets]\nloans = {{ epsilon = 4, delta = 1e-5 }}\nvisits = {{ epsilon = 2, delta = 1e-6 }}"
    for name in ANALYSTS
)
CONFIG = f"""\
ledger = "ledger.db"

[limits]
requests_per_minute = 6000

[datasets.loans]
source = "loans.csv"
user = "reader"
items = ["title", "genre"]
filters = ["country"]
version = "2026-11"
budget = {{ epsilon = 20, delta = 1e-4 }}

[datasets.visits]
source = "loans.csv"
user = "reader"
items = ["title", "country"]
contribution = 3
version = "2026-11"
budget = {{ epsilon = 12, delta = 1e-5 }}
public = {{ users = 4000, per_user = 3, shape = "power:1" }}

{_BUDGETS}

[analysts.{OWNER}]
role = "owner"
"""
TITLES = (
    "Rivers and bridges", "The long winter", "Notes on bread", "A field guide to clouds", "Harbour lights",
    "Seven letters", "The clockmaker's daughter, or what became of the town below the dam", "Salt",
    "Under the lime tree", "Maps of nowhere", "The last ferry", "Copper", "Small engines",
    "Orchard year", "Night trains",
)  # fmt: skip


@dataclass(frozen=True)
class Site:
    """Where the server listens, and a token for everybody."""

    url: str
    tokens: dict[str, str]


@contextmanager
def running(folder: Path) -> Iterator[Site]:
    """A server in a process of its own, until the end of the block."""
    _write_loans(folder / "loans.csv")
    (folder / "crestline.toml").write_text(CONFIG)
    tokens = _past(folder)
    with serving(folder / "crestline.toml") as (server,):
        yield Site(f"http://127.0.0.1:{server.port}", tokens)


def _write_loans(path: Path) -> None:
    draw = random.Random(7)  # public toy data
    weights = [1 / (rank + 1) for rank in range(len(TITLES))]
    rows = ["reader,title,genre,country"]
    for reader in range(4000):
        country = draw.choice(("DE", "FR", "NL"))
        for title in dict.fromkeys(draw.choices(TITLES, weights, k=3)):
            genre = ("nature", "craft", "fiction")[TITLES.index(title) % 3]
            rows.append(f'r{reader},"{title}",{genre},{country}')
    path.write_text("\n".join(rows) + "\n")


def _past(folder: Path) -> dict[str, str]:
    """Make the ledger, a token for everybody, and five weeks of questions."""
    days = iter(range(10_000))
    start = datetime.now(UTC) - timedelta(days=36)
    state = open_state(load_config(folder / "crestline.toml"), clock=lambda: start + timedelta(hours=9 * next(days)))
    try:
        tokens = {name: state.tokens.create(name) for name in (*ANALYSTS, OWNER)}
        for number in range(12):
            _ask(state, tokens[("dan", "eve")[number % 3 == 0]], number)
    finally:
        state.close()
    return tokens


def _ask(state: ServiceState, token: str, number: int) -> None:
    country = ("country = 'DE'", None)[number % 2]
    asked: QuestionFields = {"item": "title", "k": 3 + number, "where": country, "counts": number % 2 == 0}
    # To choose a mechanism takes a search, which is not what these pages are about.
    question = Question.from_fields({**asked, "mechanism": "LimitedDomainGauss", "epsilon": "0.9", "delta": "1e-7"})
    with suppress(Problem):  # a refusal is a part of the past, too
        answer_once(state, QueuedQuestion(caller_by_token(state, token), "loans", question, f"past-{number}"), Ticket())
