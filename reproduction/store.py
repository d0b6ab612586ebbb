"""Finished cells on disk: one Parquet file for each experiment, replaced as a whole, so it is never half written."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from reproduction.experiment import Cell, Estimate, Experiment, Numbers, Results

_COLUMNS = ("version", "key", "data", "label", "k", "k_bar", "epsilon", "delta", "trials", "metric", "value", "error")


class Store:
    """The finished cells of the experiments under one folder."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows: dict[str, dict[str, list[dict[str, Any]]]] = {}

    def finished(self, experiment: Experiment) -> Mapping[str, Numbers]:
        """What is stored of this version of an experiment, by cell key."""
        return {
            key: {row["metric"]: Estimate(row["value"], row["error"]) for row in rows}
            for key, rows in self._loaded(experiment).items()
        }

    def results(self, experiments: Iterable[Experiment]) -> Results:
        """Everything that is stored of some experiments."""
        return Results({(one.name, key): numbers for one in experiments for key, numbers in self.finished(one).items()})

    def add(self, experiment: Experiment, cell: Cell, numbers: Numbers) -> None:
        """Remember a finished cell; `write` makes it last."""
        self._loaded(experiment)[cell.key] = [_row(experiment, cell, name, value) for name, value in numbers.items()]

    def write(self, experiment: Experiment) -> None:
        """Replace the experiment's file by one that holds everything remembered."""
        import pyarrow
        import pyarrow.parquet as parquet

        rows = [row for _, some in sorted(self._loaded(experiment).items()) for row in some]
        table = pyarrow.table({name: [row[name] for row in rows] for name in _COLUMNS})
        self._path.mkdir(parents=True, exist_ok=True)
        target = self._file(experiment)
        half = target.with_suffix(".new")
        parquet.write_table(table, half, compression="zstd")
        os.replace(half, target)

    def _loaded(self, experiment: Experiment) -> dict[str, list[dict[str, Any]]]:
        if experiment.name not in self._rows:
            found: dict[str, list[dict[str, Any]]] = {}
            self._rows[experiment.name] = found
            for row in self._read(experiment):
                if row["version"] == experiment.version:
                    found.setdefault(row["key"], []).append(row)
        return self._rows[experiment.name]

    def _read(self, experiment: Experiment) -> list[dict[str, Any]]:
        import pyarrow.parquet as parquet

        file = self._file(experiment)
        rows: list[dict[str, Any]] = parquet.read_table(file).to_pylist() if file.is_file() else []
        return rows

    def _file(self, experiment: Experiment) -> Path:
        return self._path / f"{experiment.name}.parquet"


def _row(experiment: Experiment, cell: Cell, metric: str, value: Estimate) -> dict[str, Any]:
    return {
        "version": experiment.version,
        "key": cell.key,
        "data": cell.data,
        "label": cell.label,
        "k": cell.k,
        "k_bar": cell.k_bar,
        "epsilon": float(cell.epsilon),
        "delta": float(cell.delta),
        "trials": cell.trials,
        "metric": metric,
        "value": value.value,
        "error": value.error,
    }
