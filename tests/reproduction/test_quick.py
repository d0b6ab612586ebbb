"""`crestline reproduce --quick` on the papers' data, where they are at hand: every number is met or explained."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crestline.cli.main import run
from reproduction.data import folder

DATA, PUBLISHED = (folder(None, "", name, {}) for name in ("data", "published"))


@pytest.mark.slow
@pytest.mark.skipif(DATA is None or PUBLISHED is None, reason="the data and the published numbers are not part of this")
def test_the_quick_run_meets_the_published_numbers(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["reproduce", "--quick", "--results", str(tmp_path), "--workers", "2"]) == 0
    verdicts = [row["verdict"] for row in json.loads(capsys.readouterr().out)]
    assert len(verdicts) > 100
    assert sum(verdict == "met" for verdict in verdicts) > 0.9 * len(verdicts)
    assert {"README.md", "top_stable.md", "framework.md"} <= {path.name for path in tmp_path.iterdir()}
