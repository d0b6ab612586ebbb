"""Candidates of a plan: mechanisms of the catalogue that could answer a question, each at the same total (ε, δ)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crestline.errors import CrestlineError
from crestline.histogram.histogram import Histogram
from crestline.histogram.view_kinds import SLOTS, view_of
from crestline.mechanisms.catalogue import CATALOGUE, CatalogueEntry, entry
from crestline.mechanisms.in_groups import fit_in_groups
from crestline.mechanisms.mechanism import KNOWN, AnyMechanism
from crestline.plan.synthetic_users import SyntheticUsers
from crestline.prepare import total_of_question
from crestline.question import Question

MULTIPLES = (1, 2, 5, 10)  # numbers of slots that are tried, as multiples of k
MULTIPLES_BOUNDED = (*MULTIPLES, 100)  # with a contribution bound more slots cost nothing (P4.1, P4.2)


def k_bar_choices(question: Question) -> tuple[int, ...]:
    """Numbers of slots to try: that of the question, or a few multiples of k."""
    if question.k_bar is not None:
        return (question.k_bar,)
    return tuple(question.k * many for many in (MULTIPLES if question.contribution is None else MULTIPLES_BOUNDED))


@dataclass(frozen=True)
class Candidate:
    """A mechanism within a total, and the number of slots it sees (None: a whole public list, or another view)."""

    entry: CatalogueEntry
    mechanism: AnyMechanism
    k_bar: int | None


@dataclass(frozen=True)
class SkippedMechanism:
    """A mechanism that cannot answer the question, and why."""

    mechanism: str
    reason: str


def candidate_settings(question: Question, mechanisms: Sequence[str] = ()) -> tuple[tuple[CatalogueEntry, int], ...]:
    """Every mechanism that can be fitted to a budget, or those named, with every number of slots to try."""
    lines = [entry(name) for name in mechanisms] or CATALOGUE
    return tuple((line, k_bar) for line in lines if line.selects_items for k_bar in k_bar_choices(question))


def build_candidate(
    line: CatalogueEntry, k_bar: int, question: Question, *, public_list: bool, crowd: SyntheticUsers | None = None
) -> Candidate | SkippedMechanism:
    """Build the mechanism within the total; a SkippedMechanism where the question or the public data do not allow it.

    One with a known domain needs `public_list`; one that views pairs or all observed items needs a `crowd`.
    """
    known = line.domain == KNOWN
    if known and not public_list:
        return SkippedMechanism(line.name, "needs a public list of all items")
    try:
        total = total_of_question(question, k_bar)
        mechanism = fit_in_groups(line.load().fit, total, question.groups_per_user)
    except CrestlineError as error:
        return SkippedMechanism(line.name, str(error))
    view = view_of(mechanism)
    if view != SLOTS and (crowd is None or crowd.view_data(view) is None):
        return SkippedMechanism(
            line.name, "needs all observed items or pairs, and here is a histogram of the largest only"
        )
    return Candidate(line, mechanism, None if known or view != SLOTS else mechanism.k_bar or k_bar)


def cut_histogram(histogram: Histogram, k_bar: int) -> Histogram:
    """The histogram with `k_bar` slots, from one with at least as many."""
    rows = [
        (label, count)
        for label, count in zip(histogram.items, histogram.counts, strict=True)
        if count > 0  # `from_ranked` adds empty slots
    ]
    if histogram.next_count and len(rows) == histogram.k_bar:
        rows.append((None, histogram.next_count))  # without a label, since it has no slot
    return Histogram.from_ranked(rows[: k_bar + 1], k_bar, unit=histogram.unit)
