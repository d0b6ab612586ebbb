"""`crestline ask`: ask every question of a file, one after the other."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from crestline.cli.options import (
    DatasetOption,
    LedgerOption,
    TableOption,
    WitnessOption,
    open_paying_ledger,
    with_store_options,
)
from crestline.cli.output import Format, FormatOption, make_console, resolve_format
from crestline.cli.progress import show_progress
from crestline.cli.top import print_answer

if TYPE_CHECKING:
    from crestline.answer.answer import Answer
    from crestline.ledger.ledger import Ledger
    from crestline.price.batch import BatchQuestion


@with_store_options
def ask(
    questions: Annotated[
        Path, typer.Argument(help="A file of questions (.jsonl, .json, .toml, .csv), or what `price --fit` wrote.")
    ],
    source: Annotated[
        str | None, typer.Option(help="The file or database URL that is asked, where a question names none.")
    ] = None,
    user: Annotated[
        str | None, typer.Option(help="The column that holds the user, where a question names none.")
    ] = None,
    table: TableOption = None,
    *,
    in_store: Callable[[str], object],
    ledger: LedgerOption = None,
    witness: WitnessOption = None,
    dataset: DatasetOption = None,
    form: FormatOption = Format.AUTO,
) -> None:
    """Ask every question of a file. Each answer is printed at once: tables in a terminal, JSON lines in a pipe.

    A question that is refused ends the run; the answers before it have been printed.

    Example: crestline price questions.jsonl --ledger ledger.db --fit > fitted.json

    crestline ask fitted.json --source sales.parquet --user customer_id --ledger ledger.db
    """
    from crestline.errors import CrestlineError, ParameterError
    from crestline.price.question_files import read_questions

    if resolve_format(form) is Format.CSV:
        raise ParameterError("several answers are no one table: use --format json (one answer on each line) or table")
    usual = {"source": source, "user": user, "table": table}
    posed = [(one, _where_asked(number, one, usual)) for number, one in enumerate(read_questions(questions), start=1)]
    asked = [(one, given, in_store(given["source"])) for one, given in posed]
    with open_paying_ledger(ledger, dataset, witness) as paying:
        for number, (one, given, place) in enumerate(asked, start=1):
            try:
                with show_progress(f"Question {number} of {len(posed)}: the engine counts"):
                    answer = _ask_one(one, given, place, paying)
            except CrestlineError as error:
                error.args = (f"question {number} of {len(posed)}: {error}", *error.args[1:])
                raise
            _print(answer, number, form)


def _where_asked(number: int, posed: BatchQuestion, usual: dict[str, str | None]) -> dict[str, str]:
    """Source, user column and table of a question; checked for all questions before the first is paid for.

    Raises:
        ParameterError: The question has no source.
    """
    from crestline.errors import ParameterError

    given = {name: posed.arguments.get(name, value) for name, value in usual.items()}
    if not given["source"]:
        raise ParameterError(f"question {number} names no source: write one in the file, or give --source")
    return {name: value for name, value in given.items() if value}


def _ask_one(posed: BatchQuestion, given: dict[str, str], source: object, ledger: Ledger | None) -> Answer:
    from crestline.question import QuestionFields
    from crestline.session import top_k

    fields = {name: value for name, value in posed.fields.items() if name != "user"}
    user = {"user": given["user"]} if "user" in given else {}
    return top_k(
        source,
        ledger=ledger,
        table=given.get("table"),
        analyst=posed.analyst,
        version=posed.arguments.get("version"),
        **cast(QuestionFields, {**fields, **user}),
    )


def _print(answer: Answer, number: int, form: Format) -> None:
    if resolve_format(form) is Format.JSON:
        from crestline.label_text import json_text

        sys.stdout.write(json_text(answer.to_dict()) + "\n")
        sys.stdout.flush()
        return
    make_console().print(f"\nQuestion {number}", style="bold")
    print_answer(answer, form)
