"""Statements of the foundations hold on every small case."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest

from crestline.audit.neighbours import Counts, small_histogram_pairs
from crestline.guarantees.conversion import zcdp_epsilon
from crestline.histogram.histogram import Histogram

PAIRS = list(small_histogram_pairs("abcd", 3))


def ranked(counts: Counts) -> list[str]:
    return sorted(counts, key=lambda label: (-counts[label], label))


@pytest.mark.parametrize("k_bar", [1, 2, 3])
def test_p1_1_on_all_small_pairs(k_bar: int) -> None:
    for h, before in PAIRS:
        inside, was_inside = set(ranked(h)[:k_bar]), set(ranked(before)[:k_bar])
        b, was_b = h[ranked(h)[k_bar]], before[ranked(before)[k_bar]]
        new, old = sorted(inside - was_inside), sorted(was_inside - inside)
        assert len(new) == len(old)
        assert was_b <= b <= was_b + 1  # (d)
        touched = sum(h[label] - before[label] for label in h)
        assert len(new) <= min(touched, k_bar)  # (b)
        for u in new:
            assert h[u] > before[u]
            assert h[u] <= was_b + 1 <= b + 1  # (c)
        for w in old:
            assert before[w] <= b <= was_b + 1
        for paired in permutations(old):  # (e), for every pairing
            moves = [h[e] - before[e] for e in inside & was_inside] + [b - was_b]
            moves += [h[u] - before[w] for u, w in zip(new, paired, strict=True)]
            assert min(moves) >= 0
            assert max(moves) <= 1
            assert sum(moves) <= touched


def test_a_whole_list_given_no_unstable_label_is_not_the_smaller_list() -> None:
    """P1.8: conditioning works draw by draw. For two draws the law of the list is another one."""
    weights = {"a": 3.0, "b": 1.0, "c": 1.0, "u": 2.0}

    def chance(order: tuple[str, str], names: set[str]) -> float:
        total = sum(weights[name] for name in names)
        return weights[order[0]] / total * weights[order[1]] / (total - weights[order[0]])

    stable = {"a", "b", "c"}
    lists = [(x, y) for x in stable for y in stable if x != y]
    given = {order: chance(order, set(weights)) for order in lists}
    total = sum(given.values())
    alone = {order: chance(order, stable) for order in lists}
    assert max(abs(given[order] / total - alone[order]) for order in lists) > 0.01


@pytest.mark.parametrize("strict", [False, True])
def test_p1_8_raw_rows_and_the_strict_domain_with_two_draws(strict: bool) -> None:
    """Two draws on rows as they come: δ at 2ε stays within the claim for every small pair."""
    epsilon, delta, k_bar = 0.5, 0.1, 2

    def law(counts: Counts) -> dict[tuple[str, ...], float]:
        rows = [label for label in ranked(counts) if counts[label]]
        b = counts[rows[k_bar]] if len(rows) > k_bar else 0
        kept = [label for label in rows[:k_bar] if not strict or counts[label] > b]
        weights = {label: math.exp(epsilon * (counts[label] - b - 1)) for label in kept}
        weights["⊥"] = k_bar * (1 - delta) / delta
        found: dict[tuple[str, ...], float] = {}
        for one, first in weights.items():
            share = first / sum(weights.values())
            if one == "⊥":
                found[(one,)] = share
                continue
            left = sum(weights.values()) - first
            for two, second in weights.items():
                if two != one:
                    found[one, two] = share * second / left
        return found

    worst = 0.0
    for h, before in PAIRS:
        for first, second in ((law(h), law(before)), (law(before), law(h))):
            worst = max(worst, sum(max(0.0, p - math.exp(2 * epsilon) * second.get(o, 0.0)) for o, p in first.items()))
    assert 0.5 * delta < worst <= delta + 1e-12


def test_p2_2_the_exact_curve_of_one_step() -> None:
    epsilon = 0.8
    for a in np.linspace(-0.7, 0.7, 8):
        t = np.linspace(max(0.0, a), min(epsilon, epsilon + a), 20_001)
        best = ((1 - np.exp(t - epsilon)) * (1 - np.exp(a - t)) / (1 - math.exp(-epsilon))).max()
        formula = (1 - math.exp((a - epsilon) / 2)) ** 2 / (1 - math.exp(-epsilon))
        assert abs(best - formula) < 1e-8


def test_p10_2_every_order_gives_a_bound_above_the_best() -> None:
    rho, delta = 0.05, 1e-6
    best = float(zcdp_epsilon("0.05", "1e-6"))
    bounds = [a * rho + math.log(1 / (a * delta)) / (a - 1) + math.log(1 - 1 / a) for a in np.linspace(1.01, 100, 500)]
    assert best <= min(bounds) + 1e-9
    assert min(bounds) - best < 1e-3


def test_padding_makes_short_tables_look_like_long_ones() -> None:
    for counts in ({}, {"a": 14}, {"a": 14, "u": 1}):
        assert Histogram.from_counts(counts, 2).k_bar == 2
