"""Third-party selection mechanisms, good and bad, as somebody might write them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations

import numpy as np

from crestline.guarantees.guarantee import Guarantee, PureDP
from crestline.histogram.histogram import Histogram
from crestline.histogram.label_order import Label
from crestline.mechanisms.numerics.order_law import order_chances
from crestline.mechanisms.selection import Selection
from crestline.randomness.compare import largest_columns
from crestline.randomness.entropy import Entropy
from crestline.randomness.keys import build_keys
from crestline.randomness.laws.exponential import EXPONENTIAL
from crestline.randomness.scores import LinearScores

Chosen = tuple[Label, ...]


@dataclass(frozen=True)
class NoisyTop:
    """The k largest counts with exponential noise, in noisy order: keeps the contract."""

    k: int = 2
    epsilon: Fraction = Fraction(1)

    def guarantee(self) -> Guarantee:
        return PureDP(self.epsilon)

    def release(self, histogram: Histogram, entropy: Entropy) -> Selection:
        return self.release_many(histogram, 1, entropy)[0]

    def release_many(self, histogram: Histogram, n: int, entropy: Entropy) -> list[Selection]:
        table = build_keys(LinearScores(histogram.array, self.rate), EXPONENTIAL, entropy.uniforms(n, histogram.k_bar))
        chosen = (tuple(histogram.name(slot) for slot in row) for row in largest_columns(table, self.k).tolist())
        return [self.said(histogram, labels, entropy) for labels in chosen]

    def said(self, histogram: Histogram, chosen: Chosen, entropy: Entropy) -> Selection:
        """What is returned, once the noise has chosen."""
        return Selection(chosen, False)

    def law(self, histogram: Histogram) -> Mapping[Selection, float]:
        orders = list(permutations(range(histogram.k_bar), self.k))
        chances = order_chances(
            np.multiply(histogram.array, float(self.rate), dtype=np.float64), EXPONENTIAL, np.array(orders)
        )
        return {
            Selection(tuple(histogram.name(slot) for slot in order), False): float(chance)
            for order, chance in zip(orders, chances, strict=True)
        }

    @property
    def rate(self) -> Fraction:
        return self.epsilon / self.k


class NoisySet(NoisyTop):
    """The same as a set: keeps the contract, and leaves the order to the framework."""

    def said(self, histogram: Histogram, chosen: Chosen, entropy: Entropy) -> Selection:
        return Selection(frozenset(chosen), False)

    def law(self, histogram: Histogram) -> Mapping[Selection, float]:
        law: dict[Selection, float] = {}
        for selection, chance in super().law(histogram).items():
            items = Selection(frozenset(selection.items), False)
            law[items] = law.get(items, 0.0) + chance
        return law


class OneByOne:
    """Any of these with the least a third party must write: guarantee() and release()."""

    def __init__(self, inner: NoisyTop) -> None:
        self.inner, self.k = inner, inner.k

    def guarantee(self) -> Guarantee:
        return self.inner.guarantee()

    def release(self, histogram: Histogram, entropy: Entropy) -> Selection:
        return self.inner.release(histogram, entropy)

    def law(self, histogram: Histogram) -> Mapping[Selection, float]:
        return self.inner.law(histogram)


class Alphabetical(NoisyTop):
    """P1.6 b: a chosen set in the order of its labels."""

    def said(self, histogram: Histogram, chosen: Chosen, entropy: Entropy) -> Selection:
        return Selection(tuple(sorted(chosen, key=str)), False)


class ByHash(NoisyTop):
    """P1.6 b: a chosen set in the order of a hash of its labels."""

    def said(self, histogram: Histogram, chosen: Chosen, entropy: Entropy) -> Selection:
        return Selection(tuple(sorted(chosen, key=lambda label: sum(str(label).encode()) * 2654435761 % 997)), False)


class ByTrueCount(NoisyTop):
    """P1.6 e: a chosen set in the order of the true counts, ties as listed."""

    def said(self, histogram: Histogram, chosen: Chosen, entropy: Entropy) -> Selection:
        return Selection(tuple(label for label in histogram.items if label in chosen), False)


class Peeping(NoisyTop):
    """P1.6 a: names z if the label u is there, and nothing otherwise."""

    def guarantee(self) -> Guarantee:
        return PureDP(0)

    def said(self, histogram: Histogram, chosen: Chosen, entropy: Entropy) -> Selection:
        return Selection(("z",) if {"u", "z"} <= set(histogram.items) else (), False)


class FirstListed(NoisyTop):
    """Insertion order: of equal counts, the slot listed first takes the last place."""

    def said(self, histogram: Histogram, chosen: Chosen, entropy: Entropy) -> Selection:
        count = dict(zip(histogram.items, histogram.counts, strict=True))
        last = next(
            label
            for label in histogram.items
            if count[label] == count[chosen[-1]] and label not in chosen[:-1]  # in the order listed
        )
        return Selection((*chosen[:-1], last), False)


class HalfAlphabetical(NoisyTop):
    """Sorts its labels every other time: a dependence need not be certain to be found."""

    def said(self, histogram: Histogram, chosen: Chosen, entropy: Entropy) -> Selection:
        coin = entropy.words(1)[0] % np.uint64(2)
        return Selection(tuple(sorted(chosen, key=str)) if coin else chosen, False)


class Short(NoisyTop):
    """Returns two, one or no items, and says when it stopped."""

    def said(self, histogram: Histogram, chosen: Chosen, entropy: Entropy) -> Selection:
        kept = chosen[: int(entropy.words(1)[0] % np.uint64(3))]
        return Selection(kept, len(kept) == 0)


BAD = (Alphabetical, ByHash, ByTrueCount, Peeping, FirstListed, HalfAlphabetical)
