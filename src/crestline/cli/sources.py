"""`crestline sources`: the kinds of source."""

from __future__ import annotations

from dataclasses import asdict

from crestline.cli.output import Format, FormatOption, print_rows, resolve_format

COLUMNS = {
    "name": "source",
    "address": "address",
    "supports": "supports",
    "limits": "connection",
    "tested": "tested by",
    "run": "version and tests",
    "gaps": "gaps",
}
# Columns of three tables that fit into a terminal of 80 columns; the last has engines only.
KINDS, RIGHTS, ENGINES = ("name", "address", "tested"), ("name", "supports", "limits"), ("name", "run", "gaps")


def sources(
    form: FormatOption = Format.AUTO,
) -> None:
    """List every kind of source: its address, what it supports, how that was tested, and what an engine cannot do."""
    from crestline.sources.support_table import SUPPORTED

    rows = [
        {
            **asdict(line),
            "run": str(line.recorded_run or ""),
            "gaps": "; ".join(line.recorded_run.gaps if line.recorded_run else ()),
        }
        for line in SUPPORTED
    ]
    if resolve_format(form) is not Format.TABLE:
        print_rows(COLUMNS, rows, form)
        return
    for names in (KINDS, RIGHTS, ENGINES):
        shown = [row for row in rows if names is not ENGINES or row["engine"]]
        print_rows({name: COLUMNS[name] for name in names}, shown, form)
