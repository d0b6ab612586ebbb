"""Places in a statement where a value will stand.

A place is a text that nobody outside this process can know, so no value of a question is ever taken for one. An
expression is built with places as with any other text; in the tree of the statement that Ibis makes of it, never in its
text, each place becomes a parameter. So the statement depends on no value, and is written once.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from typing import TypeAlias

Values: TypeAlias = Mapping[str, str]  # what stands in each place
NOTHING: Values = {}

_SECRET = secrets.token_hex(16)
KEY = hashlib.sha256(f"key {_SECRET}".encode()).digest()
"""Stands for the key of a release while an expression is built."""


def bind_parameter(number: int) -> str:
    """The place of a text in a filter."""
    return f"text {number} {_SECRET}"
