"""Published numbers are read from their folder, and are none without one."""

from __future__ import annotations

from pathlib import Path

import pytest

from reproduction.data import folder
from reproduction.published import Published

NOTES = """
| eps | k | Gowalla TS | Gowalla LD |
|---|---|---|---|
| 0.4 | 3 | 0.973 / 0.975 | 0.852 / 0.866 |
| 1.0 | 50 | 0.444 / 0.631 | 0.453 / 0.639 |

| other | table |
|---|---|
| 1 | 2 |
"""
POINTS = """dataset,metric,k,kbar,mechanism,epsilon_total,mean
2,output_size,10,50k,RG,1.0,9.5
2,output_size,10,k,LD,0.05,1
"""


def test_tables_and_points(tmp_path: Path) -> None:
    (tmp_path / "published_results.md").write_text(NOTES)
    (tmp_path / "rg_ld_figures.csv").write_text(POINTS)
    found = Published(tmp_path)
    assert found.stable["Gowalla", "1.0", 50, "LD"] == (0.453, 0.639)
    assert len(found.stable) == 4
    assert found.framework == {
        ("2", "output_size", 10, 500, "RG", "1"): 9.5,
        ("2", "output_size", 10, 10, "LD", "0.05"): 1.0,
    }


def test_none_without_a_folder() -> None:
    assert not Published(None).stable
    assert not Published(None).framework


def test_every_number_of_the_papers_is_read() -> None:
    near = folder(None, "", "published", {})
    if near is None:
        pytest.skip("the published numbers are not part of crestline")
    assert len(Published(near).stable) == 54
    assert len(Published(near).framework) == 2268
