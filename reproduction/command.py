"""The command: `python -m reproduction` in a checkout, or `crestline reproduce`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crestline.cli.output import Format, make_console, print_rows

if TYPE_CHECKING:
    from reproduction.checks import Verdict
    from reproduction.experiment import Experiment
    from reproduction.runner import Watch

COLUMNS = {"name": "experiment", "title": "what it is", "cells": "cells", "done": "done", "quick": "quick"}
CHECKS = {"place": "number", "published": "published", "ours": "here", "verdict": "verdict"}

app = typer.Typer(
    add_completion=False, pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]}
)


@app.command()
def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(help="Papers or experiments; see --list.", metavar="NAME")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Run every experiment. Takes up where it stopped.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="A few cells of each, checked against the published numbers. Minutes.")
    ] = False,
    listed: Annotated[bool, typer.Option("--list", help="List the experiments and what is done of them.")] = False,
    data: Annotated[str | None, typer.Option(help="The folder of the data; CRESTLINE_DATA unless given.")] = None,
    published: Annotated[
        str | None, typer.Option(help="The folder of the published numbers; CRESTLINE_PUBLISHED unless given.")
    ] = None,
    results: Annotated[str, typer.Option(help="Where pages, pictures and finished cells go.")] = "crestline-results",
    workers: Annotated[int, typer.Option(help="How many processes; 0: one for each core.", min=0)] = 0,
) -> None:
    """Run the experiments of the papers again, with our mechanisms beside theirs, and write the result pages.

    Ends with 1 when a published number is not met and the difference is not explained. An interrupted run loses
    nothing: run it again. Example: python -m reproduction --quick --data papers/data
    """
    from crestline.errors import ParameterError
    from reproduction.catalogue import papers
    from reproduction.checks import verdicts
    from reproduction.data import shelf
    from reproduction.experiment import chosen
    from reproduction.pages import write_pages
    from reproduction.published import published as read_published
    from reproduction.runner import run, unfinished
    from reproduction.store import Store

    target, wanted = Path(results), tuple(names or ())
    store = Store(target / "cells")
    experiments = list(chosen(papers(), wanted))
    if listed:
        _print_list(experiments, store)
        return
    if not (everything or quick or wanted):
        raise ParameterError("say what to run: --quick, --all, or names of experiments (see --list)")
    known = read_published(published)
    jobs = unfinished(experiments, store, quick=quick)
    with _progress() as watch:
        run(jobs, store, shelf(data).path, workers=workers or os.cpu_count() or 1, watch=watch)
    found = store.results(one for paper in papers() for one in paper.experiments)
    write_pages(target, papers(), found, known)
    made = verdicts(papers(), found, known)
    _print_checks(made)
    if any(one.failed for one in made):
        raise typer.Exit(1)


def _print_list(experiments: Sequence[Experiment], store: object) -> None:
    from reproduction.store import Store

    assert isinstance(store, Store)
    rows = [
        {
            "name": one.name,
            "title": one.title,
            "cells": len(one.cells),
            "done": sum(cell.key in done for cell in one.cells),
            "quick": sum(map(one.quick, one.cells)),
        }
        for one in experiments
        for done in [store.finished(one)]
    ]
    print_rows(COLUMNS, rows, Format.AUTO)


def _print_checks(made: Sequence[Verdict]) -> None:
    rows = [
        {
            "place": one.place,
            "published": f"{one.check.published:.3f}",
            "ours": f"{one.ours.value:.3f} ± {one.ours.error:.3f}",
            "verdict": one.words,
        }
        for one in made
    ]
    print_rows(CHECKS, rows, Format.AUTO)


@contextmanager
def _progress() -> Iterator[Watch]:
    """A bar on standard error, with the time that is left."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    parts = (TextColumn("{task.description:>24}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*parts, console=make_console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None)
        yield lambda what, done, of: bar.update(task, description=what, completed=done, total=of)
