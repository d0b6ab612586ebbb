"""`crestline price`: what questions would cost. It asks none of them and opens no source."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crestline.cli.options import DatasetOption, with_question_options
from crestline.cli.output import Format, FormatOption, make_console, print_result
from crestline.question_fields import Face

if TYPE_CHECKING:
    from crestline.ledger.ledger import Ledger


@with_question_options(Face.PRICE)
def price(
    questions: Annotated[
        Path | None,
        typer.Argument(help="A file of questions: .jsonl, .json, .toml or .csv, with the arguments of top."),
    ] = None,
    ledger: Annotated[str | None, typer.Option(help="The ledger that would pay (a file or database URL).")] = None,
    dataset: DatasetOption = None,
    budget_epsilon: Annotated[str | None, typer.Option(help="Instead of a ledger: a new budget of this ε.")] = None,
    budget_delta: Annotated[str | None, typer.Option(help="Instead of a ledger: a new budget of this δ.")] = None,
    *,
    question: dict[str, Any],
    analyst: Annotated[str | None, typer.Option(help="Who would ask.")] = None,
    fit: Annotated[
        bool, typer.Option("--fit", help="Choose ε, the same for every item, so that all questions can be paid for.")
    ] = False,
    form: FormatOption = Format.AUTO,
) -> None:
    """Compute what a question, or a file of questions, would cost at most and at least, and what would remain.

    Examples: crestline price -k 20 --epsilon 0.5 --delta 1e-9 --ledger ledger.db

    crestline price questions.jsonl --ledger ledger.db --fit
    """
    from crestline.errors import ParameterError
    from crestline.price.batch import parse_question, payers_in_ledger, price_batch, with_periods
    from crestline.price.fit_budget import fit_batch
    from crestline.price.printing import csv_rows, to_dict, to_text
    from crestline.price.question_files import read_questions

    if (questions is None) == ("k" not in question):
        raise ParameterError("give a file of questions, or one question with -k; not both, not neither")
    posed = [parse_question({**question, "analyst": analyst})] if questions is None else read_questions(questions)
    with _paying_ledger(ledger, dataset, budget_epsilon, budget_delta) as paying:
        with make_console(stderr=True).status("Working out prices …"):
            asked, payers = [with_periods(one, paying) for one in posed], payers_in_ledger(paying)
            batch = (fit_batch if fit else price_batch)(asked, payers)
        address = paying.address
    print_result(
        form,
        json=lambda: to_dict(batch, address),
        csv=lambda: csv_rows(batch),
        text=lambda: to_text(batch, address),
    )


def _paying_ledger(ledger: str | None, dataset: str | None, epsilon: str | None, delta: str | None) -> Ledger:
    from crestline.errors import ParameterError
    from crestline.ledger.budget import Budget
    from crestline.ledger.ledger import Ledger

    if (ledger is None) == (epsilon is None):
        raise ParameterError(
            "say who pays: --ledger ledger.db, or --budget-epsilon 2 --budget-delta 1e-7 for a new budget"
        )
    if ledger is not None:
        return Ledger.open(ledger, dataset=dataset)
    return Ledger.in_memory(Budget(epsilon=epsilon or "", delta=delta or 0))
