"""Counts of what the sieve names, on real data: their errors and intervals, and bounded counts of OpenDP beside them.

    python -m reproduction.counts [--data FOLDER] [--runs N] [--only NAME,NAME]
    python -m reproduction.counts --render

Writes docs/results/counts.json, one data set after the other, and from it counts.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from statistics import mean, median

import numpy as np
from numpy.typing import NDArray

from crestline.histogram.relation import Relation
from crestline.ledger.budget import Budget
from crestline.mechanisms.observed.sieve import Sieve
from crestline.mechanisms.selection import Selection
from crestline.prepare import prepare
from crestline.question import Question
from crestline.randomness.entropy import replay
from reproduction.bounded import bounded_items, sampler
from reproduction.counted import KEPT, Cell, read_cells
from reproduction.data import Shelf, shelf
from reproduction.papers.practice_page import DATA, DELTA, OTHERS
from reproduction.peers.thresholds import gaussian_setting
from reproduction.render import table

KS = (10, 50, 100)
EPSILONS = (Fraction(3, 10), Fraction(1), Fraction(3))
PRACTICE = (Fraction(1, 10), *EPSILONS)  # of the five data sets of the page on practice
BOUNDS = (1, 2, 5, 10, 20, 50, 100, 200)
PEER_RUNS = 2
ON_A_LEDGER = ("ONLINE_RETAIL", "BOOKCROSSING_SUBSET", "LASTFM_HETREC", "YELP_REVIEWS_5CORE", "BMS_WEBVIEW1")
PAGE = KEPT.with_suffix(".md")
CLEAR = 0.01


@dataclass
class OnALedger:
    """Items named by defaults on a ledger in each run, without counts and with them."""

    data: str
    without: list[int]
    counted: list[int]


def measure(data: Shelf, name: str, runs: int) -> list[Cell]:
    """All cells of one data set."""
    users, items = data.events(name)
    pairs, truth = Relation(users, items), data.counts(name)
    cells = [
        _ours(pairs, truth, Cell(name, float(epsilon), k), runs)
        for epsilon in (PRACTICE if name in DATA else EPSILONS)
        for k in KS
    ]
    _add_peers(users, items, truth, cells)
    return cells


def _ours(pairs: Relation, truth: NDArray[np.int64], cell: Cell, runs: int) -> Cell:
    mechanism = Sieve(cell.k, Fraction(str(cell.epsilon)), DELTA, counts=True)
    errors, widths = [], []
    for run in range(runs):
        key = f"counts|{cell.data}|{cell.epsilon}|{cell.k}|{run}"
        found = mechanism.release(pairs, replay(key))
        if not run:
            _check_same_names(found, Sieve(cell.k, mechanism.epsilon, DELTA).release(pairs, replay(key)))
        cell.shares.append(sum(item < cell.k for item in found.items) / cell.k)
        cell.named.append(len(found))
        for item, count, bound in zip(found.items, found.counts or (), found.bounds or (), strict=True):
            users = int(truth[item])
            errors.append(abs(float(count) - users) / users)
            widths.append(float(bound.high - bound.low) / 2 / users)
            cell.held += bound.low <= users <= bound.high
    if errors:  # something was named
        cell.error, cell.width = median(errors), median(widths)
    return cell


def _check_same_names(counted: Selection, alone: Selection) -> None:
    if counted.items != alone.items:
        raise AssertionError("counts have changed what is named")


def _add_peers(users: NDArray[np.int64], items: NDArray[np.int64], truth: NDArray[np.int64], cells: list[Cell]) -> None:
    """OpenDP's thresholded counts with Gaussian noise, at its own scale and threshold, of users of bounded items."""
    chance = sampler(f"bounded counts {cells[0].data}")
    for bound in BOUNDS:
        found: dict[tuple[float, int], list[tuple[float, float, float | None]]] = {}
        for _ in range(PEER_RUNS):
            counts = np.bincount(bounded_items(users, items, bound, chance), minlength=len(truth))
            there = np.flatnonzero(counts)
            noise = chance.standard_normal(len(there))
            for epsilon in {cell.epsilon for cell in cells}:
                scale, threshold = gaussian_setting(bound, epsilon, float(DELTA))
                noisy = counts[there] + scale * noise
                order = np.argsort(-noisy)[: max(KS)]
                order = order[noisy[order] > threshold]
                for k in KS:
                    named = there[order[:k]]
                    errors = np.abs(noisy[order[:k]] - truth[named]) / truth[named]
                    error = float(np.median(errors)) if len(errors) else None
                    found.setdefault((epsilon, k), []).append((float((named < k).sum() / k), len(named) / k, error))
        for cell in cells:
            shares, many, errors_of = zip(*found[cell.epsilon, cell.k], strict=True)
            known = [error for error in errors_of if error is not None]
            cell.peers.append((mean(shares), mean(many), mean(known) if known else None))


