"""What a question takes, in milliseconds of processor time, side by side with its bare parts: a FastAPI that does
nothing, DuckDB's own statement, two commits. Real HTTP, one client; the server's own processor time is counted."""

from __future__ import annotations

import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.servers import free_port
from tests.web.processes import ROOT, environment, serving

import crestline as cl
from benchmarks.measuring import Row, human
from crestline.access.keys import Keys
from crestline.access.tokens import Tokens
from crestline.config import load_config
from crestline.ledger.ledger import Ledger
from crestline.ledger.receipt import utc_now
from crestline.ledger.storage.store import Store
from crestline.sources.engine.runner import Runner

TITLE = "One question"
ACROSS = ()
SMALL, LARGE = 10**4, 10**6
GOALS = {"paid": 0.018, "kept": 0.120, "stored": 0.003, "top_k": 0.045, "page": 0.010}
PLAIN = """\
select item, count(distinct "user") as users from t where country <> 'x' group by item order by 2 desc, 1 limit 101"""
ENTRIES = 10**4
TICK = 1 / os.sysconf("SC_CLK_TCK")
CONFIG = """\
ledger = "books.db"
[limits]
requests_per_minute = 100000000
{datasets}
[analysts.ann.budgets]
{budgets}
"""
DATASET = """\
[datasets.{name}]
source = "{source}"
{table}
user = "user"
items = ["item"]
filters = ["country"]
version = "1"
keep = {keep}
budget = {{ epsilon = 100000, delta = 1e-3 }}
"""
BARE = """\
import sys
import uvicorn
from fastapi import FastAPI
from fastapi.responses import JSONResponse
from crestline.web.api.schemas import TopRequest
app, body = FastAPI(), {"items": ["item"] * 10, "explanation": "x" * 500}
@app.get("/healthz")
async def healthz() -> dict: return {}
@app.post("/v1/datasets/{name}/top")
async def top(name: str, asked: TopRequest): return JSONResponse(body)
uvicorn.run(app, port=int(sys.argv[1]), log_level="error", access_log=False)
"""


