"""Compare releases with the law that a mechanism states: the exact attack is valid only if they agree."""

from __future__ import annotations

from collections.abc import Callable

from crestline.audit.claims import Law
from crestline.audit.neighbours import NeighbourPair
from crestline.audit.target import AuditSubject
from crestline.audit.testers.bounds import lower_bound
from crestline.audit.testers.features import Sample

_FEW = 20


def is_followed(
    subject: AuditSubject,
    pair: NeighbourPair,
    trials: int,
    seconds: float,
    clock: Callable[[], float],
    significance: float,
) -> bool:
    """Whether releases of both tables are consistent with the law.

    If they follow it, False has probability at most `significance`.
    """
    for counts in (pair.with_user, pair.without):
        law = subject.law(counts, pair.shape)
        start = clock()
        first_sample = subject.sample(counts, pair.shape, _FEW)
        fits = int(seconds / 4 / max(1e-9, clock() - start) * _FEW)
        n = max(_FEW, min(trials, fits))
        first_sample += subject.sample(counts, pair.shape, n)
        if not _fits_law(law, first_sample, subject.sample(counts, pair.shape, n), significance / 2):
            return False
    return True


def _fits_law(law: Law, first_sample: Sample, second_sample: Sample, error: float) -> bool:
    """Whether outcomes that are too frequent in one sample are not significantly so in the next."""
    total = first_sample.total()
    often = [outcome for outcome, times in first_sample.items() if times > total * law.get(outcome, 0.0)]
    hits = sum(second_sample[outcome] for outcome in often)
    return lower_bound(hits, second_sample.total(), error) <= sum(law.get(outcome, 0.0) for outcome in often) + 1e-9
