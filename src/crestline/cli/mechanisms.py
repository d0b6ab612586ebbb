"""`crestline mechanisms`: the catalogue of mechanisms."""

from __future__ import annotations

from dataclasses import asdict

from crestline.cli.output import Format, FormatOption, print_rows, resolve_format

COLUMNS = {
    "name": "mechanism",
    "output": "output",
    "domain": "domain",
    "contribution": "items of a user",
    "price": "price",
    "auto": "auto",
    "section": "theorem",
}


def mechanisms(
    form: FormatOption = Format.AUTO,
) -> None:
    """List every mechanism: its output, what it requires, its price, whether `auto` may choose it, and its theorem."""
    from crestline.mechanisms.catalogue import CATALOGUE
    from crestline.prepare.auto_rules import auto_mechanism_names

    taken = auto_mechanism_names()
    rows = [{**asdict(line), "auto": "yes" if line.name in taken else ""} for line in CATALOGUE]
    if resolve_format(form) is Format.TABLE:
        rows = [{**row, "contribution": row["contribution"].replace("any", "")} for row in rows]
    print_rows(COLUMNS, [{name: row[name] for name in COLUMNS} for row in rows], form)
