"""The service as real processes on this machine: `crestline serve`, started, killed, told to end.

They are forked from a process that has imported the service (`forking`), because the imports take longer than most
tests. A server of several workers, and one that is started by the `command`, is what people start.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, redirect_stdout
from http.client import HTTPConnection
from io import StringIO
from pathlib import Path

from crestline.access.keys import Keys
from crestline.access.tokens import Tokens
from crestline.cli.main import run
from crestline.config import load_config
from crestline.ledger.receipt import utc_now
from crestline.ledger.storage.store import Store
from tests.patience import PATIENCE
from tests.servers import free_port
from tests.web.forking import Forked

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
    with redirect_stdout(StringIO()):
        assert run(["serve", str(config), "--check"]) == 0
    with tokens_of_config(config) as tokens:
        return {name: tokens.create(name) for name in names}


@contextmanager
def tokens_of_config(config: Path) -> Iterator[Tokens]:
    """The tokens of a service that does not run in this process."""
    loaded = load_config(config)
    with closing(Store.open(loaded.ledger, utc_now, 30.0)) as store:
        yield Tokens(store, Keys.read_or_create(loaded.key_file, store))


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "src")}


class Server:
    """One process of the service."""

    process: subprocess.Popen[bytes] | Forked

    def __init__(self, config: Path, workers: int = 1, *, command: bool = False) -> None:
        self.port = free_port()
        self.log = config.parent / f"server-{self.port}.log"
        arguments = ["serve", str(config), "--port", str(self.port), "--workers", str(workers)]
        if workers == 1 and not command:
            self.process = Forked(arguments, self.log)
            return
        with self.log.open("ab") as log:
            started = [sys.executable, "-m", "crestline", *arguments]
            self.process = subprocess.Popen(started, stdout=log, stderr=log, env=environment())

    def wait_until_ready(self) -> None:
        """Return once it answers."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            assert self.process.poll() is None, self.log.read_text()
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
def serving(config: Path, processes: int = 1, *, command: bool = False) -> Iterator[list[Server]]:
    """So many servers with one configuration, ready; killed afterwards if they still run."""
    servers = [Server(config, command=command) for _ in range(processes)]
    try:
        for server in servers:
            server.wait_until_ready()
        yield servers
    finally:
        for server in servers:
            server.kill()
