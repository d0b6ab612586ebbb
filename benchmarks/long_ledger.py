"""What a long ledger costs: a start, a report that is due, a page of the history, a charge. In processor time.

    python -m benchmarks.long_ledger [--entries 1000000] [--accounts 2000] [--folder .]

The ledger is written by hand, with every hash, and the first start verifies it. A charge is compared with one of an
empty ledger in the same run, in turns.
"""

from __future__ import annotations

import argparse
import io
import json
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import closing, redirect_stdout
from datetime import UTC, datetime, timedelta
from pathlib import Path

from crestline.cli.main import run as command
from crestline.config import load_config
from crestline.guarantees.cost import repeat_step
from crestline.guarantees.guarantee import BoundedRange
from crestline.ledger.budget import Budget
from crestline.ledger.entries import canonical_json, entry_hash
from crestline.ledger.ledger import Ledger
from crestline.ledger.storage.books import load_rows
from crestline.ledger.storage.rows import FINGERPRINT, MODULUS, fingerprint, row_hash
from crestline.ledger.storage.store import Store
from crestline.web.app import create_app
from crestline.web.service_state import open_state

CONFIG = """\
ledger = "ledger.db"

[datasets.loans]
source = "loans.csv"
user = "reader"
items = ["title"]
version = "1"
budget = { epsilon = 8, delta = 1e-4 }

[datasets.visits]
source = "loans.csv"
user = "reader"
items = ["title"]
budget = { epsilon = 8, delta = 1e-4, per = "month", time = "day" }

[analysts.ann.budgets]
loans = { epsilon = 4, delta = 1e-5 }

[analysts.olga]
role = "owner"

[reports.top]
dataset = "visits"
since = "SINCE"
ahead = 2
question = { k = 1, item = "title" }
"""
COST = repeat_step(BoundedRange("0.00001"), 1)  # so little that millions fit


def now() -> datetime:
    return datetime.now(UTC)


def write_service(folder: Path) -> Path:
    """A configuration with a report, and its data."""
    day = now().date() - timedelta(days=40)
    lines = "".join(f"r{reader},Rivers,{day}\n" for reader in range(500))
    (folder / "loans.csv").write_text("reader,title,day\n" + lines)
    (folder / "crestline.toml").write_text(CONFIG.replace("SINCE", f"{day:%Y-%m}"))
    return folder / "crestline.toml"


def lengthen(path: Path, entries: int) -> None:
    """Repeat the last question of a ledger, reserved and settled, until it has this number of entries."""
    with closing(sqlite3.connect(path)) as raw, raw:
        length, head = raw.execute("SELECT length, head FROM crestline_books").fetchone()
        columns = [name for _, name, *_ in raw.execute("PRAGMA table_info(crestline_entries)")]
        newest = raw.execute("SELECT * FROM crestline_entries ORDER BY sequence DESC LIMIT 2").fetchall()[::-1]
        pair = [dict(zip(columns, row, strict=True)) for row in newest]
        number, contents, rows = pair[0]["number"], [json.loads(row["body"]) for row in pair], []
        added = (entries - length) // 2
        for turn in range(added):
            reserved = length + 1
            for row, content in zip(pair, contents, strict=True):
                length += 1
                receipt = None if row["kind"] == "reserved" else reserved
                content |= {"sequence": length, "previous": head, "receipt": receipt}
                if turn == added - 1 and receipt is not None:
                    content[FINGERPRINT] = _charge_accounts(raw, content, added)
                body = canonical_json(content)
                head = entry_hash(body)
                changed = {
                    "sequence": length,
                    "receipt": receipt,
                    "body": body,
                    "hash": head,
                    "number": number + turn + 1,
                }
                rows.append(tuple((row | changed).values()))
            if len(rows) > 20_000 or turn == added - 1:
                raw.executemany(f"INSERT INTO crestline_entries VALUES ({','.join('?' * len(columns))})", rows)
                rows.clear()
        raw.execute("UPDATE crestline_books SET length = ?, head = ?", (length, head))


def _charge_accounts(raw: sqlite3.Connection, settled: dict[str, object], times: int) -> str:
    """Charge what the copied questions cost, and give the fingerprint of all rows then."""
    from fractions import Fraction

    for analyst, charge in zip(("", settled["analyst"]), settled["charge"], strict=True):  # type: ignore[call-overload]
        where = "WHERE dataset = ? AND analyst = ?"
        key = (settled["dataset"], analyst)
        (before,) = raw.execute(f"SELECT settled FROM crestline_accounts {where}", key).fetchone()
        sums = {
            unit: str(Fraction(value) + times * Fraction(charge[unit])) for unit, value in json.loads(before).items()
        }
        written = {unit: value if "/" in value else f"{value}/1" for unit, value in sums.items()}
        raw.execute(f"UPDATE crestline_accounts SET settled = ? {where}", (canonical_json(written), *key))
    rows = raw.execute("SELECT * FROM crestline_accounts").fetchall()
    periods = raw.execute("SELECT * FROM crestline_periods").fetchall()
    hashes = [row_hash(row[:2], row[2:]) for row in rows] + [row_hash(row[:4], row[4:]) for row in periods]
    return fingerprint(sum(hashes) % MODULUS)


