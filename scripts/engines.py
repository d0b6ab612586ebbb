"""Run the tests of every engine, and write down what passed: `crestline sources` prints it.

    python scripts/engines.py                        all engines
    python scripts/engines.py sqlite                 one of them, or some; the others stay as they were written
    python scripts/engines.py --report report.xml    what a run of all tests has reported, without another run:
                                                     PYTEST_ADDOPTS=--junitxml=report.xml scripts/check --all

A failing test leaves the record as it was. tests/sources/test_record.py holds engines and gaps against the record.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import TypeAlias

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.sources.gaps import GAPS  # noqa: E402 -- the tests are not in the package's path

from crestline.sources.engine.dialects.engine_record import RECORD  # noqa: E402 -- the tests are not in the package's path


def printed(*command: str) -> str:
    """The version in what a program prints of itself."""
    words = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return next(word for word in words if word[0].isdigit()).split("-")[0]


def postgres() -> str:
    from tests.servers import postgres_programs

    return printed(str(postgres_programs() / "postgres"), "--version")


def sqlite() -> str:
    import sqlite3

    return sqlite3.sqlite_version


def clickhouse() -> str:
    from chdb import engine_version

    return str(engine_version)


Counted: TypeAlias = tuple[int, int]  # passed, and failed as they must

ENGINES: dict[str, tuple[str, Callable[[], str]]] = {
    "duckdb": ("test_duckdb.py", lambda: version("duckdb")),
    "embedded": ("test_embedded.py", lambda: version("duckdb")),
    "postgres": ("test_postgres.py", postgres),
    "mariadb": ("test_mariadb.py", lambda: printed("mariadbd", "--version")),
    "sqlite": ("test_sqlite.py", sqlite),
    "clickhouse": ("test_clickhouse.py", clickhouse),
    "datafusion": ("test_datafusion.py", lambda: version("datafusion")),
    "pyspark": ("test_spark.py", lambda: version("pyspark")),
}


def run(file: str) -> Counted:
    """Run the tests of a file."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-n", "0", f"--junitxml={report}", f"tests/sources/{file}"]
        subprocess.run(command, cwd=ROOT, env={**os.environ, "CI": "true"})
        return counted(report, file)


def counted(report: Path, file: str) -> Counted:
    """How many tests of a file passed, and how many failed as they must; ends where one failed, or none was run."""
    module = f"tests.sources.{Path(file).stem}"
    cases = [case for case in ElementTree.parse(report).iter("testcase") if _of(case, module)]
    if not cases or any(case.find(kind) is not None for case in cases for kind in ("failure", "error")):
        sys.exit(f"{file}: not all tests passed; nothing was written")
    skipped = [case.find("skipped") for case in cases]
    missing = sum(one is not None and one.get("type") == "pytest.xfail" for one in skipped)
    return sum(one is None for one in skipped), missing


def _of(case: ElementTree.Element, module: str) -> bool:
    return f"{case.get('classname')}.".startswith(f"{module}.")


def main(names: list[str]) -> None:
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    report = Path(names[1]) if names[:1] == ["--report"] else None
    for name in names if names and report is None else ENGINES:
        file, told = ENGINES[name]
        passed, missing = run(file) if report is None else counted(report, file)
        record[name] = {"version": told(), "passed": passed, "missing": missing, "gaps": list(GAPS[name])}
        RECORD.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
