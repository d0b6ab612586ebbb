"""Prices of a batch as text, as JSON values, and as rows of CSV."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from crestline.answer.printing import align
from crestline.exact_numbers import decimal_text
from crestline.ledger.budget_fractions import fraction_of
from crestline.price.batch import Batch, BatchQuestion, PricedQuestion
from crestline.price.price import Charge, charges_to_list

HEADS = ("question", "mechanism", "ε", "δ", "of the budget", "lead needed", "counts")
_LEFT = (True, True, *[False] * (len(HEADS) - 2))  # names to the left, numbers to the right
_CSV_DIGITS = 12


def to_text(batch: Batch, address: str) -> str:
    """A table of the questions, without empty columns, and what they cost together on the ledger at an address."""
    rows = [_cells(number, line) for number, line in enumerate(batch.lines, start=1)]
    used = [place for place, cells in enumerate(zip(*rows, strict=True)) if any(cells)]
    table = [[row[place] for place in used] for row in (HEADS, *rows)]
    return "\n".join([*align(table, [_LEFT[place] for place in used]), "", *_lines_below(batch, address)])


def to_dict(batch: Batch, address: str) -> dict[str, Any]:
    """JSON values of a batch, from which its questions can be read again."""
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


def csv_rows(batch: Batch) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of CSV: the charge of the first account, in the units of its budget."""
    rows = []
    for number, line in enumerate(batch.lines, start=1):
        charge = line.price.charges[0]
        paid = (decimal_text(part, _CSV_DIGITS) for part in (charge.most.loss, charge.least.loss, charge.most.failure))
        rows.append([_name(number, line.question), line.price.mechanism.name, *_total(line).values(), *paid])
    return ["question", "mechanism", "epsilon", "delta", "most", "least", "failure"], rows


def _cells(number: int, line: PricedQuestion) -> list[str]:
    price = line.price
    lead = "" if price.margin is None else f"about {max(0, math.ceil(price.margin)):,} {price.unit}"
    spread = "" if price.spread is None else f"±{math.ceil(price.spread):,} {price.unit}"
    share = f"at most {price.charges[0].share}"
    return [_name(number, line.question), price.mechanism.name, *_total(line).values(), share, lead, spread]


def _lines_below(batch: Batch, address: str) -> Iterator[str]:
    if batch.item_epsilon is not None:
        yield f"Every item gets epsilon {float(batch.item_epsilon):g}: the most with which all can be paid for."
    for number, line in enumerate(batch.lines, start=1):
        if line.price.mechanism.instead:
            yield f"{number}. Instead of {line.price.mechanism.name}: {line.price.mechanism.instead}."
    for charge in charges_to_list(batch.charges):
        yield f"Together: {charge} ({address})."
    if not batch.fits:
        yield (
            f"This does not fit: only the first {batch.number_certain} of {len(batch.lines)} can be asked whatever "
            "they return. Try --fit, or ask for fewer items."
        )


def _total(line: PricedQuestion) -> dict[str, str]:
    """The total (ε, δ) of a question, stated or fitted, otherwise that of the guarantee of its mechanism."""
    promise, question = line.price.guarantee, line.question.question
    epsilon = promise.epsilon if question.epsilon is None else question.epsilon
    delta = promise.delta if question.delta is None else question.delta
    return {"epsilon": "" if epsilon is None else decimal_text(epsilon), "delta": decimal_text(delta)}


def _charge(charge: Charge) -> dict[str, Any]:
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


def _name(number: int, posed: BatchQuestion) -> str:
    item = posed.arguments.get("item")
    words = ", ".join(item) if isinstance(item, list) else item or ""
    return f"{number}. top {posed.question.k} {words}".rstrip()
