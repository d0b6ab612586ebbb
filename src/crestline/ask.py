"""The whole journey in one short function: the only module that meets every stage.

question → reserve → source → histogram → mechanism → settle → answer. A release is charged before it is made; if
anything fails after `reserve`, the reservation stays charged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from crestline.answer.answer import Answer, Bill
from crestline.choose import Chosen
from crestline.errors import QuestionError
from crestline.guarantees.guarantee import Guarantee
from crestline.histogram.labels import Label, Padding, label_order
from crestline.identity import find_stored, identify
from crestline.ledger.ledger import Ledger
from crestline.ledger.receipt import Receipt
from crestline.mechanisms.framework.restricted import own_cost
from crestline.mechanisms.selection import Selection
from crestline.question import Question
from crestline.randomness.entropy import Entropy
from crestline.sources.source import Source, Universal

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

    `domain` is the public universe, for mechanisms that need one: items, or what the source takes for them. `version`
    is a public label of the data, under which an answer is stored instead of under the source's own version.
    """
    source.check(question)
    if domain is not None:
        _universal(source).check_domain(question, domain)
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
    key = entropy.words(KEY_BYTES // 8).tobytes()
    if domain is None:
        histogram = source.top_counts(question, key)
        return _in_units(question, histogram.step, chosen.mechanism.release(histogram, entropy))
    counter = _universal(source)
    counted = counter.multiplicities(question, domain, key)
    picked: Selection = chosen.mechanism.release(counted, entropy)
    named = _named(picked, lambda picks: counter.names(question, domain, picks, key))
    return _in_units(question, counted.step, named)


def _in_units(question: Question, step: int, selection: Selection) -> Selection:
    """Published sums in the units of their column: one user adds at most `step` to a histogram and `clip` to a sum."""
    if question.clip is None or selection.counts is None:
        return selection
    unit = Fraction(question.clip, step)
    return Selection(selection.items, selection.stopped, tuple(unit * count for count in selection.counts))


def _universal(source: Source) -> Universal:
    if not isinstance(source, Universal):
        raise QuestionError("this source cannot count over a public universe; ask a file, a table or a database")
    return source


def _named(picked: Selection, names_of: Callable[[Sequence[tuple[int, int]]], list[Label]]) -> Selection:
    """A selection of `(count, index)` pairs under the items' own names; counts stay with their items.

    An item that is gone, because the table changed in between, is an empty slot: a list ends there, a set goes without.
    """
    ordered = isinstance(picked.items, tuple)
    names = names_of(list(picked.items) if ordered else sorted(picked.items, key=label_order))
    there = [i for i, name in enumerate(names) if not isinstance(name, Padding)]
    if ordered:
        kept = [i for place, i in enumerate(there) if place == i]
    else:
        kept = sorted(there, key=lambda i: label_order(names[i]))
    items = tuple(names[i] for i in kept)
    counts = None if picked.counts is None else tuple(picked.counts[i] for i in kept)
    return Selection(items if ordered else frozenset(items), picked.stopped or len(kept) < len(names), counts)


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
