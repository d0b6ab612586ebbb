"""Show the errata.

python -m reproduction.errata            every script, with what it computes
python -m reproduction.errata E-A2 E-C3  some of them
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

from reproduction.errata import beyond, canonical, durfee_rogers, framework, top_stable
from reproduction.errata.finding import SCRIPTS, Shown, text

MODULES = (durfee_rogers, top_stable, framework, canonical, beyond)


def line(number: str, shown: Shown) -> str:
    """What a script computed, as one line."""
    corrected = "" if shown.corrected is None else f"; corrected: {text(shown.corrected)}"
    told = f"{shown.what}: {text(shown.printed)} as printed, {text(shown.right)} is right{corrected}"
    return f"{number:18} {told}\n{'':18} {shown.where}"


def numbers() -> list[str]:
    """All numbers that have a script, in their order."""
    return sorted(
        SCRIPTS, key=lambda number: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", number)]
    )


def main(arguments: Sequence[str]) -> int:
    unknown = [number for number in arguments if number not in SCRIPTS]
    if unknown:
        sys.stderr.write(f"no script shows {', '.join(unknown)}; there are {', '.join(numbers())}\n")
        return 2
    for number in arguments or numbers():
        sys.stdout.write(line(number, SCRIPTS[number]()) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
