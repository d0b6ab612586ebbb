"""Small made-up data, and an experiment on them."""

from __future__ import annotations

from pathlib import Path

import pyarrow
import pyarrow.parquet as parquet

from crestline.mechanisms.limited_domain.gumbel import LimitedDomain
from reproduction.experiment import Experiment, cell
from reproduction.simulate import simulated

COUNTS = [90, 70, 50, 30, 3, 2, 2, 1, 1, 1]


def folder(path: Path) -> Path:
    """A data folder with one file of counts and one of events."""
    parquet.write_table(
        pyarrow.table({"element": [f"e{i}" for i in range(len(COUNTS))], "count": COUNTS}),
        path / "MADE.counts.parquet",
    )
    users = ["a", "a", "a", "b", "b", "c"]
    items = ["x", "x", "y", "x", "z", "x"]
    parquet.write_table(pyarrow.table({"user": users, "item": items}), path / "EVENTS.events.parquet")
    return path


def experiment(name: str = "made", trials: int = 50) -> Experiment:
    """Two mechanisms at two ε on the made-up counts."""
    lines = {
        "plain": lambda one: LimitedDomain.for_budget(k=one.k, k_bar=one.k_bar, epsilon=one.epsilon, delta=one.delta),
        "wide": lambda one: LimitedDomain.for_budget(k=one.k, k_bar=8, epsilon=one.epsilon, delta=one.delta),
    }
    cells = tuple(
        cell("MADE", label, k=3, k_bar=5, epsilon=epsilon, delta="0.01", trials=trials)
        for label in lines
        for epsilon in ("0.5", "2")
    )
    return Experiment(name, "made up", cells, simulated(lines), quick=lambda one: one.label == "plain")
