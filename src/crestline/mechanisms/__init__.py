"""Stage 3: histogram in, selection out. One mechanism, one module; none of them samples noise on its own."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    """`cl.mechanisms.LimitedDomain` and its like, loaded when they are first asked for."""
    from importlib import import_module

    from crestline.mechanisms.catalogue import CATALOGUE, PARTS

    for line in CATALOGUE:
        if line.name == name:
            return line.load()
    if name in PARTS:
        return getattr(import_module(f"crestline.mechanisms.{PARTS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    from crestline.mechanisms.catalogue import CATALOGUE, PARTS

    return [*(line.name for line in CATALOGUE), *PARTS]
