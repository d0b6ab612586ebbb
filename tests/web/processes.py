"""The service as real processes on this machine: `crestline serve`, started, killed, told to end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

from crestline.web.access.tokens import Tokens
from crestline.web.schema import open_tables
from crestline.web.settings.reader import load_config
from crestline.web.utc_clock import utc_now
from tests.patience import PATIENCE
from tests.servers import free_port

ROOT = Path(__file__).resolve().parents[2]

DATA = "user,item,country\n" + "".join(f"u{n},{item},DE\n" for n in range(600) for item in ("Rivers", "Bridges"))

CONFIG = """\
ledger = "{ledger}"

[limits]
requests_per_minute = 100000000
{limits}
[datasets.loans]
{source}
user = "user"
items = ["item"]
filters = ["country"]
version = "1"
budget = {{ epsilon = {epsilon}, delta = 1e-3 }}
"""
ANALYST = "\n[analysts.{name}.budgets]\nloans = {{ epsilon = {epsilon}, delta = 1e-3 }}\n"


FILE = 'source = "loans.csv"'


def write_service(
    folder: Path, ledger: str, epsilon: float, analysts: int, *, source: str = FILE, limits: str = ""
) -> dict[str, str]:
    """A folder with data and a configuration in it, and a token for each of some analysts. Each may spend it all.

    `source` and `limits` are lines of the configuration.
    """
    (folder / "loans.csv").write_text(DATA)
    names = [f"analyst{number}" for number in range(analysts)]
    text = CONFIG.format(ledger=ledger, epsilon=epsilon, source=source, limits=limits)
    text += "".join(ANALYST.format(name=name, epsilon=epsilon) for name in names)
    config = folder / "crestline.toml"
    config.write_text(text)
    checked = [sys.executable, "-m", "crestline", "serve", str(config), "--check"]
    subprocess.run(checked, check=True, env=environment(), stdout=subprocess.DEVNULL, timeout=PATIENCE)
    tables = open_tables(load_config(config).ledger)
    tokens = Tokens(tables, utc_now)
    made = {name: tokens.create(name) for name in names}
    tables.close()
    return made


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "src")}


class Server:
    """One process of the service."""

    def __init__(self, config: Path, port: int | None = None, workers: int = 1) -> None:
        self.port = port or free_port()
        self.log = config.parent / f"server-{self.port}.log"
        command = [sys.executable, "-m", "crestline", "serve", str(config), "--port", str(self.port)]
        command += ["--workers", str(workers)]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=environment())

    def wait_until_ready(self) -> None:
        """Return once it answers."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            assert self.process.poll() is None, "the server ended while it started; see its log"
            try:
                connection = HTTPConnection("127.0.0.1", self.port, timeout=10)
                connection.request("GET", "/healthz")
                if connection.getresponse().status == 200:
                    return
            except OSError:
                time.sleep(0.05)
            finally:
                connection.close()
        raise TimeoutError("the server did not start in time")

    def kill(self) -> None:
        """End it without warning."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE)

    def stop(self) -> int:
        """Tell it to end, wait for it, and give its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)


@contextmanager
def serving(config: Path, processes: int = 1) -> Iterator[list[Server]]:
    """So many servers with one configuration, ready; killed afterwards if they still run."""
    servers = [Server(config) for _ in range(processes)]
    try:
        for server in servers:
            server.wait_until_ready()
        yield servers
    finally:
        for server in servers:
            server.kill()
