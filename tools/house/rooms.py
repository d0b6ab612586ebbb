"""The rules of the import test (tests/test_imports.py), and whether every module has one that can fail."""

from __future__ import annotations

from pathlib import Path


def silent_cases(source: Path) -> list[str]:
    """Modules of rooms without a rule, or with one that allows every other room."""
    from tests.test_imports import ALWAYS, MAY_IMPORT, room

    found = sorted(path for path in source.rglob("*.py"))
    rooms = {room(path) for path in found}
    return [
        str(path.relative_to(source))
        for path in found
        for own in [room(path)]
        if own not in MAY_IMPORT or not rooms - MAY_IMPORT[own] - ALWAYS - {own}
    ]
