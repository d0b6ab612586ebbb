"""Print results: tables for people, JSON or CSV for programs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console


class Format(StrEnum):
    AUTO = "auto"
    TABLE = "table"
    JSON = "json"
    CSV = "csv"


_LONGEST_WORD = 24  # longer words, such as addresses, are broken where a table has no room

FormatOption = Annotated[Format, typer.Option("--format", help="auto: a table in a terminal, JSON in a pipe.")]


def resolve_format(wanted: Format) -> Format:
    """The format; `auto` is a table in a terminal and JSON in a pipe."""
    if wanted is not Format.AUTO:
        return wanted
    return Format.TABLE if sys.stdout.isatty() else Format.JSON


def make_console(*, stderr: bool = False) -> Console:
    """Console that does not wrap lines in a pipe."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, soft_wrap=not sys.stdout.isatty())


def echo_lines(*lines: str) -> None:
    """Print lines of plain text, each as it is: a terminal wraps long ones, and copies them whole."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def echo_notes(*lines: str) -> None:
    """Print lines of plain text to standard error, beside a result that a program reads."""
    sys.stderr.write("".join(f"{line}\n" for line in lines))


def print_json(value: object) -> None:
    """Print a value as indented JSON."""
    from crestline.label_text import json_text

    sys.stdout.write(json_text(value, indent=2) + "\n")


def print_csv(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print rows as CSV with a header."""
    from crestline.label_text import write_csv

    write_csv(sys.stdout, columns, rows)


def print_result(
    form: Format,
    *,
    json: Callable[[], object],
    csv: Callable[[], tuple[Sequence[str], Sequence[Sequence[Any]]]],
    text: Callable[[], object],
) -> None:
    """Print a result in one of the formats; only that one is made. `text` may print, and return None."""
    form = resolve_format(form)
    if form is Format.JSON:
        print_json(json())
    elif form is Format.CSV:
        print_csv(*csv())
    else:
        shown = text()
        if shown is not None:
            echo_lines(str(shown))


def print_rows(columns: Mapping[str, str], rows: Sequence[Mapping[str, Any]], form: Format, title: str = "") -> None:
    """Print rows in any format; `columns` maps the fields to their headings."""
    form = resolve_format(form)
    if form is Format.JSON:
        print_json([dict(row) for row in rows])
    elif form is Format.CSV:
        print_csv(list(columns), [[row[name] for name in columns] for row in rows])
    else:
        from rich.cells import cell_len
        from rich.table import Table
        from rich.text import Text

        from crestline.label_text import printable_lines

        table = Table(title=title or None, title_justify="left", title_style="bold", box=None, pad_edge=False)
        for place, (name, heading) in enumerate(columns.items()):
            cells = [heading, *(str(row[name]) for row in rows)]
            widest = max((cell_len(word) for cell in cells for word in cell.split()), default=1)
            numbers = bool(rows) and all(isinstance(row[name], int | float) for row in rows)
            table.add_column(
                heading,
                no_wrap=place == 0,  # the first column identifies the row
                overflow="fold",
                min_width=widest if widest <= _LONGEST_WORD else None,
                justify="right" if numbers else "left",
            )
        for row in rows:
            table.add_row(
                *(Text(printable_lines(str(row[name]))) for name in columns)
            )  # a value may contain [brackets]
        make_console().print(table)


def operator_name() -> str:
    """The user of this machine who gives the command, for the entry in the ledger."""
    import getpass
    import os

    try:
        return f"{getpass.getuser()} (command line)"
    except (KeyError, OSError):  # a user without a name
        return f"user {os.getuid()} (command line)"
