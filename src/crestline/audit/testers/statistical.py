"""The statistical attack, for mechanisms that can only be run.

Pairs compete: all are sampled a little, the better ones more, and the best few get a last, fresh sample on which the
learned event is tested with Clopper and Pearson's bounds. Learning and testing never share a sample, and at most
`TESTS` tests are made, so the attack raises a false alarm with probability at most `significance`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from crestline.audit.claims import TabulatedCeiling, strength_of_event
from crestline.audit.neighbours import NeighbourPair
from crestline.audit.protocols import AttackResult, AuditTarget
from crestline.audit.testers.attack_limits import AttackLimits
from crestline.audit.testers.bounds import lower_bound, upper_bound
from crestline.audit.testers.events import NOTHING, BestEvent, Samples, learn_event
from crestline.audit.testers.floating_point import reachability_features, usual_scales
from crestline.audit.testers.special_pairs import neighbouring_pairs

TESTS = 12
# A candidate with a larger score, in standard deviations, is tested before the competition ends.
_SURE = 7.0
# Share of the effort for the competition; the rest is for the last tests.
_COMPETITION = 0.55
_FINALISTS = 5
_LEADERS = 3
_LEAST = 40
_SOME = 2_000
_KIN = 18


@dataclass
class _CandidatePair:
    """A pair in the competition, with its samples and the best event so far."""

    pair: NeighbourPair
    order_sample: Samples = field(default_factory=lambda: Samples(Counter(), Counter()))
    decide_sample: Samples = field(default_factory=lambda: Samples(Counter(), Counter()))
    lesson: BestEvent = NOTHING
    times_tested: int = 0


@dataclass
class StatisticalTester:
    """Attacks by running the mechanism.

    Attributes:
        significance: Largest probability that it reports a mechanism as broken that keeps its promise.
        effort: Limits, and what is used of them.
        tell: Called with the share of the limits that is used.
    """

    significance: float
    effort: AttackLimits
    tell: Callable[[float], None] = lambda share: None
    _tests: int = 0
    _worst: AttackResult | None = None

    def test(self, subject: AuditTarget, pairs: Sequence[NeighbourPair]) -> AttackResult | None:
        """The finding with the largest confirmed strength, or None if no event was worth a test."""
        table = TabulatedCeiling(subject.claim)
        self._warm_up(subject, pairs[0])
        candidates = [_CandidatePair(pair) for pair in pairs[: max(24, self.effort.releases_left // 1500)]]
        size = min(400, max(_LEAST, int(self.effort.releases_left * 0.12 / (2 * len(candidates)))))
        while self.effort.share < _COMPETITION:
            for candidate in candidates:
                if self.effort.share < _COMPETITION:
                    self._study_candidate(subject, candidate, size, table)
            candidates.sort(key=lambda candidate: -candidate.lesson.score)
            if self._confirm_broken(subject, candidates[:2], max(4 * size, _SOME)):
                return self._worst
            candidates = candidates[: max(_FINALISTS, len(candidates) // 3)]
            if self.effort.share < _COMPETITION:
                candidates += self._neighbouring_candidates(subject, candidates)
            size *= 3
        self._sample_finalists(subject, candidates[:_FINALISTS])
        return self._worst

    def _warm_up(self, subject: AuditTarget, pair: NeighbourPair) -> None:
        """Make a few releases to measure the speed of the mechanism."""
        self._draw_samples(subject, pair, 20)

    def _neighbouring_candidates(
        self, subject: AuditTarget, candidates: Sequence[_CandidatePair]
    ) -> list[_CandidatePair]:
        """New candidates: pairs with one small change from the leaders."""
        pairs = [candidate.pair for candidate in candidates]
        new_pairs: list[NeighbourPair] = []
        for leader in pairs[:_LEADERS]:
            for near in neighbouring_pairs(leader, subject.contribution):
                if near not in pairs and near not in new_pairs:
                    new_pairs.append(near)
        return [_CandidatePair(near) for near in new_pairs[:: max(1, len(new_pairs) // _KIN)]]

    def _sample_finalists(self, subject: AuditTarget, finalists: Sequence[_CandidatePair]) -> None:
        """Test the finalists in order until one is broken, the last with half of the remaining releases, others
        a quarter.
        """
        for candidate in finalists:
            last = candidate is finalists[-1]
            size = self.effort.releases_left // (2 if last else 4)
            if size and self._try(subject, candidate, size):
                return

    def _study_candidate(
        self, subject: AuditTarget, candidate: _CandidatePair, size: int, table: TabulatedCeiling
    ) -> None:
        """Sample a pair and learn its event again."""
        half = size // 2
        candidate.order_sample += self._draw_samples(subject, candidate.pair, half)
        candidate.decide_sample += self._draw_samples(subject, candidate.pair, half)
        more = reachability_features(
            candidate.order_sample.first,
            candidate.pair,
            usual_scales(subject.claim.claimed_parameter, subject.contribution),
        )
        candidate.lesson = learn_event(
            candidate.order_sample, candidate.decide_sample, candidate.pair.items_of_user, table, more
        )

    def _confirm_broken(self, subject: AuditTarget, candidates: Sequence[_CandidatePair], size: int) -> bool:
        """Test those candidates whose score is convincing; True if one is broken."""
        if self._tests >= TESTS - _FINALISTS:
            return False
        sure = [candidate for candidate in candidates if candidate.lesson.score > _SURE]
        return any(self._try(subject, candidate, min(size, self.effort.releases_left // 4)) for candidate in sure)

    def _try(self, subject: AuditTarget, candidate: _CandidatePair, size: int) -> bool:
        """Test the learned event on a fresh sample; True if the promise is broken."""
        event = candidate.lesson.event
        if event is None or self._tests >= TESTS:
            return False
        self._tests += 1
        samples = self._draw_samples(subject, candidate.pair, size)
        this, other = (samples.second, samples.first) if event.likelier_on_second else (samples.first, samples.second)
        error = self.significance / (2 * TESTS)  # two bounds for each test
        above = lower_bound(event.hits(this), this.total(), error)
        below = upper_bound(event.hits(other), other.total(), error)
        size_found = strength_of_event(subject.claim, above, below)
        broken = size_found > subject.claim.claimed_parameter
        result = AttackResult(
            "sampled",
            candidate.pair,
            size_found,
            broken,
            str(event),
            not event.likelier_on_second,
            above,
            below,
            event.contains,
        )
        if self._worst is None or result.strength > self._worst.strength:
            self._worst = result
        return broken

    def _draw_samples(self, subject: AuditTarget, pair: NeighbourPair, n: int) -> Samples:
        """Draw `n` releases of each table, and count them."""
        samples = Samples(subject.sample_side(pair, True, n), subject.sample_side(pair, False, n))
        self.effort.releases_made += 2 * n
        self.tell(self.effort.share)
        return samples
