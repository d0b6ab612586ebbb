"""The whole attack: probe, choose neighbours, compare laws where they are stated, and run what can only be run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, zip_longest
from time import perf_counter

from crestline.audit.finding import Found, Tester
from crestline.audit.neighbours import Neighbours, Pair, every_small
from crestline.audit.queries import OnHistogram, Opposed
from crestline.audit.report import Report
from crestline.audit.subject import NOTHING_STATED, Stated, Subject, subject
from crestline.audit.testers.effort import Effort
from crestline.audit.testers.exact import ExactTester
from crestline.audit.testers.families import Special, Varied
from crestline.audit.testers.probing import edges
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
    stated: Stated = NOTHING_STATED,
    seconds: float = SECONDS,
    releases: int = RELEASES,
    significance: float = SIGNIFICANCE,
    entropy: Entropy | None = None,
) -> Report:
    """Try to break a mechanism's promise.

    `stated` overrides what the mechanism states about itself. The rest is said at `attack`.
    """
    source = entropy or system()
    tested = subject(mechanism, source, name=name, stated=stated)
    return attack(tested, seconds=seconds, releases=releases, significance=significance)


def attack(
    tested: Subject,
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
    whole = Effort(releases, seconds, clock)
    pairs = pairs_for(tested, seed)
    found, notes = _exactly(tested, pairs, Effort(releases, seconds * _EXACT_SHARE, clock), significance, tell)
    sampled = Effort(releases, max(1.0, seconds - whole.spent), clock)
    if not any(one.broken for one in found):
        tester: Tester = StatisticalTester(significance, sampled, lambda share: tell("sampling", share))
        found += [one for one in [tester.test(tested, _worst_first(pairs, found))] if one]
    return Report(
        mechanism=tested.name,
        promise=tested.promise,
        unit=tested.claim.unit,
        claimed=tested.claim.claimed,
        contribution=tested.contribution,
        shapes=tested.shapes,
        found=tuple(found),
        significance=significance,
        pairs=len(pairs),
        releases=sampled.made,
        seconds=whole.spent,
        notes=(*tested.notes, *notes),
    )


def pairs_for(tested: Subject, seed: int) -> list[Pair]:
    """The special pairs of every shape, then varied ones; shapes take turns. Those made for queries come first."""
    levels = [edges(tested, shape) for shape in tested.shapes]
    special = [Special(tested.k, known) for known in levels]
    varied = [Varied(known, _VARIED // len(levels), seed) for known in levels]
    asked = [Opposed(tested.mechanism.levels)] if isinstance(tested.mechanism, OnHistogram) else []
    return [*_in_turn(tested, asked), *_in_turn(tested, special), *_in_turn(tested, varied)]


def _in_turn(tested: Subject, generators: Sequence[Neighbours]) -> Iterable[Pair]:
    rows = (make(shape, tested.contribution) for make, shape in zip(generators, tested.shapes, strict=False))
    return (pair for row in zip_longest(*rows) for pair in row if pair is not None)


def _worst_first(pairs: Sequence[Pair], found: Sequence[Found]) -> list[Pair]:
    return [*(one.pair for one in found), *pairs]


def _exactly(
    tested: Subject, pairs: Sequence[Pair], effort: Effort, significance: float, tell: Tell
) -> tuple[list[Found], list[str]]:
    """What the stated law shows, if there is one and the releases follow it."""
    if not tested.has_law:
        return [], []
    small = chain.from_iterable(every_small(shape, tested.contribution) for shape in tested.shapes)
    tester: Tester = ExactTester(effort, lambda share: tell("comparing laws", share))
    try:
        worst = tester.test(tested, [*pairs, *small])
        if worst is None:
            return [], []
        followed = is_followed(tested, worst.pair, _LAW_TRIALS, effort.seconds / 4, effort.clock, significance)
    except Exception:  # somebody else's law may fail in any way; the mechanism can still be run
        return [], [_NO_LAW]
    return ([worst], []) if followed else ([], [_WRONG_LAW])
