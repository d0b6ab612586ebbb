"""The whole journey in one short function: the only module that meets every stage.

question → reserve → source → histogram → mechanism → settle → answer. A release is charged before it is made; if
anything fails after `reserve`, the reservation stays charged.
"""

from __future__ import annotations

from typing import Any

from crestline.answer.answer import Answer, Bill
from crestline.choose import Chosen
from crestline.guarantees.guarantee import Guarantee
from crestline.identity import find_stored, identify
from crestline.ledger.ledger import Ledger
from crestline.ledger.receipt import Receipt
from crestline.mechanisms.framework.restricted import own_cost
from crestline.mechanisms.selection import Selection
from crestline.question import Question
from crestline.randomness.entropy import Entropy
from crestline.sources.source import Source

KEY_BYTES = 32


def ask(
    question: Question,
    *,
    source: Source,
    chosen: Chosen,
    entropy: Entropy,
    ledger: Ledger | None = None,
    analyst: str | None = None,
    domain: Any = None,
    version: str | None = None,
) -> Answer:
    """Ask one question of one source, with one mechanism, on one ledger (or none).

    `domain` is the public list, for mechanisms that need one: items, or what the source takes for them. `version`
    is a public label of the data, under which an answer is stored instead of under the source's own version.
    """
    source.check(question, domain)
    promise = chosen.mechanism.guarantee()  # before anything is charged: what cannot be promised is not released
    if ledger is None:
        selection = _release(question, source, chosen, entropy, domain)
        return _answer(question, source, chosen, entropy, selection, promise)
    known = identify(question, source, chosen, entropy, domain=domain, version=version)
    stored = find_stored(ledger, known, analyst, record=True)
    if stored is not None:
        return _again(stored.answer)
    receipt = ledger.reserve(
        own_cost(chosen.mechanism),
        question=known.question,
        data_version=known.version,
        analyst=analyst,
        mechanism=chosen.choice.name,
    )
    selection = _release(question, source, chosen, entropy, domain)
    answer = _answer(question, source, chosen, entropy, selection, promise)
    return _settled(answer, chosen, selection, ledger, receipt, analyst)


def _release(question: Question, source: Source, chosen: Chosen, entropy: Entropy, domain: Any) -> Selection:
    """Counts, the mechanism and the names of its choice, in one snapshot of the data."""
    key = entropy.words(KEY_BYTES // 8).tobytes()
    with source.reading(question, key, domain) as reading:
        return reading.named(chosen.mechanism.release(reading.histogram, entropy))


def _answer(
    question: Question,
    source: Source,
    chosen: Chosen,
    entropy: Entropy,
    selection: Selection,
    promise: Guarantee,
) -> Answer:
    spread = None if selection.counts is None else getattr(chosen.mechanism, "spread", None)
    margin, one_user = _margin(chosen.mechanism), question.clip or 1
    return Answer(
        items=selection.items,
        stopped=selection.stopped,
        counts=selection.counts,
        guarantee=promise,
        question=question,
        source=source.name,
        mechanism=chosen.choice,
        margin=None if margin is None else margin * one_user,
        spread=None if spread is None else float(spread()) * one_user,
        replayed=entropy.replayable,
    )


def _margin(mechanism: Any) -> float | None:
    """By how much an item must lead to be named; None where nothing is left out, or nobody can say."""
    inner = getattr(mechanism, "mechanism", mechanism)  # noisy counts are a second release after another mechanism's
    return float(mechanism.margin()) if hasattr(mechanism, "margin") and hasattr(inner, "margin") else None


def _settled(
    answer: Answer, chosen: Chosen, selection: Selection, ledger: Ledger, receipt: Receipt, analyst: str | None
) -> Answer:
    """Charge what a theorem lets us charge, and keep the answer with its bill."""
    settled = getattr(chosen.mechanism, "settled", None)
    cost = own_cost(chosen.mechanism) if settled is None else settled(selection)
    paid = ledger.settle(receipt, cost, answer=answer.to_dict())
    bill = Bill(
        ledger=ledger.shown,
        reserved=str(receipt.reserved),
        paid=str(paid),
        remaining=str(ledger.payers(analyst)[-1].balance.remaining),
        receipt=receipt.number,
    )
    return Answer(**{**vars(answer), "bill": bill})


def _again(value: Any) -> Answer:
    answer = Answer.from_dict(value)
    return Answer(**{**vars(answer), "stored": True})
