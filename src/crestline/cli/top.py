"""`crestline top`: ask one question of a file or a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from crestline.cli.options import (
    AnalystOption,
    DatasetOption,
    LedgerOption,
    PlotOption,
    TableOption,
    WitnessOption,
    open_paying_ledger,
    with_question_options,
    with_store_options,
)
from crestline.cli.output import Format, FormatOption, echo_notes, print_result
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
    ledger: LedgerOption = None,
    witness: WitnessOption = None,
    dataset: DatasetOption = None,
    analyst: AnalystOption = None,
    data_version: Annotated[
        str | None,
        typer.Option(
            help="A public label of the data, such as 2026-01-31: with --ledger, answers are stored under it."
        ),
    ] = None,
    form: FormatOption = Format.AUTO,
    plot: PlotOption = None,
    explain: Annotated[
        bool | None, typer.Option("--explain/--no-explain", help="Below the table, the whole explanation, or nothing.")
    ] = None,
) -> None:
    """Ask for the most popular items, as far as they can be named privately.

    Example: crestline top checkins.parquet --user user --item venue -k 20 --epsilon 1 --delta 1e-8
    """
    from crestline.pictures import check_can_draw
    from crestline.session import top_k

    check_total(question, ledger)
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


def check_total(question: dict[str, Any], ledger: str | None) -> None:
    """Refuse a question that says neither what it may cost nor whose usual share it takes, before a source is opened.

    Raises:
        ParameterError: There is no ledger, and no epsilon or no delta.
    """
    from crestline.errors import ParameterError

    missing = [f"--{name}" for name in ("epsilon", "delta") if name not in question]
    if ledger is None and missing:
        raise ParameterError(
            f"{' and '.join(missing)} missing: write --epsilon 1 --delta 1e-8 (delta far below 1 divided by the number "
            "of users), or --ledger ledger.db for the usual share of its budget"
        )


def print_answer(answer: Answer, form: Format, *, explain: bool | None = None) -> None:
    """Print an answer as a table with three lines (or the whole explanation, or nothing), as JSON, or as CSV."""

    def text() -> str:
        from crestline.answer.printing import summary, table_lines
        from crestline.label_text import printable_lines

        words = () if explain is False else (printable_lines(answer.explain()),) if explain else summary(answer)
        return "\n".join([*table_lines(answer), *([""] if words else []), *words])

    def csv() -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
        from crestline.answer.printing import summary
        from crestline.answer.tabular import columns

        if answer.stopped or answer.coverage is not None:
            echo_notes(summary(answer)[0])
        table = columns(answer)
        return list(table), list(zip(*table.values(), strict=True))

    print_result(form, json=answer.to_dict, csv=csv, text=text)
