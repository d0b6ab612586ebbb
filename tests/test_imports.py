"""Imports point inwards: the core knows no edge, and every room knows what it may touch."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "crestline"

# What each room may import from. A room may always import from itself, `errors`, `fields`, `parameters`, `precision`.
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "exact_fields": set(),
    "exact_numbers": set(),
    "precision": set(),
    "periods": set(),
    "score": set(),
    # The protocol of mechanisms, for the type of a field, and the kinds of view that a source may give.
    "question": {"histogram", "mechanisms", "periods", "score"},
    "histogram": set(),
    "randomness": set(),
    "guarantees": set(),
    "mechanisms": {"histogram", "randomness", "guarantees"},
    # Only the protocol of entropy, for fresh keys, and what a selection is, which a reading brings back to its names.
    "sources": {"histogram", "question", "randomness", "mechanisms", "periods"},
    "ledger": {"guarantees", "periods"},
    "pictures": set(),
    "examples": set(),
    "answer": {"histogram", "guarantees", "periods", "question", "pictures"},
    "prepare": {"answer", "histogram", "mechanisms", "guarantees", "ledger", "periods", "question", "__init__"},
    "answer_key": {"prepare", "ledger", "question", "randomness", "sources"},
    "payment": {"answer", "guarantees", "answer_key", "ledger", "prepare"},
    "ask": {"answer", "payment", "answer_key", "ledger", "mechanisms", "prepare", "randomness", "sources"},
    "audit": {"histogram", "mechanisms", "randomness", "guarantees", "pictures"},
}
# Faces may use everything of the core. Nothing of the core uses a face, and nothing uses the command line.
CORE = {
    "answer",
    "ask",
    "payment",
    "guarantees",
    "histogram",
    "answer_key",
    "ledger",
    "mechanisms",
    "periods",
    "prepare",
    "question",
    "randomness",
    "score",
    "sources",
}
MAY_IMPORT |= {
    "plan": CORE - {"ask", "payment", "answer_key", "ledger"} | {"pictures"},
    "price": CORE - {"ask", "payment", "answer_key", "sources"},
    "reports": CORE - {"payment", "answer_key", "mechanisms"},
    "session": CORE | {"price", "reports"},
    "web": CORE | {"plan", "price", "reports", "__init__"},
    "cli": CORE | {"reports", "session", "audit", "examples", "pictures", "plan", "price", "web", "__init__"},
    "__main__": {"cli"},
    "__init__": CORE - {"ask", "answer_key"} | {"examples", "session"},  # the public names
}
ALWAYS = {"errors", "exact_fields", "exact_numbers", "precision"}


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    """The rooms a module imports from, wherever in it; a name of the package itself is from `__init__`."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "crestline":
            parts = node.module.split(".")
            names = [parts[1]] if len(parts) > 1 else [alias.name for alias in node.names]
            found |= {name if name in ROOMS else "__init__" for name in names}
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("crestline.")}
    return found


MODULES = sorted(PACKAGE.rglob("*.py"))
ROOMS = {room(path) for path in MODULES}


def test_every_room_has_a_line_and_no_line_is_left_over() -> None:
    assert set(MAY_IMPORT) == ROOMS
    assert {name for allowed in MAY_IMPORT.values() for name in allowed} | ALWAYS <= ROOMS


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_inwards(path: Path) -> None:
    own = room(path)
    extra = imported_rooms(path) - MAY_IMPORT[own] - ALWAYS - {own}
    assert not extra, f"{own} must not import {sorted(extra)}"


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
