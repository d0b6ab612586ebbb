"""The exact attack: compare the laws of two neighbours outcome by outcome."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from crestline.audit.claims import ApproximateClaim, Claim, Law, outcomes_by_ratio
from crestline.audit.neighbours import Counts, HistogramShape, NeighbourPair
from crestline.audit.protocols import AttackResult
from crestline.audit.target import AuditSubject
from crestline.audit.testers.attack_limits import AttackLimits
from crestline.audit.testers.features import kind_text
from crestline.audit.testers.special_pairs import neighbouring_pairs

# Laws are floating-point numbers: a strength this close to the claim counts as equal.
_SLACK = 1e-6
_STEPS = (1, 2, 5)


@dataclass(frozen=True)
class WorstPair:
    """The neighbouring pair that needs the largest δ at the claimed ε, and that δ."""

    delta: float
    first: Counts
    second: Counts


def hockey_stick_divergence(first: Law, second: Law, epsilon: float) -> float:
    """`Σ max(0, P - e^ε Q)`: smallest δ for which `Pr_P[S] <= e^ε Pr_Q[S] + δ` for every event S."""
    factor = math.exp(epsilon)
    return math.fsum(max(0.0, chance - factor * second.get(outcome, 0.0)) for outcome, chance in first.items())


def tightest_epsilon(first: Law, second: Law, delta: float) -> float:
    """Smallest ε for which both laws are within (ε, δ) of each other; infinite if none up to 512 is."""
    return ApproximateClaim(0.0, delta).needed_parameter(first, second)


def worst_pair(law_of: Callable[[Counts], Law], pairs: Iterable[tuple[Counts, Counts]], epsilon: float) -> WorstPair:
    """The pair, in either order, that needs the largest δ at this ε."""
    laws: dict[tuple[tuple[str, int], ...], Law] = {}

    def law(counts: Counts) -> Law:
        key = tuple(sorted(counts.items()))
        if key not in laws:
            laws[key] = law_of(counts)
        return laws[key]

    worst = WorstPair(0.0, {}, {})
    for with_user, without in pairs:
        for first, second in ((with_user, without), (without, with_user)):
            delta = hockey_stick_divergence(law(first), law(second), epsilon)
            if delta > worst.delta:
                worst = WorstPair(delta, first, second)
    return worst


@dataclass
class ExactTester:
    """Compares the laws that a mechanism states: of every given pair, then of neighbours of the worst pair."""

    effort: AttackLimits
    tell: Callable[[float], None] = lambda share: None
    _laws: dict[Any, Law] = field(default_factory=dict)

    def test(self, subject: AuditSubject, pairs: Sequence[NeighbourPair]) -> AttackResult | None:
        """The worst pair, or None if the time limit allowed none."""
        best: tuple[NeighbourPair | None, float] = (None, -1.0)
        for pair in pairs:
            if self.effort.is_exhausted:
                break
            best = self._worse_pair(subject, pair, best)
        while best[0] is not None and not self.effort.is_exhausted:
            before = best
            for near in neighbouring_pairs(best[0], subject.contribution, _STEPS):
                if not self.effort.is_exhausted:
                    best = self._worse_pair(subject, near, best)
            if best == before:
                break
        return None if best[0] is None else self._tester_result(subject, best[0], best[1])

    def _worse_pair(
        self, subject: AuditSubject, pair: NeighbourPair, best: tuple[NeighbourPair | None, float]
    ) -> tuple[NeighbourPair | None, float]:
        """The pair and its parameter if it needs a larger one than the worst so far, otherwise the worst so far."""
        first, second = self._law(subject, pair.with_user, pair.shape), self._law(subject, pair.without, pair.shape)
        self.tell(self.effort.share)
        needed = subject.claim.needed_parameter(first, second, max(0.0, best[1]))
        return (pair, needed) if needed > best[1] else best

    def _law(self, subject: AuditSubject, counts: Counts, shape: HistogramShape) -> Law:
        key = (shape, tuple(sorted((label, count) for label, count in counts.items() if count)))
        if key not in self._laws:
            self._laws[key] = subject.law(counts, shape)
        return self._laws[key]

    def _tester_result(self, subject: AuditSubject, pair: NeighbourPair, needed: float) -> AttackResult:
        laws = (self._law(subject, pair.with_user, pair.shape), self._law(subject, pair.without, pair.shape))
        number = min(needed, subject.claim.claimed_parameter)
        sides = [_telling_event(laws[side], laws[1 - side], subject.claim, number) for side in (0, 1)]
        side = 0 if sides[0][0] >= sides[1][0] else 1
        _, above, below, event = sides[side]
        broken = needed > subject.claim.claimed_parameter + _SLACK
        tells = frozenset(event).__contains__
        return AttackResult("exact", pair, needed, broken, _event_text(event), side == 0, above, below, tells)


def _telling_event(first: Law, second: Law, claim: Claim, number: float) -> tuple[float, float, float, list[Any]]:
    """The event that most exceeds what a claim with this parameter allows: excess, both probabilities, outcomes."""
    outcomes = outcomes_by_ratio(first, second)
    above = np.cumsum([first.get(outcome, 0.0) for outcome in outcomes])
    below = np.minimum(1.0, np.cumsum([second.get(outcome, 0.0) for outcome in outcomes]))
    excess = above - claim.largest_allowed_chance(below, number)
    place = int(np.argmax(excess[:-1])) if len(excess) > 1 else 0  # the event of all outcomes reveals nothing
    return float(excess[place]), float(above[place]), float(below[place]), outcomes[: place + 1]


def _event_text(event: list[Any]) -> str:
    texts = [f"the answer is {kind_text(outcome.key)}" for outcome in event[:3]]
    more = len(event) - len(texts)
    return ", or ".join(texts) + (f", or {more} more like these" if more else "")
