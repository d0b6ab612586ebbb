"""How every mechanism of the catalogue is made, and what it makes of a few totals: names, order, defaults and tuning.

A changed number here breaks no promise, but it changes answers or what callers write. Whoever means it writes the file
anew (`python -m tests.mechanisms.test_vectors`), and reads the difference.
"""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any

import pytest

from crestline import mechanisms
from crestline.errors import CrestlineError
from crestline.mechanisms.catalogue import CATALOGUE, PARTS
from crestline.mechanisms.in_groups import InGroups

FILE = Path(__file__).resolve().parents[1] / "vectors" / "made.json"
TOTALS: dict[str, dict[str, Any]] = {
    "one": {"k": 1, "epsilon": "0.5", "delta": "1e-6"},
    "some": {"k": 4, "epsilon": 1, "delta": "1e-8"},
    "bounded": {"k": 3, "epsilon": 1, "delta": "1e-6", "contribution": 2},
    "many": {"k": 30, "epsilon": "0.2", "delta": "1e-9"},
}


# Numbers are written with seven digits: further ones may depend on the libraries that a search uses.
_FRACTION = re.compile(r"Fraction\((\d+), (\d+)\)")


def _written(fraction: re.Match[str]) -> str:
    return f"{int(fraction[1]) / int(fraction[2]):.7g}"


def made(name: str) -> dict[str, str]:
    """The signature of a mechanism, and what it is within each total, or why it is not."""
    kind: Any = InGroups if name == "InGroups" else getattr(mechanisms, name)
    said = {"made by": str(inspect.signature(kind))}
    for total, given in TOTALS.items() if hasattr(kind, "for_budget") else ():
        try:
            said[total] = _FRACTION.sub(_written, repr(kind.for_budget(**given)))
        except (CrestlineError, TypeError) as refused:
            said[total] = type(refused).__name__
    return said


NAMES = [*(line.name for line in CATALOGUE), *PARTS, "InGroups"]


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_a_mechanism_is_made_as_it_was(name: str) -> None:
    assert made(name) == json.loads(FILE.read_text(encoding="utf-8"))[name]


if __name__ == "__main__":
    text = json.dumps({name: made(name) for name in NAMES}, indent=1, ensure_ascii=False)
    FILE.write_text(text + "\n", encoding="utf-8")
