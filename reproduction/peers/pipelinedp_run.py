"""Run by the Python that has PipelineDP, and without crestline: settings on standard input, items on standard output.

Contributions are bounded before they come here, so PipelineDP is told so; noise and private choice of partitions are
its own, with its own way to divide the budget between them.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from typing import Any

import numpy as np


def largest(items: list[int], settings: dict[str, Any]) -> list[int]:
    """The items with the largest counts among those PipelineDP releases."""
    dp = import_module("pipeline_dp")
    budget = dp.NaiveBudgetAccountant(total_epsilon=settings["epsilon"], total_delta=settings["delta"])
    engine = dp.DPEngine(budget, dp.LocalBackend())
    parameters = dp.AggregateParams(
        metrics=[dp.Metrics.COUNT],
        noise_kind=dp.NoiseKind.LAPLACE if settings["noise"] == "laplace" else dp.NoiseKind.GAUSSIAN,
        max_partitions_contributed=settings["bound"],
        max_contributions_per_partition=1,
        contribution_bounds_already_enforced=True,
    )
    columns = dp.DataExtractors(partition_extractor=lambda item: item, value_extractor=lambda item: 0)
    released = engine.aggregate(items, parameters, columns)
    budget.compute_budgets()
    counts = {item: metrics.count for item, metrics in released}
    return sorted(counts, key=lambda item: -counts[item])[: settings["k"]]


def main() -> None:
    settings = json.load(sys.stdin)
    with np.load(settings["file"]) as samples:
        found = [largest(samples[name].tolist(), settings) for name in samples.files]
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
