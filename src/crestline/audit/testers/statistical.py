"""The statistical attack, for mechanisms that can only be run.

Pairs compete: all are sampled a little, the better ones more, and the few best meet a last, fresh sample on which the
event learned before is tested with Clopper and Pearson's bounds. Learning and testing never share a sample, and at
most `TESTS` tests are made, so the whole attack raises a false alarm with probability at most `significance`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from crestline.audit.claims import Table, strength
from crestline.audit.finding import Found, Runnable
from crestline.audit.neighbours import Pair
from crestline.audit.testers.bounds import lower_bound, upper_bound
from crestline.audit.testers.effort import Effort
from crestline.audit.testers.events import NOTHING, Lesson, Samples, learn
from crestline.audit.testers.families import around
from crestline.audit.testers.floating import reached, scales

TESTS = 12
# Beyond this many standard deviations a candidate is tested before the competition is over.
_SURE = 7.0
# The competition may use this much of the effort; the rest is for the last test.
_COMPETITION = 0.55
_FINALISTS = 5
_LEADERS = 3
_LEAST = 40
_SOME = 2_000
_KIN = 18


@dataclass
class _Candidate:
    """A pair in the competition, with what was learned about it so far."""

    pair: Pair
    order: Samples = field(default_factory=lambda: Samples(Counter(), Counter()))
    cut: Samples = field(default_factory=lambda: Samples(Counter(), Counter()))
    lesson: Lesson = NOTHING
    tested: int = 0


@dataclass
class StatisticalTester:
    """Attacks by running the mechanism; `tell` is called with the share of the work that is done."""

    significance: float
    effort: Effort
    tell: Callable[[float], None] = lambda share: None
    _tests: int = 0
    _worst: Found | None = None

    def test(self, subject: Runnable, pairs: Sequence[Pair]) -> Found | None:
        """The worst pair found, or None when no event was seen that would be worth a test."""
        table = Table(subject.claim)
        self._first_releases(subject, pairs[0])
        candidates = [_Candidate(pair) for pair in pairs[: max(24, self.effort.left // 1500)]]
        size = min(400, max(_LEAST, int(self.effort.left * 0.12 / (2 * len(candidates)))))
        while self.effort.share < _COMPETITION:
            for candidate in candidates:
                if self.effort.share < _COMPETITION:
                    self._study(subject, candidate, size, table)
            candidates.sort(key=lambda candidate: -candidate.lesson.score)
            if self._confirmed(subject, candidates[:2], max(4 * size, _SOME)):
                return self._worst
            candidates = candidates[: max(_FINALISTS, len(candidates) // 3)]
            if self.effort.share < _COMPETITION:
                candidates += self._kin(subject, candidates)
            size *= 3
        self._finish(subject, candidates[:_FINALISTS])
        return self._worst

    def _first_releases(self, subject: Runnable, pair: Pair) -> None:
        """A few releases that only show how fast the mechanism is."""
        self._draw(subject, pair, 20)

    def _kin(self, subject: Runnable, candidates: Sequence[_Candidate]) -> list[_Candidate]:
        """Pairs close to the leaders join the competition."""
        met = [candidate.pair for candidate in candidates]
        kin: list[Pair] = []
        for leader in met[:_LEADERS]:
            for near in around(leader, subject.contribution):
                if near not in met and near not in kin:
                    kin.append(near)
        return [_Candidate(near) for near in kin[:: max(1, len(kin) // _KIN)]]

    def _finish(self, subject: Runnable, finalists: Sequence[_Candidate]) -> None:
        """The better a finalist did so far, the larger its last sample."""
        for candidate in finalists:
            last = candidate is finalists[-1]
            size = self.effort.left // (2 if last else 4)
            if size and self._try(subject, candidate, size):
                return

    def _study(self, subject: Runnable, candidate: _Candidate, size: int, table: Table) -> None:
        half = size // 2
        candidate.order += self._draw(subject, candidate.pair, half)
        candidate.cut += self._draw(subject, candidate.pair, half)
        more = reached(candidate.order.first, candidate.pair, scales(subject.claim.claimed, subject.contribution))
        candidate.lesson = learn(candidate.order, candidate.cut, candidate.pair.moved, table, more)

    def _confirmed(self, subject: Runnable, candidates: Sequence[_Candidate], size: int) -> bool:
        if self._tests >= TESTS - _FINALISTS:
            return False
        sure = [candidate for candidate in candidates if candidate.lesson.score > _SURE]
        return any(self._try(subject, candidate, min(size, self.effort.left // 4)) for candidate in sure)

    def _try(self, subject: Runnable, candidate: _Candidate, size: int) -> bool:
        """Test the learned event on a fresh sample; True when the promise is broken."""
        event = candidate.lesson.event
        if event is None or self._tests >= TESTS:
            return False
        self._tests += 1
        drawn = self._draw(subject, candidate.pair, size)
        this, other = (drawn.second, drawn.first) if event.swapped else (drawn.first, drawn.second)
        error = self.significance / (2 * TESTS)  # two bounds for each test
        above = lower_bound(event.hits(this), this.total(), error)
        below = upper_bound(event.hits(other), other.total(), error)
        size_found = strength(subject.claim, above, below)
        broken = size_found > subject.claim.claimed
        found = Found(
            "sampled", candidate.pair, size_found, broken, str(event), not event.swapped, above, below, event.contains
        )
        if self._worst is None or found.strength > self._worst.strength:
            self._worst = found
        return broken

    def _draw(self, subject: Runnable, pair: Pair, n: int) -> Samples:
        drawn = Samples(subject.side(pair, True, n), subject.side(pair, False, n))
        self.effort.made += 2 * n
        self.tell(self.effort.share)
        return drawn
