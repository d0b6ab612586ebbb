"""`python -m reproduction.automatic [RUNS]`: measure what `auto` gives, and write docs/results/automatic.md."""

from __future__ import annotations

import sys
from pathlib import Path

from reproduction.automatic.measured import (
    CHARGED,
    DELTA,
    EPSILONS,
    KS,
    LEADERS,
    RIVALS,
    ForTheSame,
    Leaders,
    for_the_same_charge,
    leaders,
)
from reproduction.data import shelf
from reproduction.render import table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "results" / "automatic.md"


def main(runs: int = 200, charged_runs: int = 40) -> None:
    """Both tables; the second has fewer runs, because the sieve takes longer than the others."""
    data = shelf(None)
    first = [leaders(data, name, k, epsilon, runs) for name, k in LEADERS for epsilon in EPSILONS]
    second = [for_the_same_charge(data, name, k, charged_runs) for name in CHARGED for k in KS]
    PAGE.write_text(_page(first, second, runs, charged_runs), encoding="utf-8")


def _page(first: list[Leaders], second: list[ForTheSame], runs: int, charged_runs: int) -> str:
    heads = ["data", "k", "ε", "missed", "by slots", "first is first", "auto", "RestrictedGumbel", "Staircase (set)"]
    means = ", ".join(
        f"{name} {sum(values) / len(values):.3f}"
        for name, values in (
            ("`auto`", [one.auto for one in first]),
            ("RestrictedGumbel", [one.gumbel for one in first]),
            ("Staircase", [one.staircase for one in first]),
        )
    )
    more = sum(max(one.others.values()) > one.named + 0.05 for one in second)
    parts = (
        "# What `auto` gives",
        "Written by `python -m reproduction.automatic` on pairs of real users and items kept in memory, "
        f"δ = {float(DELTA):g}. Why `auto` takes what it takes: [decisions](../decisions/auto.md).",
        "## Leaders",
        f"{runs} answers a cell, items not publicly listed, nothing else said. *Missed*: answers that name something, "
        "and not the true first although it leads the (k+1)-th by three margins or more; *–* where it does not lead "
        "so clearly. *By slots*: how often the look took the mechanism that looks at slots. *First is first*: the "
        "list begins with the true first. Then the share of the true top k: `auto`, `RestrictedGumbel`, and the "
        "`Staircase`, which names sets without an order.",
        table(heads, [_leader(one) for one in first]).strip(),
        f"On average: {means}. Cells in which `auto` is below RestrictedGumbel by more than .01: {_below(first)}.",
        "## With a ledger",
        f"{charged_runs} answers a cell, ε = 1. The budget adds up ρ; the others get the ε with which they cost the "
        "same ρ. Items named, as a share of k.",
        table(["data", "k", "auto takes", "ρ", "auto", *RIVALS], [_charged(one) for one in second]).strip(),
        f"Cells in which a mechanism of the catalogue names over 5% of k more than `auto`: {more} of {len(second)}.",
    )
    return "\n\n".join(parts) + "\n"


def _leader(one: Leaders) -> list[str]:
    missed = str(one.missed) if one.clear else "–"
    shares = [f"{value:.3f}" for value in (one.auto, one.gumbel, one.staircase)]
    return [one.data, str(one.k), f"{float(one.epsilon):g}", missed, f"{one.by_slots:.2f}", f"{one.first:.2f}", *shares]


def _charged(one: ForTheSame) -> list[str]:
    others = [f"{one.others[name]:.3f}" for name in RIVALS]
    return [one.data, str(one.k), one.taken, f"{float(one.rho):.4f}", f"{one.named:.3f}", *others]


def _below(first: list[Leaders]) -> str:
    found = [f"{one.data} (k = {one.k}, ε = {float(one.epsilon):g})" for one in first if one.auto < one.gumbel - 0.01]
    return ", ".join(found) or "none"


if __name__ == "__main__":
    main(*(int(number) for number in sys.argv[1:]))
