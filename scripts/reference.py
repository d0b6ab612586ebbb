"""The generated pages of docs/reference: the command line, the errors, the public names, the test vectors.

    python scripts/reference.py            writes the pages
    python scripts/reference.py --check    fails when a page is not what the code says

`tests/docs/test_reference.py` runs the check, so a page cannot drift from the code.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main

import crestline
from crestline import errors
from crestline.answer.answer import Bill
from crestline.cli.main import (
    COMMANDS,
    EXIT_INTERNAL_ERROR,
    EXIT_INTERRUPTED,
    EXIT_REFUSED,
    EXIT_UNAVAILABLE,
    EXIT_WRONG,
    HANDED_ON,
    app,
)
from crestline.price.price import Charge, Price
from crestline.session import Connection, Dataset

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "reference"
SECTION = re.compile(r"(Args|Attributes|Raises|Returns):")
ENTRY = re.compile(r"    (\S[^:]*): (.*)")
NOTE = "<!-- Written by scripts/reference.py from the code; do not edit. -->\n"


def first_paragraph(text: str | None) -> str:
    return " ".join((inspect.cleandoc(text or "").split("\n\n"))[0].split())


def with_lists(text: str) -> str:
    """The sections of a docstring (`Args:` and the like) as headed lists, which a page shows line by line."""
    lines: list[str] = []
    in_section = False
    for line in text.splitlines():
        in_section = bool(SECTION.fullmatch(line)) or (in_section and (not line or line.startswith("    ")))
        entry = ENTRY.fullmatch(line)
        if in_section and SECTION.fullmatch(line):
            lines += [f"**{line}**", ""]
        elif in_section and entry:
            names = ", ".join(f"`{name}`" for name in entry[1].split(", "))
            lines.append(f"- {names}: {entry[2]}")
        elif in_section and lines[-1].startswith("- ") and line:
            lines[-1] += f" {line.strip()}"
        else:
            lines.append(line.strip() if in_section else line)
    return "\n".join(lines)


def commands() -> Iterator[tuple[str, Any]]:
    """Every command with its full name, groups opened up."""
    root = typer.main.get_command(app)
    for name, command in root.commands.items():  # type: ignore[attr-defined] # the root is a group
        if hasattr(command, "commands"):
            yield from ((f"{name} {inner}", found) for inner, found in command.commands.items())
        else:
            yield name, command


def command_line() -> str:
    lines = [NOTE, "# The command line\n", "`crestline` and `python -m crestline` are the same.\n"]
    lines += [
        "| exit code | means |",
        "|---|---|",
        "| 0 | done |",
        "| 1 | something was found (`audit`, `ledger verify`) |",
    ]
    lines += [f"| {EXIT_WRONG} | the call is wrong |", f"| {EXIT_REFUSED} | the ledger refused |"]
    lines += [
        f"| {EXIT_UNAVAILABLE} | a source or a ledger did not answer |",
        f"| {EXIT_INTERNAL_ERROR} | an internal error |",
    ]
    lines += [f"| {EXIT_INTERRUPTED} | interrupted |\n"]
    for name, command in commands():
        command = command if name not in HANDED_ON else _handed_on(name)
        lines += [f"## crestline {name}\n", inspect.cleandoc(command.help or "").replace("\b\n", "") + "\n"]
        rows = [_row(parameter) for parameter in command.params if parameter.name != "help"]
        if rows:
            lines += ["| argument or option | default | meaning |", "|---|---|---|", *rows, ""]
    return "\n".join(lines)


def _handed_on(name: str) -> Any:
    """The command of the package beside crestline that takes the arguments."""
    assert name == "reproduce"
    sys.path.insert(0, str(ROOT))
    from reproduction.command import app as experiments

    return typer.main.get_command(experiments)


def _row(parameter: Any) -> str:
    names = ", ".join(f"`{name}`" for name in [*parameter.opts, *parameter.secondary_opts])
    if parameter.param_type_name == "argument":
        names = f"`{parameter.name.upper()}`"
    missing = parameter.default is None or callable(parameter.default) or "Sentinel" in repr(parameter.default)
    default = "required" if parameter.required else "" if missing else f"`{_plain(parameter.default)}`"
    meaning = " ".join((getattr(parameter, "help", "") or "").split()).replace("|", "\\|")
    return f"| {names} | {default} | {meaning} |"


def _plain(value: Any) -> str:
    return str(getattr(value, "value", value))


def error_tree() -> str:
    drawing = inspect.cleandoc(errors.__doc__ or "")
    lines = [NOTE, "# Errors\n", "```text", drawing.split("\n\n")[1], "```\n"]
    lines += [" ".join(drawing.split("\n\n")[2].split()) + "\n"]
    for name, kind in vars(errors).items():
        if inspect.isclass(kind) and issubclass(kind, errors.CrestlineError):
            lines += [f"## {name}\n", with_lists(inspect.cleandoc(kind.__doc__ or "")) + "\n"]
    return "\n".join(lines)


def public_names() -> str:
    lines = [NOTE, "# Public names\n", "`import crestline as cl`\n"]
    for name in crestline.__all__:
        value = getattr(crestline, name)
        if name == "__version__":
            lines += ["## `cl.__version__`\n", "The version, as text.\n"]
        elif inspect.ismodule(value):
            lines += [f"## `cl.{name}`\n", first_paragraph(value.__doc__) + "\n"]
        else:
            lines += [f"## `cl.{name}`\n", "```text", f"{name}{inspect.signature(value)}", "```\n", *_described(value)]
    lines.append("# What comes back\n")
    for returned in (Connection, Dataset, Price, Charge, Bill):
        lines += [f"## `{returned.__name__}`\n", f"Of `{returned.__module__}`.\n", *_described(returned)]
    return "\n".join(lines)


def _described(value: Any) -> list[str]:
    text = inspect.cleandoc(value.__doc__ or "").split("\n\nExample")[0].split("\n>>>")[0].rstrip()
    lines = [with_lists(text) + "\n"]
    if inspect.isclass(value):
        ours = [kind for kind in value.__mro__ if kind.__module__.startswith("crestline.")]
        members = {name: member for kind in reversed(ours) for name, member in vars(kind).items()}
        described = []
        own_first = dict.fromkeys(name for kind in ours for name in vars(kind))
        for name in own_first:
            member = members[name]
            if not name.startswith("_") and (callable(member) or isinstance(member, classmethod | property)):
                described.append(f"- `{name}`: {first_paragraph(getattr(value, name).__doc__) or 'see above'}")
        lines += ["**Methods and properties:**\n", *described] if described else []
        lines.append("")
    return lines


def test_vectors() -> str:
    """The list of test vectors; the numbers themselves are in the file that the tests read."""
    vectors = json.loads((ROOT / "tests" / "vectors" / "test_vectors.json").read_text(encoding="utf-8"))
    lines = [NOTE, "# Test vectors\n", _VECTORS, "| number | algorithm | setting | outcomes |", "|---|---|---|---:|"]
    for vector in vectors:
        settings = ", ".join(f"{name}={_setting(value)}" for name, value in vector.get("params", {}).items())
        outcomes = vector.get("probabilities") or vector["values"]
        name = vector["id"]
        lines.append(f'| <a id="{name.lower()}"></a>{name} | {vector["algorithm"]} | {settings} | {len(outcomes)} |')
    return "\n".join(lines) + "\n"


_VECTORS = """Exact output laws on small histograms, computed independently of the code. They are in
`tests/vectors/test_vectors.json`; every mechanism is held against its own, the written-down law to 1e-10 and the
sampler by a chi-square test. Use them for an implementation of your own. Outcomes: `(a,b)` is a list, `{a,b}` a set,
`_` the stop, `i=2:{..}` the index and the set of `TopStable`, `dummy0` an empty slot. Histograms use the label order
a < b < c < d. TV-S holds scalars: tails, thresholds, conversions.
"""


def _setting(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {part}" for name, part in value.items()) + "}"
    return str(value)


PAGES = {"cli.md": command_line, "errors.md": error_tree, "python.md": public_names, "vectors.md": test_vectors}


def main(arguments: list[str]) -> int:
    assert COMMANDS, "the command line has commands"
    stale = [name for name, make in PAGES.items() if _read(name) != make()]
    if "--check" in arguments:
        for name in stale:
            print(f"docs/reference/{name} is not what the code says: python scripts/reference.py")
        return 1 if stale else 0
    for name in stale:
        (FOLDER / name).write_text(PAGES[name]())
        print(f"wrote docs/reference/{name}")
    return 0


def _read(name: str) -> str:
    path = FOLDER / name
    return path.read_text() if path.exists() else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
