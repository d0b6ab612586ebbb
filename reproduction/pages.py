"""Every page of results, and the first of them: the summary."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reproduction.experiment import Paper, Results
from reproduction.published import Published
from reproduction.render import write
from reproduction.summary import summary


def write_pages(folder: Path, papers: Sequence[Paper], results: Results, published: Published) -> None:
    """Write the page of each paper of which something has been run, and the summary."""
    names = {name for name, _ in results}
    run = [paper for paper in papers if any(one.name in names for one in paper.experiments)]
    for paper in run:
        write(folder, paper.name, paper.page(results, published))
    write(folder, "README", summary(run, results, published))
