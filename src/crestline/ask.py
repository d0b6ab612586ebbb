"""The whole journey in one short function: the only module that meets every stage.

question → prepared → reserve → source → histogram → mechanism → settle → answer. A release is charged before it is
made; if anything fails after `reserve`, the reservation stays charged, unless it is certain that nothing was sent to
the engine.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from crestline.answer.answer import Answer
from crestline.answer.group_answers import GroupItems, flatten_groups
from crestline.answer.warnings import with_warnings
from crestline.answer_key import Identity
from crestline.errors import NotSent, SourceUnavailable, mark_charged
from crestline.ledger.entries import Entry
from crestline.ledger.ledger import Ledger
from crestline.mechanisms.selection import GroupSelections, Selection, as_unordered
from crestline.payment import LedgerCharging, charging, is_ahead_for
from crestline.prepare import Prepared
from crestline.randomness.entropy import Entropy
from crestline.sources.engine.sent_flag import track_sending
from crestline.sources.source import Source

KEY_BYTES = 32


def ask(
    prepared: Prepared,
    *,
    source: Source,
    entropy: Entropy,
    ledger: Ledger | None = None,
    analyst: str | None = None,
    version: str | None = None,
    reserved: int | None = None,
) -> Answer:
    """Ask one prepared question of one source, at the expense of a ledger (or of none).

    `version` is a public label of the data, under which an answer is stored instead of under the source's own version.
    `reserved` is the number of what `reserve_ahead` has reserved: if it was for the same question, it pays, and nothing
    else does.
    """
    source.check(prepared.question, prepared.view)
    charge, known = charging(ledger, analyst, reserved), Identity(prepared, source, entropy, version)
    stored = charge.find(known)
    if stored is not None:
        return stored
    with source.ready() as connected:  # before the charge: a connection that was lost costs nobody
        receipt = charge.reserve(prepared, known)
        if isinstance(receipt, Answer):  # somebody else paid for it meanwhile
            return receipt
        try:
            with mark_charged(), track_sending():
                selection = _select(prepared, connected, entropy)
        except NotSent:
            with mark_charged():
                charge.void(receipt)
            raise SourceUnavailable("the database was lost before the question was sent to it") from None
    with mark_charged():
        answer = with_warnings(_answer(prepared, selection, source, entropy), prepared.users)
        return charge.settle(receipt, prepared.settlement_cost(selection), answer)


def reservation_for_question(
    held: Entry | None, prepared: Prepared, *, source: Source, entropy: Entropy, ledger: Ledger, version: str
) -> int | None:
    """The number of what was reserved ahead, if it is for this question; what is for another is given back."""
    if held is None or is_ahead_for(held, Identity(prepared, source, entropy, version)):
        return None if held is None else held.sequence
    ledger.give_back(held)
    return None


def reserve_ahead(prepared: Prepared, *, source: Source, entropy: Entropy, ledger: Ledger, version: str) -> int:
    """Hold what a question will cost that is asked later; no row is read. Returns the number of the reservation."""
    source.check(prepared.question, prepared.view)
    return LedgerCharging(ledger, None).reserve_ahead(prepared, Identity(prepared, source, entropy, version)).number


def _select(prepared: Prepared, source: Source, entropy: Entropy) -> Selection | GroupSelections:
    key = entropy.words(KEY_BYTES // 8).tobytes()
    with source.reading(prepared.question, key, prepared.view) as reading:
        if prepared.in_groups is not None:
            published = prepared.in_groups.release(reading.group_tables, entropy)
            return reading.label_groups(published)
        (released,) = prepared.mechanism.release_seen(reading.mechanism_view, 1, entropy)
        named = reading.label_items(released)
        if prepared.coverage is None:
            return named
        assert reading.coverage is not None, "a source gives what a question asks for"
        reached = reading.coverage(tuple(named.items))
        return replace(named, coverage=prepared.coverage.release(reached, entropy))


def _answer(prepared: Prepared, selection: Selection | GroupSelections, source: Source, entropy: Entropy) -> Answer:
    """The answer. What it only explains with is computed when somebody looks at it."""
    released = _released_fields(selection, ordered=prepared.mechanism.ordered)
    return Answer(
        **released,
        guarantee=prepared.promise,
        question=prepared.question_for_answer,
        source=source.name,
        mechanism=prepared.choice,
        margin=lambda: prepared.margin_of_selection(selection),
        spread=None if released["counts"] is None else lambda: prepared.spread,
        replayed=entropy.replayable,
    )


def _released_fields(selection: Selection | GroupSelections, *, ordered: bool) -> dict[str, Any]:
    """What an answer says of a selection; an order that means nothing is not said."""
    if isinstance(selection, Selection):
        shown = vars(selection if ordered else as_unordered(selection))
        return {name: value for name, value in shown.items() if name != "needed"}  # told as the margin
    parts = [(label, part if ordered else as_unordered(part)) for label, part in selection.groups]
    groups = tuple(GroupItems(label, part.items, part.stopped, part.counts) for label, part in parts)
    return {**flatten_groups(groups), "by_group": groups}
