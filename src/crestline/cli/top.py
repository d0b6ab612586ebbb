"""`crestline top`: ask one question of a file or a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from crestline.cli.output import Format, console, print_csv, print_json, resolved

if TYPE_CHECKING:
    from crestline.answer.answer import Answer


def top(
    source: Annotated[str, typer.Argument(help="A file or glob (Parquet, CSV, JSON lines), or a database URL.")],
    user: Annotated[str, typer.Option(help="The column that holds the user.")],
    item: Annotated[list[str], typer.Option(help="The column that holds the item; repeat it for several columns.")],
    k: Annotated[int, typer.Option("-k", "--k", help="How many items are wanted.")],
    epsilon: Annotated[str, typer.Option(help="The total ε of this answer, for example 1 or 0.5.")],
    delta: Annotated[str, typer.Option(help="The total δ of this answer, for example 1e-8.")],
    mechanism: Annotated[str, typer.Option(help="A name from `crestline mechanisms`, or auto.")] = "auto",
    k_bar: Annotated[int | None, typer.Option(help="How many items the mechanism may see.")] = None,
    contribution: Annotated[int | None, typer.Option(help="Count at most this many items of each user.")] = None,
    where: Annotated[
        str | None, typer.Option(help="A filter, such as \"country = 'DE' and day >= '2026-01-01'\".")
    ] = None,
    table: Annotated[str | None, typer.Option(help="The table, when the source is a database URL.")] = None,
    ledger: Annotated[
        str | None, typer.Option(help="Charge the answer to this ledger (a file or database URL).")
    ] = None,
    form: Annotated[
        Format, typer.Option("--format", help="auto: a table in a terminal, JSON in a pipe.")
    ] = Format.AUTO,
    explain: Annotated[bool, typer.Option("--explain/--no-explain", help="Add the explanation to a table.")] = True,
) -> None:
    """Ask for the most popular items, as far as they can be named privately.

    Example: crestline top checkins.parquet --user user --item venue -k 20 --epsilon 1 --delta 1e-8
    """
    from crestline.api import top_k

    answer = top_k(
        source,
        user=user,
        item=item,
        k=k,
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,
        k_bar=k_bar,
        contribution=contribution,
        where=where,
        table=table,
        ledger=ledger,
    )
    print_answer(answer, form, explain=explain)


def print_answer(answer: Answer, form: Format, *, explain: bool = True) -> None:
    """An answer as a table with its explanation, as JSON, or as CSV."""
    form = resolved(form)
    if form is Format.JSON:
        print_json(answer.to_dict())
    elif form is Format.CSV:
        print_csv(*_columns(answer))
    else:
        _print_table(answer)
        if explain:
            console().print(answer.explain(), markup=False)


def _columns(answer: Answer) -> tuple[list[str], list[list[Any]]]:
    names = list(answer.question.item)
    rows = [list(item) if isinstance(item, tuple) else [item] for item in answer.listed_items]
    heads = ["rank", *names] if isinstance(answer.items, tuple) else names
    if isinstance(answer.items, tuple):
        rows = [[rank, *row] for rank, row in enumerate(rows, start=1)]
    if answer.counts is not None:
        heads = [*heads, "noisy_count"]
        rows = [[*row, _count(count)] for row, count in zip(rows, answer.counts, strict=True)]
    return heads, rows


def _count(count: Any) -> str:
    return f"{float(count):g}"


def _print_table(answer: Answer) -> None:
    from rich.table import Table
    from rich.text import Text

    heads, rows = _columns(answer)
    table = Table()
    for head in heads:
        table.add_column(head, justify="right" if head in ("rank", "noisy_count") else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row))
    console().print(table)
