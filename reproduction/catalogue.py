"""The papers, one line each; a module is loaded when it is first asked for."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from reproduction.experiment import Experiment, Paper

# Each is a module below `papers` with a `PAPER`.
MODULES = ("composition", "top_stable", "framework", "canonical", "practice")


@cache
def papers() -> tuple[Paper, ...]:
    """Every paper, in the order of the results page."""
    return tuple(import_module(f"reproduction.papers.{name}").PAPER for name in MODULES)


@cache
def _experiments() -> dict[str, Experiment]:
    return {one.name: one for paper in papers() for one in paper.experiments}


def experiment(name: str) -> Experiment:
    """The experiment of this name."""
    return _experiments()[name]
