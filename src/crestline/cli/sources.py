"""`crestline sources`: what can be asked."""

from __future__ import annotations

from dataclasses import asdict

from crestline.cli.output import Format, FormatOption, print_rows

COLUMNS = {
    "name": "source",
    "address": "address",
    "supports": "supports",
    "limits": "connection",
    "tested": "tested by",
}


def sources(
    form: FormatOption = Format.AUTO,
) -> None:
    """List every kind of source: how to write it, what it supports, and how that was tested."""
    from crestline.sources.supported import SUPPORTED

    print_rows(COLUMNS, [asdict(line) for line in SUPPORTED], form)
