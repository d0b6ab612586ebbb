"""The pages about the service are true: their configuration is served, their `curl` commands run against it, and their
backups are taken and restored. Hosts and folders of the pages are replaced by those of the test; nothing else is.

Under a command stands what it prints; `…` stands for anything.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from tests.patience import PATIENCE
from tests.web.processes import Server, environment, serving

pytestmark = pytest.mark.engines

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference" / "service.md"
DEPLOY = ROOT / "docs" / "how-to" / "deploy.md"


def fences(page: Path, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}(?: no-run)?\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


def commands(page: Path, word: str) -> list[tuple[str, str]]:
    """Every command of a page that holds a word, with what stands under it."""
    found = []
    for fence in fences(page, "console"):
        for part in re.split(r"^\$ ", fence, flags=re.MULTILINE)[1:]:
            command, shown = re.fullmatch(r"((?:[^\n]*\\\n)*[^\n]*\n?)(.*)", part, re.DOTALL).groups()  # type: ignore[union-attr] # it always matches
            if word in command:
                found.append((command.strip(), shown.strip()))
    return found


def write_page_service(folder: Path) -> Path:
    """The configuration of the reference page on a file (so without its `table`), and data like those it speaks of."""
    import duckdb

    (text,) = fences(REFERENCE, "toml")
    config = folder / "crestline.toml"
    config.write_text("".join(line for line in text.splitlines(True) if not line.startswith("table")))
    with duckdb.connect() as connection:
        rows = "select 'r' || n as reader, t as title, 'x' as genre, 'DE' as country from range(4000) a(n)"
        titles = "(values ('Rivers', 4000), ('Bridges', 3000)) b(t, most)"
        target = str(folder / "loans.parquet").replace("'", "''")
        connection.execute(f"copy ({rows}, {titles} where n < most) to '{target}' (format parquet)")
    return config


def run(command: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """A command line of a page, with `crestline` being this checkout's."""
    program = folder / "bin" / "crestline"
    if not program.exists():
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -m crestline "$@"\n')
        program.chmod(0o755)
    path = f"{program.parent}:{os.environ['PATH']}"
    known = {**environment(), "PATH": path, **variables}
    return subprocess.run(
        ["bash", "-c", command], cwd=folder, env=known, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Path, str]]:
    """A real server of the page's configuration, its folder, and ann's token, made as the page says."""
    folder = tmp_path_factory.mktemp("served")
    config = write_page_service(folder)
    created = run("crestline token create crestline.toml ann", folder)
    assert created.returncode == 0, created.stderr
    with serving(config) as (server,):
        yield server, folder, created.stdout.strip()


CURL = [(page, *found) for page in (REFERENCE, DEPLOY) for found in commands(page, "curl")]


def test_both_pages_show_curl() -> None:
    assert len([page for page, _, _ in CURL if page == REFERENCE]) >= 5
    assert len([page for page, _, _ in CURL if page == DEPLOY]) >= 2


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_curl_commands_print_what_the_pages_show(served: tuple[Server, Path, str]) -> None:
    server, folder, token = served
    here = f"http://127.0.0.1:{server.port}"
    for page, command, shown in CURL:
        local = command.replace("https://top.example.org", here).replace("http://127.0.0.1:8000", here)
        done = run(local, folder, TOKEN=token, NO_PROXY="127.0.0.1", no_proxy="127.0.0.1")
        where = f"{page.name}: {command}\nprinted {done.stdout}{done.stderr}"
        assert done.returncode == 0, where
        pattern = ".*".join(re.escape(part) for part in shown.split("…"))
        assert re.fullmatch(pattern, done.stdout.strip(), re.DOTALL), where


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_the_unit_is_one(tmp_path: Path) -> None:
    (text,) = fences(DEPLOY, "ini")
    unit = tmp_path / "crestline.service"
    unit.write_text(text.replace("/opt/crestline/bin/crestline", sys.executable))
    checked = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert (checked.returncode, checked.stderr) == (0, "")


def checksum(folder: Path, address: str) -> str:
    shown = run(f"crestline ledger show '{address}' --format json", folder)
    assert shown.returncode == 0, shown.stderr
    return str(json.loads(shown.stdout)["checksum"])


def local(command: str, folder: Path) -> str:
    moved = command.replace("/var/lib/crestline/", f"{folder}/").replace("/backup/", f"{folder}/backup/")
    return moved.replace("/etc/crestline/", f"{folder}/").partition("    #")[0]


def verifies(folder: Path, address: str, kept: str) -> bool:
    return run(f"crestline ledger verify '{address}' --checksum {kept}", folder).returncode == 0


@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="the sqlite3 command is not installed")
def test_a_backup_of_a_file_is_taken_while_it_is_served_and_restored(served: tuple[Server, Path, str]) -> None:
    server, folder, token = served
    (folder / "backup").mkdir()
    books = folder / "ledger.db"
    url = f"http://127.0.0.1:{server.port}/v1/datasets/loans/top"

    def ask(k: int) -> bool:
        asked = Request(url, json.dumps({"k": k, "item": "title"}).encode(), {"Authorization": f"Bearer {token}"})
        asked.add_header("Content-Type", "application/json")
        with urlopen(asked, timeout=PATIENCE) as response:
            return bool(response.status == 200)

    assert ask(3)
    before = checksum(folder, str(books))
    ((backup, _),) = commands(DEPLOY, ".backup")
    assert run(local(backup, folder), folder).returncode == 0
    assert ask(4)  # said after the backup was taken
    after = checksum(folder, str(books))
    copy = folder / "restored"
    copy.mkdir()
    for name in ("ledger.db", "ledger.db-wal", "crestline.toml", "crestline.key", "loans.parquet"):
        shutil.copy(folder / name, copy / name)
    ((restore, _),) = commands(DEPLOY, "rm -f /var/lib/crestline/ledger.db")
    restored = run(local(restore, folder).replace(f"{folder}/ledger.db", f"{copy}/ledger.db"), folder)
    assert restored.returncode == 0, restored.stderr
    assert verifies(folder, str(copy / "ledger.db"), before)
    assert not verifies(folder, str(copy / "ledger.db"), after)  # what was said since is not in it, and it shows
    assert run(f"crestline serve {copy}/crestline.toml --check", folder).returncode == 0


def test_a_backup_of_a_database_is_restored(tmp_path: Path, postgres_url: str, postgres_database: str) -> None:
    """With the programs that came with the server: those of another version may not read it."""
    from tests.servers import empty_database, postgres_programs

    from crestline.ledger.budget import Budget
    from crestline.ledger.ledger import Ledger

    (tmp_path / "backup").mkdir()
    with Ledger.create(postgres_database, Budget(epsilon=2, delta="1e-7"), dataset="loans"):
        kept = checksum(tmp_path, postgres_database)
    with empty_database(postgres_url) as fresh:
        for word, address in (("pg_dump", postgres_database), ("pg_restore", fresh)):
            ((command, _),) = commands(DEPLOY, word)
            there = local(command, tmp_path).replace("postgresql:///ledger", address)
            done = run(f"PATH={postgres_programs()}:$PATH; {there}", tmp_path)
            assert done.returncode == 0, done.stderr
        assert verifies(tmp_path, fresh, kept)
        with Ledger.open(fresh) as books:
            assert books.datasets == ["loans"]
