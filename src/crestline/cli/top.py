"""`crestline top`: ask one question of a file or a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from crestline.cli.options import (
    DatasetOption,
    TableOption,
    WitnessOption,
    open_paying_ledger,
    with_question_options,
    with_store_options,
)
from crestline.cli.output import Format, FormatOption, echo_lines, make_console, print_csv, print_json, resolve_format
from crestline.cli.progress import show_progress
from crestline.question_fields import Face

if TYPE_CHECKING:
    from crestline.answer.answer import Answer
    from crestline.question import QuestionFields


@with_store_options
@with_question_options(Face.TOP, required=("user", "item", "k"))
def top(
    source: Annotated[
        list[str],
        typer.Argument(
            help="Files, folders or globs (Parquet, CSV, JSON lines) that are one table, or a database URL."
        ),
    ],
    *,
    question: dict[str, Any],
    table: TableOption = None,
    in_store: Callable[[str | list[str]], object],
    ledger: Annotated[
        str | None, typer.Option(help="Charge the answer to this ledger (a file or database URL).")
    ] = None,
    witness: WitnessOption = None,
    dataset: DatasetOption = None,
    analyst: Annotated[str | None, typer.Option(help="The analyst in the ledger who pays.")] = None,
    data_version: Annotated[
        str | None,
        typer.Option(
            help="A public label of the data, such as 2026-01-31: with --ledger, answers are stored under it."
        ),
    ] = None,
    form: FormatOption = Format.AUTO,
    plot: Annotated[str | None, typer.Option(help="Also draw the answer; the name ends in .svg or .png.")] = None,
    explain: Annotated[
        bool | None, typer.Option("--explain/--no-explain", help="Below the table, the whole explanation, or nothing.")
    ] = None,
) -> None:
    """Ask for the most popular items, as far as they can be named privately.

    Example: crestline top checkins.parquet --user user --item venue -k 20 --epsilon 1 --delta 1e-8
    """
    from crestline.pictures import check_can_draw
    from crestline.session import top_k

    if plot is not None:
        check_can_draw(plot)
    asked = in_store(source[0] if len(source) == 1 else source)  # a shell expands logs/*.parquet to several paths
    with open_paying_ledger(ledger, dataset, witness) as payer, show_progress("The engine counts"):
        answer = top_k(
            asked,
            table=table,
            ledger=payer,
            analyst=analyst,
            version=data_version,
            **cast("QuestionFields", question),
        )
    print_answer(answer, form, explain=explain)
    if plot is not None:
        answer.plot(plot)


def print_answer(answer: Answer, form: Format, *, explain: bool | None = None) -> None:
    """Print an answer as a table with three lines (or the whole explanation, or nothing), as JSON, or as CSV."""
    form = resolve_format(form)
    if form is Format.JSON:
        print_json(answer.to_dict())
    elif form is Format.CSV:
        from crestline.answer.explain import coverage_line
        from crestline.answer.tabular import columns

        table = columns(answer)
        print_csv(list(table), list(zip(*table.values(), strict=True)))
        if answer.stopped:
            note = f"{len(answer)} of {answer.question.k} items: it stopped on purpose (see --format table)"
            make_console(stderr=True).print(note, markup=False)
        if answer.coverage is not None:
            make_console(stderr=True).print(coverage_line(answer.coverage, len(answer)), markup=False)
    else:
        from crestline.answer.printing import summary, table_lines
        from crestline.label_text import printable_lines

        words = () if explain is False else (printable_lines(answer.explain()),) if explain else summary(answer)
        echo_lines(*table_lines(answer), *([""] if words else []), *words)
