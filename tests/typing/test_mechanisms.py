"""`cl.mechanisms` is typed for those who use it (wrong.py), and still loads nothing before it is asked for."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import crestline.mechanisms
from crestline.mechanisms.catalogue import CATALOGUE, PARTS

SOURCE = Path(crestline.mechanisms.__file__).resolve().parents[2]


def test_type_checkers_see_the_names_of_the_catalogue() -> None:
    tree = ast.parse(Path(crestline.mechanisms.__file__).read_text())
    seen = {
        alias.asname: f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname
    }
    homes = {line.name: line.module for line in CATALOGUE} | PARTS
    assert seen == {name: f"crestline.mechanisms.{module}.{name}" for name, module in homes.items()}
    assert sorted(dir(crestline.mechanisms)) == sorted(homes)


def test_what_is_written_wrongly_must_be_refused() -> None:
    """mypy reads wrong.py in the gate; without this setting a mistake that is no longer noticed would pass."""
    overrides = tomllib.loads((SOURCE.parent / "pyproject.toml").read_text())["tool"]["mypy"]["overrides"]
    of_wrong = [one for one in overrides if "tests.typing.wrong" in one["module"]]
    assert of_wrong == [{"module": ["tests.typing.wrong"], "enable_error_code": ["misc"], "warn_unused_ignores": True}]
    wrong = (Path(__file__).parent / "wrong.py").read_text()
    assert "type: ignore\n" not in wrong  # each says which mistake it is
    assert wrong.count("# type: ignore[") == 11


@pytest.mark.engines
def test_no_mechanism_is_loaded_before_it_is_asked_for() -> None:
    code = "import sys, crestline.mechanisms; print([name for name in sys.modules if 'mechanisms.' in name])"
    environment = os.environ | {"PYTHONPATH": str(SOURCE)}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert run.stdout.strip() == "[]"
