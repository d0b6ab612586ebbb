"""Running: repeatable, resumable, in any order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.reproduction.made import experiment, folder

from reproduction.catalogue import papers
from reproduction.experiment import Cell, Experiment, Numbers, Results
from reproduction.runner import Job, run, unfinished
from reproduction.store import Store


def silent(name: str, done: int, of: int) -> None:
    """No progress bar."""


def results(one: Experiment, jobs: Sequence[Job], data: Path, target: Path) -> Results:
    run(jobs, Store(target), data, workers=1, watch=silent)
    return Store(target).results([one])  # read again from disk


def test_the_order_of_the_cells_changes_nothing(tmp_path: Path) -> None:
    one, data = experiment(), folder(tmp_path)
    jobs = unfinished([one], Store(tmp_path / "a"), quick=False)
    assert len(jobs) == len(one.cells)
    first = results(one, jobs, data, tmp_path / "a")
    assert first == results(one, jobs[::-1], data, tmp_path / "b")
    assert {key for _, key in first} == {cell.key for cell in one.cells}


def test_what_is_finished_is_not_run_again(tmp_path: Path) -> None:
    one, data = experiment(), folder(tmp_path)
    store = Store(tmp_path / "cells")
    quick = unfinished([one], store, quick=True)
    assert {job.cell.label for job in quick} == {"plain"}
    run(quick, store, data, workers=1, watch=silent)
    left = unfinished([one], Store(tmp_path / "cells"), quick=False)
    assert {job.cell.label for job in left} == {"wide"}
    newer = Experiment(one.name, one.title, one.cells, one.measure, one.quick, version=2)
    assert len(unfinished([newer], Store(tmp_path / "cells"), quick=False)) == len(one.cells)


def test_an_interrupt_keeps_what_is_done(tmp_path: Path) -> None:
    one, data = experiment(), folder(tmp_path)
    seen: list[Cell] = []

    def measure(cell: Cell, shelf: object) -> Numbers:
        if len(seen) == 2:
            raise KeyboardInterrupt
        seen.append(cell)
        return one.measure(cell, shelf)  # type: ignore[arg-type] # a shelf, handed on

    stopped = Experiment(one.name, one.title, one.cells, measure, one.quick)
    store = Store(tmp_path / "cells")
    with pytest.raises(KeyboardInterrupt):
        run(unfinished([stopped], store, quick=False), store, data, workers=1, watch=silent)
    assert set(Store(tmp_path / "cells").finished(one)) == {cell.key for cell in seen}


@pytest.mark.slow
def test_processes_give_what_one_process_gives(tmp_path: Path) -> None:
    one = papers()[0].experiments[0]
    jobs = [job for job in unfinished([one], Store(tmp_path), quick=True) if job.cell.trials == 0][:4]
    run(jobs, store := Store(tmp_path / "many"), tmp_path, workers=2, watch=silent)
    assert store.results([one]) == results(one, jobs, tmp_path, tmp_path / "single")


def test_names_and_keys_are_unique() -> None:
    names = [one.name for paper in papers() for one in paper.experiments]
    assert len(names) == len(set(names))
    for paper in papers():
        for one in paper.experiments:
            keys = [cell.key for cell in one.cells]
            assert len(keys) == len(set(keys)), one.name
