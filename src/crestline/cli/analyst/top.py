"""`crestline top`: ask one question of a file or a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from crestline.cli.analyst import options
from crestline.cli.output import Format, FormatOption, make_console, print_csv, print_json, resolve_format
from crestline.cli.progress import show_progress

if TYPE_CHECKING:
    from crestline.answer.answer import Answer


def top(
    source: Annotated[
        list[str],
        typer.Argument(
            help="Files, folders or globs (Parquet, CSV, JSON lines) that are one table, or a database URL."
        ),
    ],
    user: Annotated[str, typer.Option(help="The column that holds the user.")],
    item: Annotated[list[str], typer.Option(help="The column that holds the item; repeat it for several columns.")],
    k: Annotated[int, typer.Option("-k", "--k", help="How many items are wanted.")],
    epsilon: Annotated[
        str | None,
        typer.Option(help="The total ε of this answer, such as 1 or 0.5; with --ledger: a tenth of the budget."),
    ] = None,
    delta: Annotated[
        str | None,
        typer.Option(help="The total δ of this answer, such as 1e-8; with --ledger: a 500th of the budget's."),
    ] = None,
    mechanism: options.MechanismOption = "auto",
    k_bar: options.KBarOption = None,
    contribution: options.ContributionOption = None,
    counts: options.CountsOption = False,
    coverage: Annotated[
        bool, typer.Option("--coverage", help="Also publish how many users have one of the named items.")
    ] = False,
    score: Annotated[
        str | None, typer.Option(help="Rank by a sum instead of by users, such as sum(price); needs --clip.")
    ] = None,
    clip: Annotated[
        int | None, typer.Option(help="The most that one user may add to one item; a public number.")
    ] = None,
    where: Annotated[
        str | None, typer.Option(help="A filter, such as \"country = 'DE' and day >= '2026-01-01'\".")
    ] = None,
    domain: Annotated[
        str | None, typer.Option(help="A table or file that lists every possible item, when that list is public.")
    ] = None,
    ordered: Annotated[
        bool, typer.Option("--ordered/--set", help="A list, the most popular first; or a set, if that names more.")
    ] = True,
    passes: Annotated[
        int | None, typer.Option(help="1: one pass over the table, of which k_bar + 1 rows come back.")
    ] = None,
    period: Annotated[
        str | None, typer.Option(help="Read this period, where the ledger's budget is by period: 2026-10, 2026-W41, …")
    ] = None,
    since: Annotated[
        str | None, typer.Option(help="Read from this period on, up to --until or the last ended.")
    ] = None,
    until: Annotated[str | None, typer.Option(help="The last period to read; with --since.")] = None,
    last: Annotated[int | None, typer.Option(help="Read this number of periods, the last that have ended.")] = None,
    open: Annotated[
        bool, typer.Option("--open", help="Also a period that has not ended: its rows are not all there.")
    ] = False,
    by: Annotated[
        list[str] | None, typer.Option(help="The top k of every group that this column makes; several: repeat it.")
    ] = None,
    groups_per_user: Annotated[int, typer.Option(help="With --by: each user counts in at most this many groups.")] = 1,
    groups: Annotated[
        str | None, typer.Option(help="With --by: a table or file that lists every group, when that list is public.")
    ] = None,
    floor: Annotated[
        int, typer.Option(help="With --by: do not even look at what fewer users have; a public number.")
    ] = 1,
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
            user=user,
            item=item,
            k=k,
            epsilon=epsilon,
            delta=delta,
            mechanism=mechanism,
            k_bar=k_bar,
            contribution=contribution,
            counts=counts,
            coverage=coverage,
            score=score,
            clip=clip,
            where=where,
            domain=domain,
            ordered=ordered,
            passes=passes,
            period=period,
            since=since,
            until=until,
            last=last,
            open=open,
            by=by,
            groups_per_user=groups_per_user,
            groups=groups,
            floor=floor,
            table=table,
            ledger=ledger,
            dataset=dataset,
            analyst=analyst,
            version=data_version,
        )
    print_answer(answer, form, explain=explain)
    if plot is not None:
        answer.plot(plot)


def print_answer(answer: Answer, form: Format, *, explain: bool = True) -> None:
    """Print an answer as a table with its explanation, as JSON, or as CSV."""
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
            make_console().print(answer.explain(), markup=False)


def _print_table(answer: Answer) -> None:
    from rich.table import Table
    from rich.text import Text

    from crestline.answer.tabular import columns, printable_text

    data = columns(answer)
    table = Table()
    for head in data:
        table.add_column(
            head, justify="left" if head in (*answer.question.by, *answer.question.item) else "right", overflow="fold"
        )
    for row in zip(*data.values(), strict=True):
        table.add_row(*(Text(printable_text(cell)) for cell in row))
    make_console().print(table)
