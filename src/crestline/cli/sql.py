"""`crestline sql`: a SQL query as a question of a file or a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

from crestline.cli.output import Format, FormatOption, make_console, print_rows
from crestline.cli.progress import show_progress

if TYPE_CHECKING:
    from crestline.session import SqlCallOptions


def sql(
    text: Annotated[str, typer.Argument(help="SELECT item, COUNT(DISTINCT user) … GROUP BY item ORDER BY 2 DESC.")],
    source: Annotated[list[str], typer.Argument(help="Files, folders or globs that are one table, or a database URL.")],
    *,
    user: Annotated[str, typer.Option(help="The column that holds the user.")],
    parameter: Annotated[list[str] | None, typer.Option(help="A value for $1, $2, …; repeat it for several.")] = None,
    epsilon: Annotated[str | None, typer.Option(help="The total ε of this answer, such as 1 or 0.5.")] = None,
    delta: Annotated[str | None, typer.Option(help="The total δ of this answer, such as 1e-8.")] = None,
    clip: Annotated[int | None, typer.Option(help="With SUM: the most that one user may add to one item.")] = None,
    table: Annotated[str | None, typer.Option(help="The table, when the source is a database URL.")] = None,
    ledger: Annotated[str | None, typer.Option(help="Charge the answer to this ledger.")] = None,
    dataset: Annotated[str | None, typer.Option(help="The data set in the ledger, where there are several.")] = None,
    analyst: Annotated[str | None, typer.Option(help="The analyst in the ledger who pays.")] = None,
    form: FormatOption = Format.AUTO,
) -> None:
    """Answer a SQL query for the most popular items; nothing of the text is executed.

    Example: crestline sql "SELECT venue, COUNT(DISTINCT user) FROM t GROUP BY 1 LIMIT 20" checkins.parquet --user user
    --epsilon 1 --delta 1e-8
    """
    from crestline.session import sql as answer_sql

    options = {"epsilon": epsilon, "delta": delta, "clip": clip, "dataset": dataset, "analyst": analyst}
    given = cast("SqlCallOptions", {name: value for name, value in options.items() if value is not None})
    with show_progress("The engine counts"):
        result = answer_sql(
            text,
            source[0] if len(source) == 1 else source,
            user=user,
            parameters=parameter or (),
            table=table,
            ledger=ledger,
            **given,
        )
    rows = [dict(zip(result.columns, row, strict=True)) for row in result.rows]
    print_rows({name: name for name in result.columns}, rows, form)
    for note in result.notes:
        make_console(stderr=True).print(f"note: the answer {note}", markup=False)
    if result.answer is not None:
        make_console(stderr=True).print(result.answer.explain(), markup=False)