def on_a_ledger(data: Shelf, name: str, runs: int) -> OnALedger:
    """Items named by the default question on a ledger: k = 10, the usual share of a budget of ε = 10."""
    pairs = Relation(*data.events(name))
    found = OnALedger(name, [], [])
    for counts, named in ((False, found.without), (True, found.counted)):
        question = Question(k=10, epsilon=Fraction(1), delta=Fraction(1, 10**8), counts=counts)
        prepared = prepare(question, budget=Budget(epsilon=10, delta="1e-5"))
        for run in range(runs):
            (selection,) = prepared.mechanism.release_seen(pairs, 1, replay(f"ledger|{name}|{run}"))
            named.append(len(selection))
    return found


def page(cells: Sequence[Cell], ledgers: Sequence[OnALedger], runs: int) -> str:
    """The page, from what was measured."""
    practice = [cell for cell in cells if cell.data in DATA and cell.epsilon in (0.1, 1.0)]
    larger = [cell for cell in cells if cell.epsilon > 0.2]
    ahead = sum(cell.share > cell.best_share[0] + CLEAR for cell in practice)
    behind = sum(cell.share < cell.best_share[0] - CLEAR for cell in practice)
    compared = [cell for cell in larger if cell.ours_names_half and cell.best_share[1] >= 0.5]
    least = [cell for cell in larger if cell.ours_names_half and cell.least_error is not None]
    parts = (
        "<!-- Written by `python -m reproduction.counts`; do not edit. -->",
        "# Names with numbers",
        f"`counts=True` on pairs of real users and items, {runs} answers a cell, δ = 1e-6, "
        "k = 10, 50 and 100. Counts follow from what the sieve releases anyway ([proof](../proofs/sieve.md)): it names "
        "the same items with them as without, which the program checks in every cell. Beside them bounded counts of "
        "OpenDP: its own scale and threshold for Gaussian noise, on a uniform sample of each user's items, at the best "
        f"of {len(BOUNDS)} bounds from {BOUNDS[0]} to {BOUNDS[-1]}.",
        "## Share of the true top k",
        f"On the {len(practice)} cells of the [page on practice](practice.md) (ε = 0.1 and 1) the share of the true "
        f"top k with counts is {mean(cell.share for cell in practice):.3f} on average; of OpenDP, at the bound that is "
        f"best for each cell, {mean(cell.best_share[0] for cell in practice):.3f}. Ahead by more than .01 in {ahead} "
        f"cells, behind by more in {behind}.",
        "## Errors",
        "Median relative error of a count against the true number of users. Where both name half of the k items, ours "
        f"is smaller in {_smaller(compared, [cell.best_share[2] for cell in compared])} of {len(compared)} cells "
        "(ε ≥ 0.3) than OpenDP's at its bound of best share, and in "
        f"{_smaller(least, [cell.least_error for cell in least])} of {len(least)} at its bound of least error.",
        "## Intervals",
        "How many of the 95% intervals hold, of all named items, and their median half width against the true number.",
        table(
            ["ε", "hold", "items", "half width", "median error"],
            [_by_epsilon(cells, epsilon) for epsilon in sorted({cell.epsilon for cell in cells})],
        ).strip(),
        "By data set, ε = 0.3 and more:",
        table(
            ["data", "hold", "at 0.3", "at 1", "at 3"],
            [_by_data(larger, name) for name in dict.fromkeys(cell.data for cell in cells)],
        ).strip(),
        f"All of them, ε = 0.3 and more: {_held(larger)}.",
        "## On a ledger",
        "Items named of k = 10 with defaults and a budget in ρ, without counts and with them:",
        table(["data", "without", "with"], [_ledger(one) for one in ledgers]).strip(),
        "## Every cell",
        table(
            ["data", "ε", "k", "share", "named", "error", "hold", "OpenDP share", "its error", "its least error"],
            [_row(cell) for cell in cells],
        ).strip(),
    )
    return "\n\n".join(parts) + "\n"