def processor_time(action: Callable[[], object]) -> float:
    """Seconds of processor time."""
    start = time.process_time()
    action()
    return time.process_time() - start


def median_time(action: Callable[[], object], rounds: int = 15) -> float:
    """The median over some calls."""
    return statistics.median(processor_time(action) for _ in range(rounds))


def charge(ledger: Ledger, analyst: str | None) -> Callable[[], object]:
    """A function that charges a question and settles it."""
    numbers = iter(range(10**9))

    def run() -> None:
        asked = {"k": 1, "item": ["title"], "number": f"{time.time_ns()} {next(numbers)}"}
        receipt = ledger.reserve(COST, question=asked, data_version="1", analyst=analyst)
        ledger.settle(receipt, COST, answer={"items": [f"item number {place}" for place in range(20)]})

    return run


def ratio_of_charges(one: Callable[[], object], other: Callable[[], object], rounds: int = 200) -> float:
    """How many times the processor time of `other` one takes, in turns."""
    for _ in range(10):
        one(), other()
    pairs = [(processor_time(one), processor_time(other)) for _ in range(rounds)]
    return statistics.median(first for first, _ in pairs) / statistics.median(second for _, second in pairs)


def measure_long(folder: Path, entries: int) -> dict[str, float]:
    """Figures of a ledger with this number of entries; times in seconds."""
    from fastapi.testclient import TestClient

    found: dict[str, float] = {}
    path = write_service(folder)
    state = open_state(load_config(path))
    charge(state.datasets["loans"].ledger, "ann")()
    state.close()
    lengthen(folder / "ledger.db", entries)
    for name in ("first start", "second start"):
        found[name] = processor_time(lambda: open_state(load_config(path)).close())
    arguments = ["report", "due", str(path), "--format", "json"]
    for name in ("report due, first", "report due, again"):
        with redirect_stdout(io.StringIO()):
            found[name] = processor_time(lambda: command(arguments))
    state = open_state(load_config(path))
    with TestClient(create_app(state), base_url="https://testserver") as client:
        token = {"Authorization": f"Bearer {state.tokens.create('olga')}"}
        cookie = client.post("/sign-in", data={"token": token["Authorization"].split()[1]}, follow_redirects=False)
        assert cookie.status_code == 303, cookie.text
        for name, query in (
            ("history", ""),
            ("history, older", f"?before={entries // 2}"),
            ("search, found", "?find=title"),
            ("search, not found", "?find=nothing-like-it"),
        ):
            assert client.get(f"/history{query}").status_code == 200
            found[name] = median_time(lambda query=query: client.get(f"/history{query}"), 5)  # type: ignore[misc]
    empty = Ledger.create(folder / "empty.db", Budget(8, "1e-4"), dataset="loans", analysts={"ann": Budget(4, "1e-5")})
    long = state.datasets["loans"].ledger
    found["charge, times that of an empty ledger"] = ratio_of_charges(charge(long, "ann"), charge(empty, "ann"))
    with (
        Ledger.open(folder / "ledger.db", dataset="loans") as other,
        Ledger.open(folder / "empty.db", dataset="loans") as another,
    ):
        found["charge with two processes, times that of an empty ledger"] = ratio_of_charges(
            _in_turn(charge(long, "ann"), charge(other, "ann")), _in_turn(charge(empty, "ann"), charge(another, "ann"))
        )
    return found


def measure_many(folder: Path, accounts: int) -> dict[str, float]:
    """A charge in a ledger with this number of analysts' accounts, compared with one that has one account."""
    found: dict[str, float] = {}
    budget = Budget(8, "1e-4")
    few = Ledger.create(folder / "few.db", budget, analysts={"ann": Budget(4, "1e-5")})
    names = {"ann": Budget(4, "1e-5"), **{f"analyst {number}": Budget(4, "1e-5") for number in range(accounts - 2)}}
    many: list[Ledger] = []
    found["accounts opened"] = processor_time(
        lambda: many.append(Ledger.create(folder / "many.db", budget, analysts=names))
    )
    found["charge, times that of two accounts"] = ratio_of_charges(charge(many[0], "ann"), charge(few, "ann"))
    with Ledger.open(folder / "many.db") as other, Ledger.open(folder / "few.db") as another:
        found["charge with two processes, times that of two accounts"] = ratio_of_charges(
            _in_turn(charge(many[0], "ann"), charge(other, "ann")), _in_turn(charge(few, "ann"), charge(another, "ann"))
        )
    with closing(Store.open(folder / "many.db", now, 30.0)) as store:
        found["all rows read"] = median_time(lambda: store.database.read(load_rows))
    return found


def _in_turn(*actions: Callable[[], object]) -> Callable[[], object]:
    return lambda: [action() for action in actions]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--accounts", type=int, default=2_000)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as place:
        for name, value in {
            **measure_long(Path(place), given.entries),
            **measure_many(Path(place), given.accounts),
        }.items():
            print(f"{name:60} {value:8.3f}")


if __name__ == "__main__":
    main()
