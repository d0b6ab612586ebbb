"""`crestline top`: ask one question of a file or a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from crestline.cli.analyst import options
from crestline.cli.output import Format, FormatOption, make_console, print_csv, print_json, resolve_format
from crestline.cli.progress import show_progress
from crestline.cli.question_options import with_question_options
from crestline.question_fields import Face

if TYPE_CHECKING:
    from crestline.answer.answer import Answer
    from crestline.question import QuestionFields


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
    table: options.TableOption = None,
    s3_endpoint: options.S3EndpointOption = None,
    s3_region: options.S3RegionOption = None,
    s3_credentials: options.S3CredentialsOption = None,
    s3_anonymous: options.S3AnonymousOption = False,
    ledger: Annotated[
        str | None, typer.Option(help="Charge the answer to this ledger (a file or database URL).")
    ] = None,
    dataset: options.DatasetOption = None,
    analyst: Annotated[str | None, typer.Option(help="The analyst in the ledger who pays.")] = None,
    data_version: Annotated[
        str | None,
        typer.Option(
            help="A public label of the data, such as 2026-01-31: with --ledger, answers are stored under it."
        ),
    ] = None,
    form: FormatOption = Format.AUTO,
    plot: Annotated[str | None, typer.Option(help="Also draw the answer; the name ends in .svg or .png.")] = None,
    explain: Annotated[bool, typer.Option("--explain/--no-explain", help="Add the explanation to a table.")] = True,
) -> None:
    """Ask for the most popular items, as far as they can be named privately.

    Example: crestline top checkins.parquet --user user --item venue -k 20 --epsilon 1 --delta 1e-8
    """
    from crestline.pictures import check_can_draw
    from crestline.session import top_k
    from crestline.sources.files.s3 import as_s3_source

    if plot is not None:
        check_can_draw(plot)
    place = source[0] if len(source) == 1 else source  # a shell expands logs/*.parquet to several paths
    asked = as_s3_source(
        place, endpoint=s3_endpoint, region=s3_region, credentials=s3_credentials, anonymous=s3_anonymous
    )
    with show_progress("The engine counts"):
        answer = top_k(
            asked,
            table=table,
            ledger=ledger,
            dataset=dataset,
            analyst=analyst,
            version=data_version,
            **cast("QuestionFields", question),
        )
    print_answer(answer, form, explain=explain)
    if plot is not None:
        answer.plot(plot)


def print_answer(answer: Answer, form: Format, *, explain: bool = True) -> None:
    """Print an answer as a table with its explanation, as JSON, or as CSV."""
    from crestline.label_text import printable_lines

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
        _print_table(answer)
        if explain:
            make_console().print(printable_lines(answer.explain()), markup=False)


def _print_table(answer: Answer) -> None:
    from rich.table import Table
    from rich.text import Text

    from crestline.answer.tabular import columns
    from crestline.label_text import printable_text

    data = columns(answer)
    table = Table()
    for head in data:
        table.add_column(
            printable_text(head),
            justify="left" if head in (*answer.question.by, *answer.question.item) else "right",
            overflow="fold",
        )
    for row in zip(*data.values(), strict=True):
        table.add_row(*(Text(printable_text(cell)) for cell in row))
    make_console().print(table)
