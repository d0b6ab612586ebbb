"""What the benchmark of scale says is what it measured, and the page gets its figures from the kept file."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.measuring import Row
from benchmarks.scale import BEGIN, END, fill, fitted, words
from benchmarks.sources import PLAIN, TOP_K

ROWS = [
    Row(PLAIN, {"engine": "DuckDB", "rows": 10**5}, 0.5, 0.5, 0.5, 3),
    Row(TOP_K, {"engine": "DuckDB", "rows": 10**5}, 1.0, 1.0, 1.0, 3, extra={"ratio": 2.0, "processor": 2.0}),
    Row(TOP_K, {"engine": "DuckDB", "rows": 10**8}, 10.0, 10.0, 10.0, 3, extra={"ratio": 1.021, "processor": 1.0}),
    Row(TOP_K, {"engine": "Spark, 1 worker", "rows": 10**7}, 30.0, 30.0, 30.0, 3),
    Row(TOP_K, {"engine": "Spark, 2 workers", "rows": 10**7}, 20.0, 20.0, 20.0, 3),
]


def test_a_line_is_found_again() -> None:
    sizes = [10**5, 10**6, 10**7, 10**8]
    start, each = fitted(sizes, [0.25 + 2e-7 * size for size in sizes])
    assert (start, each) == (pytest.approx(0.25), pytest.approx(2e-7))


def test_the_words_are_the_figures() -> None:
    said = " ".join(words(ROWS))
    assert "100,000,000 rows: `top_k` takes 1.021 times plain SQL" in said
    assert "30 s with one worker and 20 s with two, 1.50 times as fast" in said
    assert "one size was measured" in said  # no line through a single point


def test_a_page_is_filled_between_its_marks_however_often(tmp_path: Path) -> None:
    page = tmp_path / "scale.md"
    page.write_text(f"before\n\n{BEGIN}\nold\n{END}\n\nafter\n")
    kept = {"rows": [row.json() for row in ROWS], "machine": "two cores."}
    fill(page, kept)
    once = page.read_text()
    fill(page, kept)
    assert page.read_text() == once
    assert once.startswith("before\n")
    assert once.endswith("\nafter\n")
    assert "old" not in once
    assert "| 100,000 | 500 ms | 1 s |" in once
