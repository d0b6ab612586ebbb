"""The page on counts: what it says of cells that are known."""

from __future__ import annotations

from reproduction.counted import Cell
from reproduction.counts import OnALedger, page


def cell(data: str, epsilon: float, *, error: float, held: int) -> Cell:
    """Ten items in each of two runs; OpenDP's errors are .2 at its bound of best share and .1 at another."""
    peers: list[tuple[float, float, float | None]] = [(0.5, 0.6, 0.1), (0.8, 0.9, 0.2), (0.1, 0.1, 0.01)]
    return Cell(data, epsilon, 10, [0.9, 1.0], [10, 10], error, held, 0.3, peers)


def test_the_page_counts_what_it_shows() -> None:
    cells = [
        cell("LASTFM_HETREC", 0.1, error=0.5, held=18),
        cell("LASTFM_HETREC", 1.0, error=0.15, held=19),
        cell("ONLINE_RETAIL", 1.0, error=0.05, held=20),
    ]
    text = page(cells, [OnALedger("LASTFM_HETREC", [10, 9], [10, 9])], 2)
    assert "On the 2 cells" in text
    assert "is 0.950 on average" in text
    assert "best for each cell, 0.800. Ahead by more than .01 in 2 cells, behind by more in 0." in text
    assert "in 2 of 2 cells (ε ≥ 0.3) than OpenDP's at its bound of best share, and in 1 of 2" in text
    assert "All of them, ε = 0.3 and more: 0.975." in text
    assert "| LASTFM_HETREC | 9.50 | 9.50 |" in text
    assert "| LASTFM_HETREC | 0.950 | – | 0.950 | – |" in text
