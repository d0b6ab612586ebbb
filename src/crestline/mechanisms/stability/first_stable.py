"""First stable query: of several functions of the data, release the first that is clearly stable.

Seed        CarvalhoEtAl2020, generic form of Algorithm 1 (P14.2); one-sided noise as in P6.2
Guarantee   (ε, δ): sparse vector that stops at the first success (P2.5, P14.2)
Assumes     a distance moves by at most one per user, and is zero on both sides where the values differ (P14.1)
Numerics    exact: rational distances, ε and T, ideal noise decided with certainty (P11), T certified
Proof note  docs/proofs/stability.md
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import islice

import numpy as np

from crestline.exact_fields import ConvertedField, Name, Number, Whole, field, none_or, value
from crestline.exact_numbers import Exact, one_of_names, positive_number, probability, set_frozen_fields, whole_number
from crestline.guarantees.cost import Cost, repeat_step
from crestline.guarantees.guarantee import PureDP
from crestline.mechanisms.stability.query import QueryAnswer, StableAnswer, distance_scores
from crestline.mechanisms.stability.sparse_vector import NOISES, USUAL_SHARES, SparseQueries
from crestline.mechanisms.stability.sparse_vector_law import first_success_law
from crestline.randomness.compare import exceeds_threshold
from crestline.randomness.entropy import Entropy
from crestline.randomness.laws import EXPONENTIAL

NONE_STABLE = QueryAnswer(None, stopped=True)


@value
class FirstStable(SparseQueries):
    """Answers the first of several queries whose answer no small change of the data could alter.

    Attributes:
        queries: Most queries in one release.
        epsilon: ε for all queries together.
        delta: δ for all queries together.
        share: Share of ε for the noise of the threshold; by default 0.22, or 0.37 for Laplace noise.
        noise: `"exponential"` or `"laplace"`.
    """

    queries: Whole = field(whole_number)
    epsilon: Number = field(positive_number)
    delta: Number = field(probability)
    share: ConvertedField[Exact | None, Fraction] = field(none_or(probability), default=None)
    noise: Name = field(one_of_names(NOISES), default=EXPONENTIAL.name)

    theorem = "P14.2"

    def __post_init__(self) -> None:
        if self.share is None:
            set_frozen_fields(self, share=USUAL_SHARES[self.noise])

    def cost(self) -> Cost:
        return repeat_step(PureDP(self.epsilon, theorem="P2.5"), delta=self.delta)

    def release(self, queries: Iterable[StableAnswer], entropy: Entropy) -> QueryAnswer:
        """Return the first stable query and its value, or a stop.

        Args:
            queries: The queries; each is computed only when it is tested.
            entropy: Source of random bits.
        """
        bar = self._noisy_threshold(1, entropy)
        for index, query in enumerate(islice(queries, self.queries)):
            if exceeds_threshold(self._noisy_distances(distance_scores([query]), 1, entropy), bar).item():
                return QueryAnswer(index, query.value)
        return NONE_STABLE

    def release_many(self, queries: Sequence[StableAnswer], n: int, entropy: Entropy) -> list[QueryAnswer]:
        """Return `n` independent releases on the same queries, vectorised; each must be charged."""
        asked = queries[: self.queries]
        if not asked:
            return [NONE_STABLE] * n
        passed = exceeds_threshold(
            self._noisy_distances(distance_scores(asked), n, entropy), self._noisy_threshold(n, entropy)
        )
        first = np.where(passed.any(axis=1), passed.argmax(axis=1), len(asked)).tolist()
        answers = [*(QueryAnswer(index, query.value) for index, query in enumerate(asked)), NONE_STABLE]
        return [answers[index] for index in first]

    def law(self, queries: Sequence[StableAnswer]) -> Mapping[QueryAnswer, float]:
        """Exact probability of every answer to queries fixed in advance."""
        asked = queries[: self.queries]
        chances = first_success_law(
            distance_scores(asked).approx, float(self.threshold), self._distance_rate, self._threshold_rate, self._law
        )
        law: defaultdict[QueryAnswer, float] = defaultdict(float)
        law[NONE_STABLE] += chances[0]
        for index, chance in enumerate(reversed(chances[1:])):
            law[QueryAnswer(index, asked[index].value)] += chance
        return dict(law)
