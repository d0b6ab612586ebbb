"""Every page is written whatever has been run, and every published number has its cell."""

from __future__ import annotations

import pytest

from reproduction.catalogue import papers
from reproduction.data import folder
from reproduction.experiment import Estimate, Paper, Results
from reproduction.metrics import METRICS
from reproduction.published import Published
from reproduction.summary import summary

NEAR = folder(None, "", "published", {})


@pytest.mark.parametrize("paper", papers(), ids=lambda paper: paper.name)
def test_a_page_without_results_has_holes(paper: Paper) -> None:
    page = paper.page(Results(), Published(None))
    assert page.text.startswith("# ")


def test_the_summary_of_made_up_results() -> None:
    """Where every number is the same, nobody is better and nobody is worse."""
    same = {name: Estimate(0.5, 0.01) for name in (*METRICS, "printed_p")}
    stable = next(paper for paper in papers() if paper.name == "top_stable")
    results = Results({(one.name, cell.key): same for one in stable.experiments for cell in one.cells})
    text = summary([stable], results, Published(None)).text
    assert "worse: 0 cells" in text
    assert "| 100.0% |" in text


@pytest.mark.skipif(NEAR is None, reason="the published numbers are not part of crestline")
@pytest.mark.parametrize("paper", papers(), ids=lambda paper: paper.name)
def test_every_published_number_has_its_cell(paper: Paper) -> None:
    keys = {(one.name, cell.key) for one in paper.experiments for cell in one.cells}
    for check in paper.checks(Published(NEAR)):
        assert (check.experiment, check.cell.key) in keys
        assert not check.spread or (check.spread, check.cell.key) in keys
