"""The look, the script and the icon: files beside this module, read once."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

KINDS = {"style.css": "text/css", "script.js": "text/javascript", "icon.svg": "image/svg+xml"}


@cache
def asset(name: str) -> str:
    """The text of one of `KINDS`."""
    return (files("crestline.web.pages") / "static" / name).read_text(encoding="utf-8")
