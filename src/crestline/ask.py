"""All stages of a question in one function; the only module that imports them all.

question → prepared → reserve → source → histogram → mechanism → settle → answer. A release is charged before it is
made; if anything fails after `reserve`, the reservation stays charged, unless it is certain that nothing was sent to
the engine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from crestline.answer.answer import Answer
from crestline.answer.count_intervals import count_intervals
from crestline.answer.group_answers import GroupItems, flatten_groups
from crestline.answer.warnings import with_warnings
from crestline.answer_key import Identity
from crestline.deadline import settle_charged
from crestline.errors import NotSent, SourceUnavailable, mark_charged
from crestline.ledger.entries import Entry
from crestline.ledger.ledger import Ledger
from crestline.ledger.receipt import RequestKey
from crestline.mechanisms.selection import GroupSelections, Selection, as_unordered, rank_by_counts
from crestline.payment import NO_LEDGER, Charging, LedgerCharging, is_ahead_for
from crestline.prepare import Prepared
from crestline.randomness.entropy import Entropy
from crestline.sources.engine.cache_owner import use_cache_of
from crestline.sources.engine.sent_flag import track_sending
from crestline.sources.source import Source

KEY_BYTES = 32
_NOT_SHOWN = ("needed", "bounds")  # the margin of an answer, and its intervals
_IN_GROUP = ("items", "stopped", "counts", "intervals", "rank_intervals")


def ask(
    prepared: Prepared,
    *,
    source: Source,
    entropy: Entropy,
    charge: Charging = NO_LEDGER,
    version: str | None = None,
    asker: str = "",
    before_charge: Callable[[], object] = lambda: None,
) -> Answer:
    """Answer a prepared question from a source, charged to a ledger if there is one.

    Args:
        prepared: Question with its mechanism.
        source: Source of the rows.
        entropy: Source of random bits.
        charge: Account that pays (`create_charging`).
        version: Public label of the data, under which the answer is stored instead of the source's version.
        asker: Name of the asker; what a source remembers of questions is kept apart for each.
        before_charge: Called once the source is connected, before anything is charged; it may refuse the question.

    Returns:
        The answer with the asker's own number, or the stored answer to the same question on the same version of the
        data; one that is being given for the same account is waited for.

    Raises:
        QuestionError: The source cannot answer the question; nothing is charged.
        BudgetError: The ledger refuses; nothing is charged.
        SourceUnavailable: The source is not connected, or the connection was lost before anything was sent; nothing is
            charged.
        SourceError: The source failed; the reservation stays charged (`errors.was_charged`).
        LedgerError: The ledger cannot be read or written.
        RequestRefused: The key of the request is that of another question, or of one that lost its answer.
    """
    with use_cache_of(asker):
        return _ask(prepared, source, charge, Identity(prepared, source, entropy, version), before_charge)


def _ask(
    prepared: Prepared, source: Source, charge: Charging, identity: Identity, before_charge: Callable[[], object]
) -> Answer:
    entropy = identity.entropy
    stored = charge.find(identity)
    if stored is not None:  # without a look at the source, which may be away
        return stored
    source.check(prepared.question, prepared.view)
    with source.ready() as connected:  # before the charge, so that a lost connection costs nothing
        before_charge()
        receipt = charge.reserve(prepared, identity)
        if isinstance(receipt, Answer):  # another process has paid for the same answer since `find`
            return receipt
        try:
            with mark_charged(), track_sending():
                selection = _select(prepared, connected, entropy)
        except NotSent:
            with mark_charged(), settle_charged():
                charge.void(receipt)
            raise SourceUnavailable("the database was lost before the question was sent to it") from None
        except BaseException:
            charge.note_lost(receipt)
            raise
    try:
        with mark_charged(), settle_charged():
            answer = with_warnings(_answer(prepared, selection, source, entropy), prepared.users)
            return charge.settle(receipt, prepared.settlement_cost(selection), answer)
    except BaseException:
        charge.note_lost(receipt)
        raise


def create_charging(
    ledger: Ledger | None, *, analyst: str | None = None, request: RequestKey | None = None
) -> Charging:
    """The account that pays for an answer.

    Args:
        ledger: Ledger that pays; None charges nothing.
        analyst: Analyst who pays; None charges the data set's own account.
        request: Key under which the question is asked once, by all processes that share the ledger; a reservation of
            `reserve_ahead` under this key pays.
    """
    return NO_LEDGER if ledger is None else LedgerCharging(ledger, analyst, request)


def is_reserved_for(held: Entry, prepared: Prepared, *, source: Source, entropy: Entropy, version: str) -> bool:
    """Whether a reservation that was made ahead is for this question."""
    return is_ahead_for(held, Identity(prepared, source, entropy, version))


def reserve_ahead(
    prepared: Prepared, *, source: Source, entropy: Entropy, ledger: Ledger, version: str, request: RequestKey
) -> int:
    """Reserve the cost of a question that is asked later under a key, and return the number of the reservation, which
    may have been made before; no row is read."""
    source.check(prepared.question, prepared.view)
    identity = Identity(prepared, source, entropy, version)
    return LedgerCharging(ledger, None, request).reserve_ahead(prepared, identity)


def _select(prepared: Prepared, source: Source, entropy: Entropy) -> Selection | GroupSelections:
    """Read the mechanism's view in one snapshot and release a selection from it, with labels."""
    key = entropy.words(KEY_BYTES // 8).tobytes()
    with source.reading(prepared.question, key, prepared.view) as reading:
        if prepared.in_groups is not None:
            groups = prepared.in_groups.release(reading.group_tables, entropy)
            return reading.label_groups(groups)
        (released,) = prepared.mechanism.release_seen(reading.mechanism_view, 1, entropy)
        selection = reading.label_items(released)
        if prepared.coverage is None:
            return selection
        assert reading.coverage is not None, "the source provides the coverage that a question asks for"
        coverage = reading.coverage(tuple(selection.items))
        return replace(selection, coverage=prepared.coverage.release(coverage, entropy))


def _answer(prepared: Prepared, selection: Selection | GroupSelections, source: Source, entropy: Entropy) -> Answer:
    """The answer to a question; margin and spread are computed on first access."""
    released = _released_fields(selection, prepared)
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


def _released_fields(selection: Selection | GroupSelections, prepared: Prepared) -> dict[str, Any]:
    """Fields of an answer from a selection: a set where their order has no meaning, with counts in their order."""
    spread = prepared.spread if prepared.question.counts else None

    def fields_of(part: Selection) -> dict[str, Any]:
        shown = rank_by_counts(part) if prepared.mechanism.ordered else as_unordered(part)
        kept = {name: value for name, value in vars(shown).items() if name not in _NOT_SHOWN}
        ordered = isinstance(shown.items, tuple)
        return kept | vars(count_intervals(shown.counts, shown.bounds, spread, ordered=ordered))

    if isinstance(selection, Selection):
        return fields_of(selection)
    parts = [(label, fields_of(part)) for label, part in selection.groups]
    groups = tuple(GroupItems(label, **{name: part[name] for name in _IN_GROUP}) for label, part in parts)
    return {**flatten_groups(groups), "by_group": groups}
