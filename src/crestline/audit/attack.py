"""The attack on a mechanism: find its thresholds, choose neighbouring tables, compare laws, and sample."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, zip_longest
from time import perf_counter

from crestline.audit.neighbours import NeighbourPair, PairGenerator, all_small_pairs
from crestline.audit.protocols import AttackResult, Tester
from crestline.audit.query_mechanisms import OpposedPairs, QueryAdapter
from crestline.audit.report import Report
from crestline.audit.target import NOTHING_STATED, AuditSubject, StatedOverrides, prepare_subject
from crestline.audit.testers.attack_limits import AttackLimits
from crestline.audit.testers.exact import ExactTester
from crestline.audit.testers.naming_levels import find_naming_levels
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
    """Attack a mechanism on tables that its statements, the catalogue or a guess suggest.

    Args:
        mechanism: An object with `guarantee()` and `release(histogram, entropy)`, or a mechanism over queries.
        name: Name in the report; by default that of the class.
        stated: Overrides of what the mechanism states about itself.
        seconds: Approximate time limit; the attack ends at the first limit that it reaches.
        releases: Approximate limit on the number of releases.
        significance: Largest probability that a mechanism which keeps its promise, and whose law is right if it states
            one, is called broken.
        entropy: Random bits for the mechanism; by default the operating system's.

    Returns:
        The report. That nothing was found is no proof.

    Raises:
        MechanismError: The object states no guarantee that can be read, or its release fails on every table.
        ParameterError: `stated` has an invalid `k_bar` or domain.
    """
    source = entropy or system()
    subject = prepare_subject(mechanism, source, name=name, stated=stated)
    return attack(subject, seconds=seconds, releases=releases, significance=significance)


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
    """Attack a prepared mechanism on tables of its shapes.

    Args:
        subject: The mechanism, as `prepare_subject` returns it.
        seconds: Approximate time limit; the attack ends at the first limit that it reaches.
        releases: Approximate limit on the number of releases.
        significance: Largest probability that a mechanism which keeps its promise is called broken.
        seed: Seed of the varied pairs.
        clock: Returns the time in seconds.
        tell: Called with the name of the stage and the share of it that is done.

    Returns:
        The report. That nothing was found is no proof.
    """
    tell("probing", 0.0)
    whole = AttackLimits(releases, seconds, clock)
    pairs = pairs_to_attack(subject, seed)
    results, notes = _attack_by_law(
        subject, pairs, AttackLimits(releases, seconds * _EXACT_SHARE, clock), significance, tell
    )
    sample_limits = AttackLimits(releases, max(1.0, seconds - whole.seconds_used), clock)
    if not any(one.broken for one in results):
        tester: Tester = StatisticalTester(significance, sample_limits, lambda share: tell("sampling", share))
        results += [one for one in [tester.test(subject, _order_by_strength(pairs, results))] if one]
    return Report(
        mechanism=subject.name,
        promise=subject.promise,
        unit=subject.claim.unit,
        claimed=subject.claim.claimed_parameter,
        contribution=subject.contribution,
        shapes=subject.shapes,
        found=tuple(results),
        significance=significance,
        pairs=len(pairs),
        releases=sample_limits.releases_made,
        seconds=whole.seconds_used,
        notes=(*subject.notes, *notes),
    )


def pairs_to_attack(subject: AuditSubject, seed: int) -> list[NeighbourPair]:
    """Pairs of neighbouring tables: for queries first, then special ones, then varied ones; shapes alternate."""
    levels = [find_naming_levels(subject, shape) for shape in subject.shapes]
    special = [SpecialPairs(subject.k, levels_of_shape) for levels_of_shape in levels]
    varied = [VariedPairs(levels_of_shape, _VARIED // len(levels), seed) for levels_of_shape in levels]
    for_queries = [OpposedPairs(subject.mechanism.answer_levels)] if isinstance(subject.mechanism, QueryAdapter) else []
    return [
        *_interleave_pairs(subject, for_queries),
        *_interleave_pairs(subject, special),
        *_interleave_pairs(subject, varied),
    ]


def _interleave_pairs(subject: AuditSubject, generators: Sequence[PairGenerator]) -> Iterable[NeighbourPair]:
    rows = (make(shape, subject.contribution) for make, shape in zip(generators, subject.shapes, strict=False))
    return (pair for row in zip_longest(*rows) for pair in row if pair is not None)


def _order_by_strength(pairs: Sequence[NeighbourPair], results: Sequence[AttackResult]) -> list[NeighbourPair]:
    return [*(one.pair for one in results), *pairs]


def _attack_by_law(
    subject: AuditSubject, pairs: Sequence[NeighbourPair], effort: AttackLimits, significance: float, tell: Tell
) -> tuple[list[AttackResult], list[str]]:
    """Result of the exact attack, and notes; no result without a law that the releases follow."""
    if not subject.has_law:
        return [], []
    small = chain.from_iterable(all_small_pairs(shape, subject.contribution) for shape in subject.shapes)
    tester: Tester = ExactTester(effort, lambda share: tell("comparing laws", share))
    try:
        worst = tester.test(subject, [*pairs, *small])
        if worst is None:
            return [], []
        followed = is_followed(subject, worst.pair, _LAW_TRIALS, effort.seconds / 4, effort.clock, significance)
    except Exception:  # the law of another author may raise anything; the mechanism can still be run
        return [], [_NO_LAW]
    return ([worst], []) if followed else ([], [_WRONG_LAW])
