"""Commands in an installation without extras: they run, or say which extra they need."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.patience import PATIENCE
from tests.web.processes import environment

pytestmark = [pytest.mark.engines, pytest.mark.slow]

# Top-level modules of the packages that only extras install, and of what these need.
MISSING = (
    *("fastapi", "starlette", "uvicorn", "anyio", "prometheus_client", "psycopg", "pyspark", "MySQLdb", "datafusion"),
    *("clickhouse_connect", "s3fs", "aiohttp", "deltalake", "pyiceberg", "altair", "vl_convert", "pandas", "polars"),
)
RUN = """
import json, sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in json.loads(sys.argv[1]):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from crestline.cli.main import run
codes = [run(command) for command in json.loads(sys.argv[2])]
print(json.dumps([codes, sorted(name for name in sys.modules if name.startswith("crestline.web"))]))
"""
CONFIG = """
ledger = "ledger.db"

[datasets.loans]
source = "loans.csv"
user = "reader"
items = ["title"]
budget = { epsilon = 8, delta = 1e-4, per = "month", time = "day" }

[analysts.ann.budgets]
loans = { epsilon = 4, delta = 1e-5, per = "month", time = "day" }

[reports.weekly]
dataset = "loans"
every = "month"
since = "2026-09"
folder = "published"
question = { k = 1, item = "title", epsilon = 1, delta = 1e-6 }
"""


def run_without_extras(*commands: list[str]) -> tuple[list[int], list[str], str]:
    """The exit codes, the modules of the service that were imported, and what was printed."""
    started = [sys.executable, "-c", RUN, json.dumps(MISSING), json.dumps(commands)]
    ended = subprocess.run(started, capture_output=True, text=True, timeout=PATIENCE, check=False, env=environment())
    assert ended.returncode == 0, ended.stderr
    codes, modules = json.loads(ended.stdout.splitlines()[-1])
    return codes, modules, ended.stdout + ended.stderr


@pytest.fixture
def config(tmp_path: Path) -> str:
    rows = ["reader,title,day", *(f"r{reader},Rivers,2026-09-05" for reader in range(2000))]
    (tmp_path / "loans.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "crestline.toml").write_text(CONFIG)
    return str(tmp_path / "crestline.toml")


def test_reports_and_tokens_import_nothing_of_the_service(config: str) -> None:
    codes, modules, said = run_without_extras(
        ["report", "due", config], ["token", "create", config, "ann"], ["token", "list", config]
    )
    assert (codes, modules) == ([0, 0, 0], []), said
    assert (Path(config).parent / "published" / "weekly.csv").exists()


def test_a_configuration_is_checked_and_to_serve_it_names_the_extra(config: str) -> None:
    codes, _, said = run_without_extras(["serve", config, "--check"], ["serve", config])
    assert codes == [0, 2], said
    assert "pip install 'crestline[service]'" in said