def measure(quick: bool) -> Iterator[Row]:
    times, large = (3, 10**5) if quick else (100, LARGE)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tables(folder, large)
        bare = [fastapi(folder, times), plain(folder / "small.duckdb", times), commits(folder, times)]
        yield from bare
        yield plain(folder / "large.duckdb", max(3, times // 20))
        together = sum(row.median or 0.0 for row in bare)
        yield from service(folder, times, large, together)
        for rows in (2 * SMALL, large if quick else 5 * LARGE):
            yield from top_k(folder, rows, max(3, times // 10) if rows < LARGE else 3)


def words(rows: list[Row]) -> list[str]:
    """Whether each goal was met."""
    found = [(row, row.extra["goal ms"] / 1000) for row in rows if "goal ms" in row.extra and row.median is not None]
    return [
        f"{row.who}: {human(row.median or 0.0)}, {'within' if (row.median or 0.0) <= goal else 'above'} {human(goal)}."
        for row, goal in found
    ]


def tables(folder: Path, large: int) -> None:
    """The same kind of table in two sizes, in DuckDB and in Parquet: Zipf's items, ten rows for each user."""
    for name, rows in (("small", SMALL), ("large", large)):
        table = made(rows)
        pq.write_table(table, folder / f"{name}.parquet")
        with duckdb.connect(str(folder / f"{name}.duckdb")) as connection:
            connection.register("arrow", table)
            connection.execute("create table t as from arrow")


def made(rows: int) -> pa.Table:
    rng = np.random.default_rng(1)
    items = pa.array(np.char.add("item ", (rng.zipf(1.3, rows) % 5000).astype(str)))
    countries = pa.array(np.array(["DE", "FR"])[rng.integers(0, 2, rows)])
    return pa.table({"user": rng.integers(0, max(1, rows // 10), rows), "item": items, "country": countries})


def spent(who: str, seconds: list[float], setting: dict[str, Any], goal: float | None = None, **extra: Any) -> Row:
    """A row of processor time; `goal` in seconds."""
    low, _, high = statistics.quantiles(seconds, n=4) if len(seconds) > 1 else seconds * 3
    wanted = {} if goal is None else {"goal ms": 1000 * goal}
    return Row(who, setting, statistics.median(seconds), low, high, len(seconds), extra={**wanted, **extra})


def of_this_process(work: Callable[[], object], times: int) -> list[float]:
    """Processor seconds of a work, all threads, done so many times after once to warm up."""
    work()
    found = []
    for _ in range(times):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return found


def of_process(number: int) -> float:
    """Processor seconds of another process so far, all its threads."""
    fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK


def of_server(number: int, work: Callable[[int], object], times: int) -> list[float]:
    """The same for a server, in five parts: the clock of another process is coarse, a hundredth of a second."""
    for turn in range(3):
        work(-1 - turn)
    part, found = max(1, times // 5), list[float]()
    for begin in range(0, times, part):
        start = of_process(number)
        for turn in range(begin, begin + part):
            work(turn)
        found.append(max(of_process(number) - start, TICK / 2) / part)
    return found


def plain(path: Path, times: int) -> Row:
    with duckdb.connect(str(path), read_only=True) as connection:
        ((rows,),) = connection.execute("select count(*) from t").fetchall()
        found = of_this_process(lambda: connection.execute(PLAIN).fetchall(), times)
    return spent("DuckDB's own statement", found, {"rows": rows})


def commits(folder: Path, times: int) -> Row:
    """Two commits that wait for the disk, as a reservation and its settlement do."""
    with sqlite3.connect(folder / "bare.db", isolation_level=None) as connection:
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = full")
        connection.execute("create table entries (number integer primary key, content text)")

        def work() -> None:
            for _ in range(2):
                connection.execute("begin immediate")
                connection.execute("insert into entries (content) values (?)", ["x" * 1000])
                connection.execute("commit")

        found = of_this_process(work, times)
        start = time.perf_counter()
        work()
    return spent("two commits to SQLite", found, {}, **{"fsync ms": 500 * (time.perf_counter() - start)})


def fastapi(folder: Path, times: int) -> Row:
    port = free_port()
    script = folder / "bare.py"
    script.write_text(BARE)
    process = subprocess.Popen([sys.executable, str(script), str(port)], env=environment(), cwd=ROOT)
    try:
        client = Client(port, "")
        client.wait()
        return spent("FastAPI without work", of_server(process.pid, lambda turn: client.ask("x", turn), 5 * times), {})
    finally:
        process.kill()
        process.wait()


class Client:
    """One connection to a server."""

    def __init__(self, port: int, token: str) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=60)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def wait(self) -> None:
        for _ in range(600):
            try:
                self.get("/healthz")
                return
            except OSError:
                self.hang_up()
                time.sleep(0.1)
        raise TimeoutError("the server did not start")

    def ask(self, dataset: str, turn: int) -> dict[str, Any]:
        """A question that differs from others by its turn."""
        where = f"country <> 'x{turn}'"
        asked = {"k": 10, "item": "item", "where": where, "epsilon": "0.5", "delta": "1e-9"}
        self._connection.request("POST", f"/v1/datasets/{dataset}/top", json.dumps(asked), self._headers)
        response = self._connection.getresponse()
        body: dict[str, Any] = json.loads(response.read())
        assert response.status == 200, body
        return body

    def get(self, path: str, cookie: str = "") -> bytes:
        self._connection.request("GET", path, headers={**self._headers, "Cookie": cookie})
        response = self._connection.getresponse()
        content = response.read()
        assert response.status == 200, (path, response.status)
        return content

    def page(self, path: str, cookie: str, turn: int) -> bytes:
        return self.get(path, cookie)

    def hang_up(self) -> None:
        """The next request opens another connection."""
        self._connection.close()

    def sign_in(self, token: str) -> str:
        """The cookie of a session."""
        body = f"token={token}"
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Origin": self._origin}
        self._connection.request("POST", "/sign-in", body, headers)
        response = self._connection.getresponse()
        response.read()
        cookie = response.getheader("Set-Cookie") or ""
        assert cookie, f"no session: {response.status}"
        return cookie.partition(";")[0]

    @property
    def _origin(self) -> str:
        return f"http://127.0.0.1:{self._connection.port}"


def configured(folder: Path) -> tuple[Path, str]:
    """A service of three data sets, and a token for an analyst who may spend what they like."""
    sources = {
        "small": ("duckdb:///{}/small.duckdb", 'table = "t"', "false"),
        "parquet": ("small.parquet", "", "false"),
        "kept": ("duckdb:///{}/large.duckdb", 'table = "t"', "true"),
    }
    datasets = "".join(
        DATASET.format(name=name, source=source.format(folder), table=table, keep=keep)
        for name, (source, table, keep) in sources.items()
    )
    budgets = "\n".join(f"{name} = {{ epsilon = 100000, delta = 1e-3 }}" for name in sources)
    config = folder / "crestline.toml"
    config.write_text(CONFIG.format(datasets=datasets, budgets=budgets))
    checked = [sys.executable, "-m", "crestline", "serve", str(config), "--check"]
    subprocess.run(checked, check=True, env=environment(), stdout=subprocess.DEVNULL)
    loaded = load_config(config)
    with closing(Store.open(loaded.ledger, utc_now, 30.0)) as store:
        token = Tokens(store, Keys.read_or_create(loaded.key_file, store)).create("ann")
    return config, token


def service(folder: Path, times: int, large: int, bare: float) -> Iterator[Row]:
    config, token = configured(folder)
    with serving(config, command=True) as (server,):
        client, number = Client(server.port, token), server.process.pid
        client.wait()
        small = {"rows": SMALL}
        for name, kind in (("small", "DuckDB"), ("parquet", "Parquet")):
            found = of_server(number, partial(client.ask, name), times)
            yield spent(f"a paid question, {kind}", found, small, GOALS["paid"], **{"bare parts ms": 1000 * bare})
        kept = of_server(number, lambda turn: client.ask("kept", turn), max(10, times // 5))
        yield spent("a paid question, keep = true", kept, {"rows": large}, GOALS["kept"])
        again = of_server(number, lambda turn: client.ask("small", 0), 5 * times)
        yield spent("a stored answer", again, small, GOALS["stored"])
        filled(folder / "books.db", ENTRIES if times > 10 else 100)
        client.hang_up()  # the server has meanwhile
        cookie = client.sign_in(token)
        for page in ("/history", "/budget"):
            found = of_server(number, partial(client.page, page, cookie), 3 * times)
            yield spent(f"the page {page}", found, {"entries": ENTRIES}, GOALS["page"])
        server.stop()


def filled(ledger: Path, entries: int) -> None:
    """More entries like the last ones, as if somebody had asked all the time."""
    with Ledger.open(ledger, dataset="small") as books:
        settled = [entry for entry in books.history() if entry.kind == "settled"][-1]
        reserved = next(entry for entry in books.history() if entry.sequence == settled.receipt)
        cost = cl.mechanisms.Sieve(10, "0.5", "1e-9").cost()
        while len(books.history(entries)) < entries:
            for _ in range(250):
                turn = {**reserved.content["question"], "where": f"country <> '{os.urandom(8).hex()}'"}
                receipt = books.reserve(cost, question=turn, data_version="1", analyst="ann", mechanism="Sieve")
                books.settle(receipt, cost, answer=settled.content["answer"])


@contextmanager
def inside() -> Iterator[list[float]]:
    """Adds up the processor time that is spent in an engine's statements."""
    found, original = [0.0], Runner._translate_errors

    def counted(self: Runner, *asked: Any) -> Any:
        start = time.process_time()
        try:
            return original(self, *asked)
        finally:
            found[0] += time.process_time() - start

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Runner, "_translate_errors", counted)
        yield found


def top_k(folder: Path, rows: int, times: int) -> Iterator[Row]:
    """`cl.top_k` in a warm process: all of it, and what is not spent in the engine's statements."""
    path = folder / f"{rows}.parquet"
    pq.write_table(made(rows), path)
    asked: dict[str, Any] = {"cl.top_k, one pass": {"passes": 1}, "cl.top_k": {}}
    for who, options in asked.items():
        with inside() as engine:
            work = partial(cl.top_k, path, user="user", item="item", k=10, epsilon=1, delta=1e-8, **options)
            work()
            whole, beyond = [], []
            for _ in range(times):
                engine[0], start = 0.0, time.process_time()
                work()
                whole.append(time.process_time() - start)
                beyond.append(whole[-1] - engine[0])
        yield spent(f"{who}, all of it", whole, {"rows": rows})
        yield spent(f"{who}, beyond the engine's statements", beyond, {"rows": rows}, GOALS["top_k"])
