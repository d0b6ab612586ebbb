"""`crestline sql`: a SQL query as a question of a file or a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from crestline.cli.options import AnalystOption, DatasetOption, LedgerOption, TableOption, with_question_options
from crestline.cli.output import Format, FormatOption, echo_notes, print_rows
from crestline.cli.progress import show_progress
from crestline.cli.top import check_total
from crestline.question_fields import Face

if TYPE_CHECKING:
    from crestline.session import SqlCallOptions

_NOT_IN_SQL = (
    "user",
    "epsilon",
    "delta",
    "clip",
    "contribution",
    "mechanism",
    "period",
    "since",
    "until",
    "last",
    "open",
)


@with_question_options(Face.TOP, required=("user",), only=_NOT_IN_SQL)
def sql(
    text: Annotated[str, typer.Argument(help="SELECT item, COUNT(DISTINCT user) … GROUP BY item ORDER BY 2 DESC.")],
    source: Annotated[list[str], typer.Argument(help="Files, folders or globs that are one table, or a database URL.")],
    *,
    question: dict[str, Any],
    parameter: Annotated[list[str] | None, typer.Option(help="A value for $1, $2, …; repeat it for several.")] = None,
    table: TableOption = None,
    ledger: LedgerOption = None,
    dataset: DatasetOption = None,
    analyst: AnalystOption = None,
    form: FormatOption = Format.AUTO,
) -> None:
    """Answer a SQL query for the most popular items; nothing of the text is executed.

    Example: crestline sql "SELECT venue, COUNT(DISTINCT user) FROM t GROUP BY 1 LIMIT 20" checkins.parquet --user user
    --epsilon 1 --delta 1e-8
    """
    from crestline.answer.printing import summary
    from crestline.session import sql as answer_sql

    check_total(question, ledger)
    user = question.pop("user")
    with show_progress("The engine counts"):
        result = answer_sql(
            text,
            source[0] if len(source) == 1 else source,
            user=user,
            parameters=parameter or (),
            table=table,
            ledger=ledger,
            **cast("SqlCallOptions", {**question, "dataset": dataset, "analyst": analyst}),
        )
    rows = [dict(zip(result.columns, row, strict=True)) for row in result.rows]
    print_rows({name: name for name in result.columns}, rows, form)
    echo_notes(
        *(f"note: the answer {note}" for note in result.notes), *(summary(result.answer) if result.answer else ())
    )
