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
    "run": "run in the gate",
    "gaps": "gaps",
}


def sources(
    form: FormatOption = Format.AUTO,
) -> None:
    """List every kind of source: how to write it, what it supports, how that was tested, and what an engine cannot."""
    from crestline.sources.supported import SUPPORTED

    rows = [
        {**asdict(line), "run": str(line.run or ""), "gaps": "; ".join(line.run.gaps if line.run else ())}
        for line in SUPPORTED
    ]
    print_rows(COLUMNS, rows, form)
