"""Generated pages are what the code says, and nothing public is without a page."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import crestline
from crestline import errors
from crestline.cli.main import COMMANDS, GROUPS

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"


@pytest.mark.engines
def test_generated_pages_are_fresh() -> None:
    checked = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "reference.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_every_command_has_its_place() -> None:
    page = (REFERENCE / "cli.md").read_text()
    for module in [*COMMANDS, *GROUPS]:
        assert f"## crestline {module}" in page


def test_every_error_has_its_place() -> None:
    page = (REFERENCE / "errors.md").read_text()
    for name, kind in vars(errors).items():
        if isinstance(kind, type) and issubclass(kind, errors.CrestlineError):
            assert f"## {name}" in page
            assert name in (errors.__doc__ or ""), f"draw {name} in the tree at the top of errors.py"


def test_every_public_name_has_its_place() -> None:
    page = (REFERENCE / "python.md").read_text()
    for name in crestline.__all__:
        assert f"## `cl.{name}`" in page
