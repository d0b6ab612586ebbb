"""`crestline mechanisms`: the catalogue."""

from __future__ import annotations

from dataclasses import asdict

from crestline.cli.output import Format, FormatOption, print_rows

COLUMNS = {
    "name": "mechanism",
    "output": "output",
    "domain": "domain",
    "contribution": "contribution",
    "price": "price",
    "section": "theorem",
}


def mechanisms(
    form: FormatOption = Format.AUTO,
) -> None:
    """List every mechanism: what it returns, what it needs to know, what it costs, and the theorem behind it."""
    from crestline.mechanisms.catalogue import CATALOGUE

    print_rows(COLUMNS, [{name: asdict(line)[name] for name in COLUMNS} for line in CATALOGUE], form)
