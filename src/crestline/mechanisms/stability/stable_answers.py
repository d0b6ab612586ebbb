"""Stable answers, online: many adaptive queries, each answered when it is stable, until too many were not.

Seed        CarvalhoEtAl2020, section 5, after Bassily, Thakkar and Thakurta 2018 (P14.3)
Guarantee   (ε, δ): sparse vector with a cutoff on the failures (P14.3); one failure, one direction: P2.4
Assumes     a distance moves by at most one per user, and is zero on both sides where the values differ (P14.1)
Numerics    exact: rational distances, ε and T, ideal noise decided with certainty (P11), T certified
Proof note  docs/proofs/stability.md
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction

from crestline.errors import MechanismError, ParameterError
from crestline.exact_fields import Flag, Number, Whole, field, to_bool, value
from crestline.exact_numbers import positive_number, probability, whole_number
from crestline.guarantees.cost import Cost, Step, repeat_step
from crestline.guarantees.guarantee import LossInterval, PureDP
from crestline.mechanisms.numerics.order_law import noise_support
from crestline.mechanisms.numerics.quadrature import quadrature_between
from crestline.mechanisms.stability.query import QueryAnswer, StableAnswer, distance_scores
from crestline.mechanisms.stability.sparse_vector import SparseQueries
from crestline.randomness.compare import exceeds_threshold
from crestline.randomness.entropy import Entropy
from crestline.randomness.laws.laplace import LAPLACE
from crestline.randomness.unit_points import Floats

Transcript = tuple[QueryAnswer, ...]


@value
class StableAnswers(SparseQueries):
    """Answers adaptive queries that no small change of the data could alter, until `failures` of them were not stable.

    Attributes:
        queries: Most queries in one interaction.
        failures: Unstable queries that end the interaction.
        epsilon: ε for the whole interaction.
        delta: δ for the whole interaction.
        share: Share of ε for the noise of the threshold.
        one_direction: Whether all distances move in the same direction when a user is added or removed; with one
            failure this halves the noise (P2.4).
    """

    queries: Whole = field(whole_number)
    failures: Whole = field(whole_number)
    epsilon: Number = field(positive_number)
    delta: Number = field(probability)
    share: Number = field(probability, default=Fraction(37, 100))
    one_direction: Flag = field(to_bool, default=False, kw_only=True)

    theorem = "P14.3"
    noise = LAPLACE.name

    def __post_init__(self) -> None:
        if self.one_direction and self.failures != 1:
            raise ParameterError(
                "one_direction needs failures=1: it has an effect only if the first failure ends the interaction"
            )

    def cost(self) -> Cost:
        step: Step = PureDP(self.epsilon, theorem=self.theorem)
        if self.one_direction:
            step = LossInterval(below=self.epsilon - self._threshold_rate, above=self.epsilon, theorem="P2.4")
        return repeat_step(step, delta=self.delta)

    def open(self, entropy: Entropy) -> Interaction:
        """Start an interaction. Its whole cost must be charged before, whatever the number of queries."""
        return Interaction(self, entropy)

    def release_many(self, queries: Sequence[StableAnswer], n: int, entropy: Entropy) -> list[Transcript]:
        """Return `n` independent interactions with the same queries in the same order, vectorised."""
        asked = queries[: self.queries]
        if not asked:
            return [()] * n
        passed = exceeds_threshold(
            self._noisy_distances(distance_scores(asked), n, entropy), self._noisy_threshold(n, entropy)
        )
        made: dict[bytes, Transcript] = {}
        result: list[Transcript] = []
        for row in passed:
            name = row.tobytes()
            if name not in made:
                made[name] = self._build_transcript(asked, row.tolist())
            result.append(made[name])
        return result

    def law(self, queries: Sequence[StableAnswer]) -> Mapping[Transcript, float]:
        """Exact probability of every transcript of a few queries that are fixed in advance."""
        asked = queries[: self.queries]
        passes, weight = self._pass_chances(distance_scores(asked).approx)
        law: defaultdict[Transcript, float] = defaultdict(float)
        pending: list[tuple[list[bool], Floats]] = [([], weight)]
        while pending:
            bits, chance = pending.pop()
            if len(bits) == len(asked) or bits.count(False) == self.failures:
                law[self._build_transcript(asked, bits)] += float(chance.sum())
                continue
            pending.append(([*bits, True], chance * passes[len(bits)]))
            pending.append(([*bits, False], chance * (1.0 - passes[len(bits)])))
        return dict(law)

    @property
    def _distance_rate(self) -> Fraction:
        """Rate of the noise on a distance: `failures` failures are paid for, in either direction."""
        return (self.epsilon - self._threshold_rate) / (1 if self.one_direction else 2 * self.failures)

    def _build_transcript(self, queries: Sequence[StableAnswer], passed: Sequence[bool]) -> Transcript:
        answers: list[QueryAnswer] = []
        failed = 0
        for index, good in enumerate(passed):
            answers.append(QueryAnswer(index, queries[index].value) if good else QueryAnswer(index, stopped=True))
            failed += not good
            if failed == self.failures:
                break
        return tuple(answers)

    def _pass_chances(self, gaps: Floats) -> tuple[Floats, Floats]:
        """Probability of each query to pass at every node of the threshold's noise, and the weights of the nodes."""
        a, b, bar = float(self._distance_rate), float(self._threshold_rate), float(self.threshold)
        below, above = noise_support(LAPLACE)
        kinks = [0.0, *(b * (gaps - bar)).tolist()]
        grid = quadrature_between(-below, above, kinks, piece=min(1.0, b / a))
        passes: Floats = LAPLACE.survival(a * (bar + grid.points / b - gaps[:, None]))
        return passes, grid.weights * LAPLACE.density(grid.points)


class Interaction:
    """One interaction with an analyst, made by `StableAnswers.open`. Not to be copied or shared between threads."""

    def __init__(self, mechanism: StableAnswers, entropy: Entropy) -> None:
        self._mechanism = mechanism
        self._entropy = entropy
        self._bar = mechanism._noisy_threshold(1, entropy)
        self._asked = 0
        self._failed = 0

    @property
    def is_over(self) -> bool:
        """Whether no further query will be answered; public."""
        return self._asked == self._mechanism.queries or self._failed == self._mechanism.failures

    def answer(self, query: StableAnswer) -> QueryAnswer:
        """Return the query's value if it is stable, otherwise a stop, which counts as a failure.

        Raises:
            MechanismError: The interaction is over.
        """
        if self.is_over:
            raise MechanismError("this interaction has ended: open another one, at the full price again")
        index = self._asked
        self._asked += 1
        if exceeds_threshold(
            self._mechanism._noisy_distances(distance_scores([query]), 1, self._entropy), self._bar
        ).item():
            return QueryAnswer(index, query.value)
        self._failed += 1
        return QueryAnswer(index, stopped=True)
