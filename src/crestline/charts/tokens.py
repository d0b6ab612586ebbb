"""Colours, fonts and sizes of every chart. The style sheet of the service has the same colours."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import TypedDict


class Tokens(TypedDict):
    """Colours by role for a light and a dark page, fonts, and sizes in pixels."""

    light: dict[str, str]
    dark: dict[str, str]
    font: dict[str, str]
    size: dict[str, float]


@cache
def tokens() -> Tokens:
    """The tokens of `tokens.json`."""
    text = (files("crestline.charts") / "tokens.json").read_text(encoding="utf-8")
    found: Tokens = json.loads(text)
    return found
