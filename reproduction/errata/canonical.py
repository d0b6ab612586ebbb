"""[SL] Shekelyan and Loukides, Differentially private top-k selection via canonical Lipschitz mechanism."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product

from crestline.randomness.laws.laplace import LAPLACE
from reproduction.errata.finding import Kind, Shown, shows
from reproduction.errata.laws import OutputLaw, first_of, loss, softmax, subsets

_K = 2
_LISTS = [tuple(counts) for counts in product(range(0, 5, 2), repeat=4)]


def _loss(counts: Sequence[float], chosen: Sequence[int], gamma: float, *, inner: bool = True) -> float:
    """LOSS of a subset (P8.2); without the inner maximum, as printed, the best k are judged by what they leave out."""
    inside = min(counts[place] for place in chosen)
    outside = max(count for place, count in enumerate(counts) if place not in chosen)
    return (1 - gamma) * (max(outside, inside) if inner else outside) - gamma * inside


def _worst(score: Callable[[Sequence[float], tuple[int, ...]], float]) -> tuple[float, str]:
    """The largest loss over all lists of four small counts and one user more."""
    best, where = 0.0, ""
    for counts in _LISTS:
        for moved in product((0, 1), repeat=4):
            more = tuple(count + up for count, up in zip(counts, moved, strict=True))
            found = loss(_law(more, score), _law(counts, score))
            if found > best:
                best, where = found, f"{counts} and one user of {moved}, k = 2"
    return best, where


def _law(counts: tuple[int, ...], score: Callable[[Sequence[float], tuple[int, ...]], float]) -> OutputLaw:
    return subsets(counts, _K, lambda chosen: score(counts, chosen))


@shows("E-D1")
def sensitivity_of_both_directions() -> Shown:
    """Half the difference instead of half the sum: at γ = 1/4 the noise is half of what is needed."""
    gamma, epsilon = 0.25, 1.0
    printed, where = _worst(
        lambda counts, chosen: -epsilon / (2 * abs((1 - gamma) - gamma) / 2) * _loss(counts, chosen, gamma)
    )
    right, _ = _worst(lambda counts, chosen: -epsilon * _loss(counts, chosen, gamma))
    return Shown("loss at ε = 1, γ = 1/4", printed, epsilon, where, right)


@shows("E-D2", Kind.WRONG)
def number_of_subsets() -> Shown:
    """Classes h = 1..k-1 with bodies from rank h + 1 do not make up all subsets."""
    k, d = 3, 6
    printed = 1 + sum(math.comb(t - h - 1, k - 1 - h) for h in range(1, k) for t in range(k + 1, d + 1))
    right = 1 + sum(math.comb(t - h - 2, k - 1 - h) for h in range(k) for t in range(k + 1, d + 1))
    assert right == math.comb(d, k)
    return Shown("subsets in all classes", printed, math.comb(d, k), "k = 3, d = 6", right)


@shows("E-D3", Kind.WRONG)
def loss_of_the_best_set() -> Shown:
    """Without the inner maximum the best k are weighed differently from the classes of the algorithm."""
    counts, gamma = (9, 5, 1, 1), 0.5
    printed = subsets(counts, _K, lambda chosen: -_loss(counts, chosen, gamma, inner=False))
    right = subsets(counts, _K, lambda chosen: -_loss(counts, chosen, gamma))
    return Shown("chance of the true top 2", printed[0, 1], right[0, 1], "counts (9, 5, 1, 1), ε = 1, γ = 1/2")


@shows("E-D4", Kind.WRONG)
def size_of_a_class() -> Shown:
    """The running product of class sizes: (t - (h+1))/(k - (h+1)) in place of (t - h - 2)/(k - h - 1)."""
    k, t = 2, 3
    printed, right = 1.0, 1.0
    for h in range(k - 2, -1, -1):
        printed *= (t - (h + 1)) / (k - (h + 1))
        right *= (t - h - 2) / (k - h - 1)
    return Shown("size of class (h = 0, t = 3)", printed, right, "k = 2")


@shows("E-D5")
def unscaled_score_of_the_best_set() -> Shown:
    """γ = 1: the best k enter with their count instead of ε/2 times their count."""
    epsilon = 0.1

    def score(counts: Sequence[float], chosen: tuple[int, ...], printed: bool) -> float:
        inside = min(counts[place] for place in chosen)
        ranked = sorted(range(len(counts)), key=lambda place: (-counts[place], place))
        best = set(chosen) == set(ranked[:_K])
        return inside if printed and best else epsilon / 2 * inside

    printed, where = _worst(lambda counts, chosen: score(counts, chosen, True))
    right, _ = _worst(lambda counts, chosen: score(counts, chosen, False))
    return Shown("loss at ε = 0.1", printed, epsilon, where, right)


@shows("E-D6", Kind.WRONG)
def decreasing_quantile() -> Shown:
    """With a decreasing inverse F⁻¹(U^(1/m)) is the least of m noises instead of the largest."""
    m = 10
    scores = [0.0] * (m + 1)
    one = first_of(scores, LAPLACE)[0]
    return Shown(
        "chance that a class of 10 equal subsets wins against one", one, 1 - one, "Laplace noise, equal scores"
    )


@shows("E-D8")
def sensitivity_divided_out_twice() -> Shown:
    """Scores of sensitivity 1/2: dividing by it twice doubles the rate."""
    epsilon, unit = 1.0, 0.5
    laws = {}
    for name, rate in (("printed", epsilon / (2 * unit**2)), ("right", epsilon / (2 * unit))):
        worst = 0.0
        for counts in product((0.0, 1.0, 2.0), repeat=3):
            for moved in product((-unit, 0.0, unit), repeat=3):
                pair = [
                    softmax({place: rate * count for place, count in enumerate(some)})
                    for some in (counts, [a + b for a, b in zip(counts, moved, strict=True)])
                ]
                worst = max(worst, loss(*pair))
        laws[name] = worst
    return Shown("loss at ε = 1", laws["printed"], epsilon, "three scores of sensitivity 1/2, k = 1", laws["right"])


@shows("E-D9")
def inverse_of_the_rate() -> Shown:
    """`exp(-LOSS/(ε/2Δ))`: the rate is turned upside down."""
    epsilon, gamma = 0.5, 0.5
    printed, where = _worst(lambda counts, chosen: -_loss(counts, chosen, gamma) / (epsilon / 2))
    right, _ = _worst(lambda counts, chosen: -_loss(counts, chosen, gamma) * epsilon / 2)
    return Shown("loss at ε = 0.5", printed, epsilon, where, right)


@shows("E-D10", Kind.WRONG)
def sign_of_the_loss() -> Shown:
    """With a plus before the loss the worst sets are the likeliest."""
    counts, gamma, epsilon = (9, 5, 1, 1), 0.5, 1.0
    printed = subsets(counts, _K, lambda chosen: epsilon * _loss(counts, chosen, gamma))
    right = subsets(counts, _K, lambda chosen: -epsilon * _loss(counts, chosen, gamma))
    return Shown("chance of the true top 2", printed[0, 1], right[0, 1], "counts (9, 5, 1, 1), ε = 1, γ = 1/2")
