"""Ball arithmetic has one precision for the whole process: one module sets it, and threads take turns."""

from __future__ import annotations

import ast
from fractions import Fraction
from pathlib import Path
from threading import Thread
from typing import Any

import flint
import numpy as np
import pytest

from crestline import precision as place
from crestline.precision import current_bits, precision
from crestline.randomness import compare as comparison
from crestline.randomness import sparse_uniforms
from crestline.randomness.entropy import replay
from crestline.randomness.keys import Keys, build_keys
from crestline.randomness.laws import LAPLACE
from crestline.randomness.scores import LinearScores

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "crestline"


def taken_by_somebody() -> bool:
    """Whether another thread would have to wait."""
    found: list[bool] = []

    def look() -> None:
        free = place._TURN.acquire(blocking=False)
        found.append(not free)
        if free:
            place._TURN.release()

    thread = Thread(target=look)
    thread.start()
    thread.join()
    return found[0]


@pytest.mark.long
def test_the_precision_is_set_in_one_module_only() -> None:
    """Any module that imports the library's context can change it, so only `precision` may."""
    having = []
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import) and any(alias.name.split(".")[0] == "flint" for alias in node.names):
                having.append(path.name)
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "flint":
                having += [path.name for alias in node.names if alias.name in ("ctx", "*", "flint_base")]
    assert having == ["precision.py"]


def test_others_wait_and_find_what_was_there_before() -> None:
    before = flint.ctx.prec
    with precision(333):
        assert current_bits() == 333
        assert taken_by_somebody()
        with precision(444):
            assert flint.ctx.prec == 444
        assert flint.ctx.prec == 333
    assert flint.ctx.prec == before
    assert not taken_by_somebody()


def table() -> Keys:
    return build_keys(LinearScores(np.array([3, 5]), Fraction(1)), LAPLACE, replay("turns").uniforms(1, 2))


def test_keys_take_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []
    law = type(LAPLACE).ball

    def watched(self: Any, arrival: Any) -> Any:
        seen.append(taken_by_somebody())
        return law(self, arrival)

    monkeypatch.setattr(type(LAPLACE), "ball", watched)
    table().ball(0, 0, 64)
    comparison._nearest_multiple(table(), 0, 1, Fraction(1))
    assert seen
    assert all(seen)


def test_sparse_draws_take_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    uniforms = replay("gaps").uniforms(1, 2)
    seen: list[bool] = []
    ball = uniforms.ball

    def watched(index: int, bits: int) -> Any:
        seen.append(taken_by_somebody())
        return ball(index, bits)

    monkeypatch.setattr(uniforms, "ball", watched)
    sparse_uniforms._skip_length_exactly(uniforms, 0, 2, 100)
    assert seen
    assert all(seen)