def _smaller(cells: Sequence[Cell], errors: Sequence[float | None]) -> int:
    return sum(
        cell.error is not None and error is not None and cell.error < error
        for cell, error in zip(cells, errors, strict=True)
    )


def _held(cells: Iterable[Cell]) -> str:
    some = list(cells)
    number = sum(sum(cell.named) for cell in some)
    return f"{sum(cell.held for cell in some) / number:.3f}" if number else "–"


def _by_epsilon(cells: Sequence[Cell], epsilon: float) -> list[str]:
    some = [cell for cell in cells if cell.epsilon == epsilon and cell.error is not None]
    widths, errors = [cell.width or 0.0 for cell in some], [cell.error or 0.0 for cell in some]
    number = sum(sum(cell.named) for cell in some)
    return [f"{epsilon:g}", _held(some), f"{number:,}", f"{median(widths):.0%}", f"{median(errors):.1%}"]


def _by_data(cells: Sequence[Cell], name: str) -> list[str]:
    own = [cell for cell in cells if cell.data == name]
    return [name, _held(own), *(_held(cell for cell in own if cell.epsilon == epsilon) for epsilon in (0.3, 1.0, 3.0))]


def _ledger(one: OnALedger) -> list[str]:
    return [one.data, f"{mean(one.without):.2f}", f"{mean(one.counted):.2f}"]


def _row(cell: Cell) -> list[str]:
    share, _, error = cell.best_share
    numbers = [cell.error, error, cell.least_error]
    mine, theirs, least = ("–" if number is None else f"{number:.3f}" for number in numbers)
    where = [cell.data, f"{cell.epsilon:g}", str(cell.k)]
    return [*where, f"{cell.share:.3f}", f"{mean(cell.named):.1f}", mine, _held([cell]), f"{share:.3f}", theirs, least]


def _read() -> tuple[list[Cell], list[OnALedger], int]:
    if not KEPT.is_file():
        return [], [], 0
    kept = json.loads(KEPT.read_text())
    return read_cells(), [OnALedger(**one) for one in kept["ledgers"]], kept["runs"]


def _write(cells: Iterable[Cell], ledgers: Iterable[OnALedger], runs: int) -> None:
    lines = {"runs": runs, "cells": [asdict(one) for one in cells], "ledgers": [asdict(one) for one in ledgers]}
    KEPT.write_text(json.dumps(lines, default=float) + "\n")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--only")
    parser.add_argument("--render", action="store_true")
    given = parser.parse_args(arguments)
    cells, ledgers, runs = _read()
    for name in () if given.render else _names(given.only):
        found, data = measure(shelf(given.data), name, given.runs), shelf(given.data)
        cells = [cell for cell in cells if cell.data != name] + found
        if name in ON_A_LEDGER:
            ledgers = [one for one in ledgers if one.data != name] + [on_a_ledger(data, name, given.runs)]
        runs = given.runs
        _write(_in_order(cells), ledgers, runs)
    PAGE.write_text(page(list(_in_order(cells)), ledgers, runs), encoding="utf-8")
    return 0


def _names(only: str | None) -> Sequence[str]:
    return (*DATA, *OTHERS) if only is None else only.split(",")


def _in_order(cells: Iterable[Cell]) -> Iterator[Cell]:
    places = {name: place for place, name in enumerate((*DATA, *OTHERS))}
    yield from sorted(cells, key=lambda cell: (places[cell.data], cell.epsilon, cell.k))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
