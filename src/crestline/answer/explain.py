"""The answer in plain words. Nothing here depends on more than the answer itself and the call."""

from __future__ import annotations

import math
from fractions import Fraction
from textwrap import fill

from crestline.answer.answer import Answer
from crestline.guarantees.guarantee import Guarantee
from crestline.parameters import decimal_text


def explain(answer: Answer, width: int = 100) -> str:
    """Paragraphs: the question, the answer, the promise, the margin, the mechanism, the bill."""
    parts = [
        _asked(answer),
        _came_back(answer),
        _promised(answer.guarantee),
        _needed(answer),
        _chosen(answer),
        _paid(answer),
        *answer.notes,
    ]
    if answer.replayed:
        parts.append("WARNING: made with replayable randomness, for tests and simulations. It is not private.")
    return "\n".join(fill(part, width, subsequent_indent="  ") for part in parts if part)


def _asked(answer: Answer) -> str:
    question = answer.question
    what = " and ".join(f"'{name}'" for name in question.item)
    text = f"Asked: the {question.k} most popular {what} in {answer.source}, counting "
    summed = f"{question.score}, at most {question.clip} for each '{question.user}' and item"
    text += f"distinct '{question.user}'" if question.score is None else summed
    if question.where:
        text += f", where {question.where}"
    if question.contribution is not None:
        text += f", at most {question.contribution} items per user"
    return text + "."


def _came_back(answer: Answer) -> str:
    number = len(answer)
    if not answer.stopped:
        return f"Answered: all {number}."
    items = {0: "no item", 1: "1 item"}.get(number, f"{number} items")
    return (
        f"Answered: {items}, and then it stopped, on purpose: naming one more would have risked showing whether some "
        "single user is in the data. A stop does not mean that the data hold nothing else."
    )


def _promised(guarantee: Guarantee) -> str:
    text = f"Promised: {guarantee} ({guarantee.adjacency.value}; theorem {guarantee.theorem})."
    if guarantee.epsilon is None:
        return text
    factor = math.exp(
        min(float(guarantee.epsilon), 700.0)
    )  # beyond that the number means nothing, and a float has no room
    text += f" This answer shifts anybody's odds about any one user's presence by a factor of at most {factor:.3g}"
    delta: Fraction = getattr(guarantee, "delta", Fraction(0))
    return text + (f", except with probability {decimal_text(delta)}." if delta else ".")


def _needed(answer: Answer) -> str:
    if answer.margin is None:
        return ""
    lead = f"{math.ceil(answer.margin)} {answer.question.unit}"
    return (
        f"Needed: to be named with 95% probability, an item had to be ahead of the first item left out (rank "
        f"{answer.question.slots + 1}) by about {lead}. That margin follows from the parameters alone; the left-out "
        "count is private and is not shown."
    )


def _chosen(answer: Answer) -> str:
    parameters = ", ".join(f"{name}={value}" for name, value in answer.mechanism.parameters.items())
    return f"Mechanism: {answer.mechanism.name}({parameters}); {answer.mechanism.reason}."


def _paid(answer: Answer) -> str:
    if answer.stored:
        return "Paid: nothing. This is the stored answer to the same question on the same data."
    if answer.bill is None:
        return "Paid: nothing is written down, because no ledger was given. Promises add up with every answer."
    bill = answer.bill
    return f"Paid: {bill.paid} (reserved {bill.reserved}); left in {bill.ledger}: {bill.remaining}."
