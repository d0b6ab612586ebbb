"""`crestline check`: what can be asked of a table, from its schema alone."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from typing import Annotated

import typer

from crestline.cli.options import TableOption
from crestline.cli.output import Format, FormatOption, echo_lines, print_json, print_rows, resolve_format

COLUMNS = {
    "name": "column",
    "type": "type",
    "key": "user, item, group",
    "filter": "filter",
    "sum": "sum",
    "period": "time",
}


def check(
    source: Annotated[str, typer.Argument(metavar="FILE", help="A file, folder, glob or database URL.")],
    table: TableOption = None,
    column: Annotated[
        list[str] | None, typer.Option(help="Only this column; repeat it for several. CSV and JSON lines need it.")
    ] = None,
    form: FormatOption = Format.AUTO,
) -> None:
    """Say what can be asked of a table, from its schema alone: which columns can hold the user, be ranked, be summed.

    Example: crestline check sales.parquet
    """
    from crestline.errors import QuestionError
    from crestline.sources import open_source
    from crestline.sources.column_uses import column_uses, likely_user

    uses = column_uses(open_source(source, table=table), column or ())
    if not uses:
        raise QuestionError(
            "CSV and JSON lines have no schema, and their first line may be a row: name the columns, such as --column "
            "user --column item"
        )
    rows = [asdict(one) for one in uses]
    if resolve_format(form) is Format.JSON:
        print_json(rows)
        return
    shown = [{name: _mark(row[name]) for name in COLUMNS} for row in rows]
    print_rows(COLUMNS, shown, form)
    keys = [one.name for one in uses if one.key]
    user = likely_user(keys)
    item = next((name for name in keys if name != user), None)
    if resolve_format(form) is Format.TABLE and user and item:
        where = f" --table {shlex.quote(table)}" if table else ""
        names = f"--user {shlex.quote(user)} --item {shlex.quote(item)}"
        echo_lines(
            "", f"Ask, for example: crestline top {shlex.quote(source)}{where} {names} -k 10 --epsilon 1 --delta 1e-8"
        )


def _mark(value: object) -> object:
    return {True: "yes", False: ""}[value] if isinstance(value, bool) else value
