"""Why mutants survive: the lists beside this module, and how they follow the code when lines move.

`harmless.txt` says it of single mutants, which are tried all the same: `module: line: change | reason`.
`unmutated.txt` says it of lines that have no mutants at all, since every one would be harmless:
`module: function: line | reason`. Lines stand there without their comments, and are known again wherever they stand
in their function; `-` is the module itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

FOLDER = Path(__file__).parent
HARMLESS, UNMUTATED = FOLDER / "harmless.txt", FOLDER / "unmutated.txt"
_BAR = " | "


def reasons(path: Path) -> dict[str, str]:
    """What a list says of each key."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    pairs = (line.rsplit(_BAR, 1) for line in lines if _BAR in line)
    return {key.strip(): reason.strip() for key, reason in pairs}


def write(path: Path, known: dict[str, str]) -> None:
    """The list with its first lines as they are, and its keys in order."""
    head = [line for line in path.read_text(encoding="utf-8").splitlines() if _BAR not in line]
    lines = [f"{key}{_BAR}{reason}" for key, reason in sorted(known.items())]
    path.write_text("\n".join([*head, *lines, ""]), encoding="utf-8")


def followed(known: dict[str, str], existing: Iterable[str]) -> tuple[dict[str, str], list[str]]:
    """The same reasons where their lines are now, and the keys that are found nowhere.

    A line that is gone from its place has moved when exactly one new place of the same package has it; several equal
    lines with one reason have moved when there are as many new places as lines that are gone.
    """
    present = set(existing)
    gone, new = (_by_line(sorted(keys)) for keys in (known.keys() - present, present - known.keys()))
    moved = {key: reason for key, reason in known.items() if key in present}
    lost = list[str]()
    for line, old in gone.items():
        said = {known[key] for key in old}
        if len(said) == 1 and len(new[line]) == len(old):
            moved |= dict.fromkeys(new[line], said.pop())
        else:
            lost += old
    return moved, lost


def _by_line(keys: Iterable[str]) -> defaultdict[str, list[str]]:
    """The keys by what they say of a line in a package; its module is left out."""
    found = defaultdict[str, list[str]](list)
    for key in keys:
        module, rest = key.split(": ", 1)
        found[f"{module.split('/')[0]}: {rest}"].append(key)
    return found
