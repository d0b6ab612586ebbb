"""The grid of [SL]: data, k, ε, and the mechanisms by the names that tables and pictures show."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

DATA = ("NETFLIX", "PATENT", "SEARCHLOGS", "MEDCOST", "INCOME", "HEPTH")
KS = (10, 100, 1000)
QUALITIES = ("TOP", "GREAT", "GOOD")
DELTA = Fraction(1, 10**6)
_STEPS = {10: ("1", "1.8", "3.2", "5.6"), 100: ("1", "1.8", "3.2", "5.6"), 1000: ("1", "3.2")}  # in every decade
EPSILONS: Mapping[int, tuple[Fraction, ...]] = {
    k: tuple(Fraction(digits) * Fraction(10) ** power for power in range(-3, 3) for digits in steps)
    for k, steps in _STEPS.items()
}
SKEWS = tuple(f"{place / 10:g}" for place in range(11))
WANTED = ("0.99", "0.999")

PEELING, CANONICAL, CANONICAL_1 = "peeling", "canonical, γ = 1/2", "canonical, γ = 1"
NOISES: Mapping[str, str] = {
    f"one-shot, {noise}": noise for noise in ("exponential", "half-logistic", "laplace", "logistic")
}
PUBLISHED = (CANONICAL, CANONICAL_1, PEELING, *NOISES)
OURS, PEELING_OURS, RATIO = "auto at (ε, 1e-6)", "peeling at (ε, 1e-6)", "ratio"
ALL = (*PUBLISHED, OURS, PEELING_OURS)
COLOURS: Mapping[str, str] = {
    CANONICAL: "#0072b2",
    CANONICAL_1: "#56b4e9",
    PEELING: "#d55e00",
    "one-shot, exponential": "#e69f00",
    "one-shot, half-logistic": "#cc79a7",
    "one-shot, laplace": "#8a8f98",
    "one-shot, logistic": "#c4b8a8",
    OURS: "#000000",
    PEELING_OURS: "#009e73",
}
