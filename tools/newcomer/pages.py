"""What a reader would type in: the Python and console blocks of a page, in their order.

A fence that says `no-run` is left alone; the page says why on the line above it. Of a console block the lines that
begin with `$`, and with `>` where a command goes on, are typed; the others are what comes back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(?P<kind>python|console) *(?P<mark>[^\n]*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
_SIGNATURE = re.compile(r"[A-Z]\w+\([^)]*\)\s*\Z")  # how a mechanism is made: shown, not typed


@dataclass(frozen=True)
class Block:
    """Something to type in: `kind` is python or console."""

    kind: str
    code: str


def pages() -> list[Path]:
    """README, tutorials and how-to pages: what somebody types in."""
    chapters = [*(ROOT / "docs" / "tutorial").glob("*.md"), *(ROOT / "docs" / "how-to").glob("*.md")]
    return [ROOT / "README.md", ROOT / "docs" / "index.md", *sorted(chapters)]


def blocks(text: str) -> list[Block]:
    """The blocks of a page that are typed in."""
    found = []
    for match in FENCE.finditer(text):
        if "no-run" in match["mark"] or (match["kind"] == "python" and _SIGNATURE.match(match["code"])):
            continue
        code = match["code"] if match["kind"] == "python" else _typed(match["code"])
        if code.strip():
            found.append(Block(match["kind"], code))
    return found


def silent(text: str) -> list[str]:
    """Fences that are not run and do not say why: the line above one that says `no-run` is empty or a heading."""
    unexplained = []
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if line.startswith("```") and "no-run" in line:
            above = next((one for one in reversed(lines[:number]) if one.strip()), "")
            if not above.strip() or above.startswith(("#", "```")):
                unexplained.append(line)
    return unexplained


def _typed(code: str) -> str:
    """The commands of a console block; a line that ends in a backslash goes on in the next."""
    commands, going_on = [], False
    for line in code.splitlines():
        if line.startswith(("$ ", "> ")) or going_on:
            commands.append(line.removeprefix("$ ").removeprefix("> "))
            going_on = line.endswith("\\")
    return "\n".join(commands) + "\n"
