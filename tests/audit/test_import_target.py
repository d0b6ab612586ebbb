"""MODULE:OBJECT names an object, or what makes one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crestline.audit.import_target import load
from crestline.errors import MechanismError

CODE = """
from dataclasses import dataclass
import crestline as cl

@dataclass
class Mine:
    k: int = 1
    def guarantee(self):
        return cl.PureDP(1)
    def release(self, histogram, entropy):
        return cl.Selection((), True)

class Needy(Mine):
    def __init__(self, k):
        self.k = k

class Space:
    thing = Mine(3)

def factory():
    return Mine(5)

ready = Mine(7)
number = 12
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("sys.path", ["/nowhere"])
    (tmp_path / f"mine_{tmp_path.name}.py").write_text(CODE)
    return tmp_path


@pytest.mark.parametrize(("name", "k"), [("Mine", 1), ("Space.thing", 3), ("factory", 5), ("ready", 7)])
@pytest.mark.parametrize("suffix", ["", ".py"])
def test_objects_classes_and_functions(folder: Path, name: str, k: int, suffix: str) -> None:
    loaded: Any = load(f"mine_{folder.name}{suffix}:{name}", folder)
    assert loaded.k == k


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("no-colon", "MODULE:OBJECT"),
        ("nowhere_at_all:X", "could not be imported"),
        ("missing.py:X", "there is no file"),
        ("mine:Absent", "has no 'Absent'"),
        ("mine:Needy", "without arguments"),
        ("mine:number", "has no guarantee"),
    ],
)
def test_what_cannot_be_loaded_is_said(folder: Path, target: str, words: str) -> None:
    with pytest.raises(MechanismError, match=words):
        load(target.replace("mine:", f"mine_{folder.name}:"), folder)
