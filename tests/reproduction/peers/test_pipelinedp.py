from __future__ import annotations

import os
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from reproduction.peers import pipelinedp
from reproduction.peers.pipelinedp_run import largest
from reproduction.peers.setting import Setting

SETTING = {"epsilon": 1.0, "delta": 1e-6, "bound": 3, "noise": "gaussian", "k": 2}


class _Library(SimpleNamespace):
    """Stands for PipelineDP: counts without noise, and remembers what it was told."""

    def __init__(self) -> None:
        self.told: dict[str, Any] = {}
        self.Metrics = SimpleNamespace(COUNT="count")
        self.NoiseKind = SimpleNamespace(LAPLACE="laplace", GAUSSIAN="gaussian")

    def NaiveBudgetAccountant(self, **budget: float) -> Any:  # the library's own name
        self.told |= budget
        return SimpleNamespace(compute_budgets=lambda: self.told.update(computed=True))

    def AggregateParams(self, **parameters: Any) -> None:  # the library's own name
        self.told |= parameters

    def DataExtractors(self, **columns: Any) -> None:  # the library's own name
        self.told |= columns

    def LocalBackend(self) -> None:  # the library's own name
        return None

    def DPEngine(self, budget: Any, backend: None) -> Any:  # the library's own name
        def aggregate(rows: list[int], parameters: None, columns: None) -> Any:
            return ((item, SimpleNamespace(count=rows.count(item))) for item in set(rows))

        return SimpleNamespace(aggregate=aggregate)


def test_the_library_is_given_what_the_setting_says(monkeypatch: pytest.MonkeyPatch) -> None:
    library = _Library()
    monkeypatch.setitem(sys.modules, "pipeline_dp", library)
    assert largest([5, 7, 7, 9, 9, 9], SETTING) == [9, 7]
    assert library.told["total_epsilon"] == 1.0
    assert library.told["total_delta"] == 1e-6
    assert library.told["max_partitions_contributed"] == 3
    assert library.told["noise_kind"] == "gaussian"
    assert library.told["computed"]


def test_without_an_environment_it_is_not_available() -> None:
    assert not pipelinedp.available({})


@pytest.mark.slow
@pytest.mark.skipif(not pipelinedp.available(), reason="there is no environment with PipelineDP")
def test_it_runs_in_its_own_environment() -> None:
    samples = [np.repeat([3, 1, 2], [5_000, 9_000, 1])] * 2
    found = pipelinedp.noisy_tops(samples, Setting(1.0, 1e-6, 3, "laplace", 5), os.environ)
    assert found == [[1, 3], [1, 3]]
