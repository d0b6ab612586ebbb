"""`crestline price`: what questions would cost. It asks none of them and opens no source."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crestline.cli.options import DatasetOption, with_question_options
from crestline.cli.output import Format, FormatOption, make_console, print_json, print_rows, resolve_format
from crestline.question_fields import Face

if TYPE_CHECKING:
    from crestline.ledger.ledger import Ledger
    from crestline.price.batch import Batch, BatchQuestion, PayersOf, PricedQuestion
    from crestline.price.price import Charge

COLUMNS = {"question": "question", "mechanism": "mechanism", "epsilon": "ε", "delta": "δ"}


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
    from crestline.price.batch import parse_question, price_batch
    from crestline.price.fit_budget import fit_batch as fitted
    from crestline.price.question_files import read_questions

    if (questions is None) == ("k" not in question):
        raise ParameterError("give a file of questions, or one question with -k; not both, not neither")
    asked = [parse_question({**question, "analyst": analyst})] if questions is None else read_questions(questions)
    paying = _ledger(ledger, dataset, budget_epsilon, budget_delta)
    try:
        asked = [_with_periods(posed, paying) for posed in asked]
        with make_console(stderr=True).status("Working out prices …"):
            made = fitted(asked, _payers_in_ledger(paying)) if fit else price_batch(asked, _payers_in_ledger(paying))
        print_batch(made, paying.address, form)
    finally:
        paying.close()


def print_batch(batch: Batch, address: str, form: Format) -> None:
    """Print prices as a table with their sum, as JSON, or as CSV."""
    form = resolve_format(form)
    if form is Format.JSON:
        print_json(_values(batch, address))
        return
    if form is Format.CSV:
        loss, failure = batch.charges[0].most.units
        paid = {"most": f"{loss} at most", "least": f"{loss} at least", "failure": failure}
    else:
        paid = {"share": "of the budget", "margin": "lead needed", "spread": "counts"}
    rows = [_cells(number, line, plain=form is Format.CSV) for number, line in enumerate(batch.lines, start=1)]
    print_rows({**COLUMNS, **paid}, rows, form)
    if form is Format.TABLE:
        out = make_console()
        for text in _summary(batch, address):
            out.print(text, markup=False)


def _summary(batch: Batch, address: str) -> list[str]:
    from crestline.price.price import charges_to_list

    lines = []
    if batch.item_epsilon is not None:
        lines.append(f"Every item gets epsilon {float(batch.item_epsilon):g}: the most with which all can be paid for.")
    for number, line in enumerate(batch.lines, start=1):
        if line.price.mechanism.instead:
            lines.append(f"{number}. Instead of {line.price.mechanism.name}: {line.price.mechanism.instead}.")
    for charge in charges_to_list(batch.charges):
        least, most = charge.remaining_after
        lines += [
            f"Together: {charge} ({address}).",
            f"In its units: at most {charge.most}, and {least} to {most} would be left.",
        ]
    number = len(batch.lines)
    if not batch.fits:
        lines.append(
            f"This does not fit: only the first {batch.number_certain} of {number} can be asked whatever they return. "
            "Try --fit, or ask for fewer items."
        )
    return lines


def _cells(number: int, line: PricedQuestion, *, plain: bool) -> dict[str, Any]:
    from crestline.exact_numbers import decimal_text

    charge = line.price.charges[0]
    if not plain:
        priced = line.price
        lead = "" if priced.margin is None else f"about {max(0, math.ceil(priced.margin)):,} {priced.unit}"
        spread = "" if priced.spread is None else f"±{math.ceil(priced.spread):,} {priced.unit}"
        named = {"question": _question_name(number, line.question), "mechanism": priced.mechanism.name, **_total(line)}
        return {**named, "share": f"at most {charge.share}", "margin": lead, "spread": spread}
    digits = 12
    return {
        "question": _question_name(number, line.question),
        "mechanism": line.price.mechanism.name,
        **_total(line),
        "most": decimal_text(charge.most.loss, digits),
        "least": decimal_text(charge.least.loss, digits),
        "failure": decimal_text(charge.most.failure, digits),
    }


def _values(batch: Batch, address: str) -> dict[str, Any]:
    return {
        "ledger": address,
        "item_epsilon": None if batch.item_epsilon is None else f"{float(batch.item_epsilon):g}",
        "fits": batch.fits,
        "sure": batch.number_certain,
        "questions": [
            {
                **line.question.arguments,
                **_total(line),
                "margin": line.price.margin,
                "spread": line.price.spread,
                "coverage_spread": line.price.coverage_spread,
                "instead": line.price.mechanism.instead or None,
                "price": [_charge(charge) for charge in line.price.charges],
            }
            for line in batch.lines
        ],
        "together": [_charge(charge) for charge in batch.charges],
    }


def _total(line: PricedQuestion) -> dict[str, str]:
    """The total (ε, δ) of a question, stated or fitted, otherwise that of the guarantee of its mechanism."""
    from crestline.exact_numbers import decimal_text

    promise, question = line.price.guarantee, line.question.question
    epsilon = question.epsilon if question.epsilon is not None else promise.epsilon
    delta = question.delta if question.delta is not None else promise.delta
    return {"epsilon": "" if epsilon is None else decimal_text(epsilon), "delta": decimal_text(delta)}


def _charge(charge: Charge) -> dict[str, Any]:
    from crestline.ledger.budget_fractions import fraction_of

    least, most = charge.remaining_after
    return {
        "account": charge.account,
        "most": charge.most.to_json(),
        "least": charge.least.to_json(),
        "remaining": charge.remaining.to_json(),
        "share": fraction_of(charge.most, charge.budget.limit),
        "left_at_least": least.to_json(),
        "left_at_most": most.to_json(),
        "fits": charge.fits,
    }


def _question_name(number: int, posed: BatchQuestion) -> str:
    item = posed.arguments.get("item")
    words = ", ".join(item) if isinstance(item, list) else item or ""
    return f"{number}. top {posed.question.k} {words}".rstrip()


def _ledger(ledger: str | None, dataset: str | None, epsilon: str | None, delta: str | None) -> Ledger:
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


def _payers_in_ledger(ledger: Ledger) -> PayersOf:
    """Function from a question to the accounts that pay, read once for each analyst and each set of periods."""
    from functools import cache

    from crestline.prepare import period_charge_of
    from crestline.price.price import paying_accounts

    read = cache(lambda analyst, reach: paying_accounts(ledger, analyst, reach))
    return lambda posed: read(posed.analyst, period_charge_of(posed.question))


def _with_periods(posed: BatchQuestion, ledger: Ledger) -> BatchQuestion:
    """The question with its periods resolved by the clock of the ledger."""
    from dataclasses import replace

    from crestline.periods.requested import resolve_periods

    calendar = ledger.payers(posed.analyst)[-1].balance.budget.calendar
    period = resolve_periods(posed.question.period, calendar, ledger.now())
    return replace(posed, question=replace(posed.question, period=period))
