"""What an import loads, and what no mechanism may use.

Which package may import which is in the contracts of pyproject.toml (`lint-imports`).
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "crestline"


@pytest.mark.engines
def test_the_package_is_quick_to_import() -> None:
    """No heavy dependency is loaded by `import crestline`; the seconds are in benchmarks/startup.py."""
    code = "import sys, crestline; print(' '.join(sys.modules))"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert not loaded & {"numpy", "scipy", "ibis", "duckdb", "sqlalchemy", "flint", "pandas", "rich", "typer", "altair"}


@pytest.mark.engines
def test_help_loads_no_engine() -> None:
    code = "import sys; from crestline.cli.main import run; run(['--help']); print(' '.join(sys.modules))"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert not loaded & {"numpy", "scipy", "ibis", "duckdb", "sqlalchemy", "pandas", "altair", "pyspark", "fastapi"}


def test_no_mechanism_draws_noise_on_its_own() -> None:
    for path in (PACKAGE / "mechanisms").rglob("*.py"):
        text = path.read_text()
        for word in ("np.random", "default_rng", "import random", "os.urandom", "secrets"):
            assert word not in text, f"{path.name} uses {word}"
