"""Where data are found, and how they are read."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.reproduction.made import COUNTS, folder

from crestline.errors import ParameterError
from reproduction import data
from reproduction.data import DATA, Shelf, shelf


def test_counts_are_ranked_and_events_are_counted_by_user(tmp_path: Path) -> None:
    made = Shelf(folder(tmp_path))
    assert made.counts("MADE").tolist() == COUNTS
    assert made.counts("EVENTS").tolist() == [3, 1, 1]  # one user twice at the same item counts once
    users, items = made.events("EVENTS")
    assert len(users) == len(items) == 5
    assert made.has("MADE")
    assert not made.has("ABSENT")
    with pytest.raises(ParameterError, match=r"ABSENT\.events\.parquet"):
        made.counts("ABSENT")


def test_the_folder_is_named_or_set_or_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shelf(str(tmp_path), {}).path == tmp_path
    assert shelf(None, {DATA: str(tmp_path)}).path == tmp_path
    with pytest.raises(ParameterError, match="there is no folder"):
        shelf(str(tmp_path / "absent"), {})
    monkeypatch.setattr(data, "_CHECKOUT", tmp_path / "checkout")
    with pytest.raises(ParameterError, match="--data"):
        shelf(None, {})
    (tmp_path / "shared" / "data").mkdir(parents=True)
    assert shelf(None, {}).path == tmp_path / "shared" / "data"
