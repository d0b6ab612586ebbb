"""The whole attack: probe, choose neighbours, compare laws where they are stated, and run what can only be run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, zip_longest
from time import perf_counter

from crestline.audit.neighbours import NeighbourPair, PairGenerator, all_small_pairs
from crestline.audit.protocols import AttackResult, Tester
from crestline.audit.query_mechanisms import OpposedPairs, QueryAdapter
from crestline.audit.report import Report
from crestline.audit.target import NOTHING_STATED, AuditSubject, StatedOverrides, prepare_subject
from crestline.audit.testers.exact import ExactTester
from crestline.audit.testers.find_edges import edges
from crestline.audit.testers.limits import AttackLimits
from crestline.audit.testers.special_pairs import SpecialPairs, VariedPairs
from crestline.audit.testers.stated_law import is_followed
from crestline.audit.testers.statistical import StatisticalTester
from crestline.randomness.entropy import Entropy, system

SIGNIFICANCE = 1e-6
SECONDS = 40.0
RELEASES = 4_000_000
_VARIED = 120
_EXACT_SHARE = 0.4
_LAW_TRIALS = 20_000

Tell = Callable[[str, float], None]

_NO_LAW = "law() could not be written down for these histograms; the mechanism was only run"
_WRONG_LAW = "law() does not describe what is released; it was not used"


def audit(
    mechanism: object,
    *,
    name: str = "",
    stated: StatedOverrides = NOTHING_STATED,
    seconds: float = SECONDS,
    releases: int = RELEASES,
    significance: float = SIGNIFICANCE,
    entropy: Entropy | None = None,
) -> Report:
    """Try to break a mechanism's promise.

    `stated` overrides what the mechanism states about itself. The rest is said at `attack`.
    """
    source = entropy or system()
    tested = prepare_subject(mechanism, source, name=name, stated=stated)
    return attack(tested, seconds=seconds, releases=releases, significance=significance)


def attack(
    subject: AuditSubject,
    *,
    seconds: float = SECONDS,
    releases: int = RELEASES,
    significance: float = SIGNIFICANCE,
    seed: int = 0,
    clock: Callable[[], float] = perf_counter,
    tell: Tell = lambda what, share: None,
) -> Report:
    """Attack a mechanism with the histograms it is attacked on.

    An honest mechanism is called broken with probability at most `significance`. A broken one may get away: that
    nothing was found is no proof. `releases` and `seconds` bound the effort, whichever is reached first; `seed` varies
    which pairs are tried, `tell` hears what is being done and how much of it is done.
    """
    tell("probing", 0.0)
    whole = AttackLimits(releases, seconds, clock)
    pairs = pairs_to_attack(subject, seed)
    found, notes = _attack_by_law(
        subject, pairs, AttackLimits(releases, seconds * _EXACT_SHARE, clock), significance, tell
    )
    sampled = AttackLimits(releases, max(1.0, seconds - whole.seconds_used), clock)
    if not any(one.broken for one in found):
        tester: Tester = StatisticalTester(significance, sampled, lambda share: tell("sampling", share))
        found += [one for one in [tester.test(subject, _order_by_strength(pairs, found))] if one]
    return Report(
        mechanism=subject.name,
        promise=subject.promise,
        unit=subject.claim.unit,
        claimed=subject.claim.claimed_parameter,
        contribution=subject.contribution,
        shapes=subject.shapes,
        found=tuple(found),
        significance=significance,
        pairs=len(pairs),
        releases=sampled.releases_made,
        seconds=whole.seconds_used,
        notes=(*subject.notes, *notes),
    )


def pairs_to_attack(subject: AuditSubject, seed: int) -> list[NeighbourPair]:
    """The special pairs of every shape, then varied ones; shapes take turns. Those made for queries come first."""
    levels = [edges(subject, shape) for shape in subject.shapes]
    special = [SpecialPairs(subject.k, known) for known in levels]
    varied = [VariedPairs(known, _VARIED // len(levels), seed) for known in levels]
    asked = [OpposedPairs(subject.mechanism.answer_levels)] if isinstance(subject.mechanism, QueryAdapter) else []
    return [
        *_interleave_pairs(subject, asked),
        *_interleave_pairs(subject, special),
        *_interleave_pairs(subject, varied),
    ]


def _interleave_pairs(subject: AuditSubject, generators: Sequence[PairGenerator]) -> Iterable[NeighbourPair]:
    rows = (make(shape, subject.contribution) for make, shape in zip(generators, subject.shapes, strict=False))
    return (pair for row in zip_longest(*rows) for pair in row if pair is not None)


def _order_by_strength(pairs: Sequence[NeighbourPair], found: Sequence[AttackResult]) -> list[NeighbourPair]:
    return [*(one.pair for one in found), *pairs]


def _attack_by_law(
    subject: AuditSubject, pairs: Sequence[NeighbourPair], effort: AttackLimits, significance: float, tell: Tell
) -> tuple[list[AttackResult], list[str]]:
    """What the stated law shows, if there is one and the releases follow it."""
    if not subject.has_law:
        return [], []
    small = chain.from_iterable(all_small_pairs(shape, subject.contribution) for shape in subject.shapes)
    tester: Tester = ExactTester(effort, lambda share: tell("comparing laws", share))
    try:
        worst = tester.test(subject, [*pairs, *small])
        if worst is None:
            return [], []
        followed = is_followed(subject, worst.pair, _LAW_TRIALS, effort.seconds / 4, effort.clock, significance)
    except Exception:  # somebody else's law may fail in any way; the mechanism can still be run
        return [], [_NO_LAW]
    return ([worst], []) if followed else ([], [_WRONG_LAW])
