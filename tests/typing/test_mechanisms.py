"""`cl.mechanisms` is typed for those who use it, and still loads nothing before it is asked for."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from mypy import api

import crestline.mechanisms
from crestline.mechanisms.catalogue import CATALOGUE, PARTS

SOURCE = Path(crestline.mechanisms.__file__).resolve().parents[2]

GOOD = """
from fractions import Fraction
import crestline as cl
mechanism = cl.mechanisms.LimitedDomain(k=2, k_bar=4, epsilon="0.5", delta=1e-6)
print(mechanism.margin(0.95), cl.mechanisms.NoisyCounts(mechanism, scale=3).k)
half: Fraction = cl.mechanisms.Canonical.for_budget(k=1, epsilon=1, delta=0, gamma="0.5").gamma
"""
BAD = """
import crestline as cl
cl.mechanisms.LimitedDomain(k="two", nonsense=3)
cl.mechanisms.NoSuchMechanism()
cl.mechanisms.TopStable(2, 4, 1, "1e-6", inner=cl.mechanisms.Lipschitz)
cl.no_such_name()
cl.mechanisms.Canonical.for_budget(k=1, epsilon=1, delta=0, gama=1)
cl.mechanisms.LimitedDomain(2, 4, 1).k = 3
"""


def _checked(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    written = folder / "example.py"
    written.write_text(text)
    monkeypatch.setenv("MYPYPATH", str(SOURCE))
    options = ["--strict", "--config-file=", "--cache-dir", str(folder / "cache"), "--follow-imports=silent"]
    said, failed, _ = api.run([*options, str(written)])
    assert not failed
    return said


def test_what_is_written_wrongly_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = _checked(BAD, tmp_path, monkeypatch)
    assert 'Unexpected keyword argument "nonsense" for "LimitedDomain"' in said
    assert 'Argument "k" to "LimitedDomain" has incompatible type "str"; expected "int"' in said
    assert 'has no attribute "NoSuchMechanism"' in said
    assert 'Argument "inner" to "TopStable" has incompatible type' in said
    assert 'has no attribute "no_such_name"' in said
    assert 'Unexpected keyword argument "gama" for "for_budget" of "Canonical"' in said
    assert 'Missing positional argument "delta" in call to "LimitedDomain"' in said
    assert 'Property "k" defined in "LimitedDomain" is read-only' in said
    assert "Success" in _checked(GOOD, tmp_path, monkeypatch)


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


def test_no_mechanism_is_loaded_before_it_is_asked_for() -> None:
    code = "import sys, crestline.mechanisms; print([name for name in sys.modules if 'mechanisms.' in name])"
    environment = os.environ | {"PYTHONPATH": str(SOURCE)}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert run.stdout.strip() == "[]"
