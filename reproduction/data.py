"""Where the data are: counts and events as Parquet files in one folder, read once for each process.

The package carries no data. A folder is what the call says, what CRESTLINE_DATA says, or `shared/data` beside the
checkout this package runs from.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crestline.errors import ParameterError

DATA = "CRESTLINE_DATA"
PUBLISHED = "CRESTLINE_PUBLISHED"
_CHECKOUT = Path(__file__).resolve().parents[1]


def folder(given: str | None, variable: str, beside: str, environment: Mapping[str, str]) -> Path | None:
    """The folder a call names, or its environment variable, or `shared/…` beside a checkout; None without any."""
    named = given or environment.get(variable)
    if named:
        path = Path(named)
        if not path.is_dir():
            raise ParameterError(f"there is no folder {named}")
        return path
    near = (_CHECKOUT / "shared" / beside, *(parent / "shared" / beside for parent in _CHECKOUT.parents))
    return next((path for path in near if path.is_dir()), None)


def shelf(given: str | None, environment: Mapping[str, str] = os.environ) -> Shelf:
    """The data, or an error that says where to put them."""
    found = folder(given, DATA, "data", environment)
    if found is None:
        raise ParameterError(f"the data are not part of this package: give their folder with --data, or set {DATA}")
    return Shelf(found)


class Shelf:
    """The data of one folder. A worker process opens its own."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def counts(self, name: str) -> NDArray[np.int64]:
        """The counts of a data set, largest first, zeros included where the file has them.

        From NAME.counts.parquet, or else counted from NAME.events.parquet: distinct users for each item.
        """
        return _counts(self.path, name)

    def real_counts(self, name: str) -> NDArray[np.float64]:
        """The same where the counts are not whole numbers."""
        return np.sort(_column(self.path / f"{name}.counts.parquet", "count").astype(np.float64))[::-1].copy()

    def events(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Distinct (user, item) pairs, both numbered from 0; items by number of users, largest first."""
        return _events(self.path, name)

    def file(self, name: str) -> Path:
        """The file of the events."""
        return self.path / f"{name}.events.parquet"

    def names(self, name: str) -> list[Any]:
        """The labels of the items in the order of `events`: by number of users, largest first."""
        labels = np.unique(_column(self.file(name), "item"))
        return [
            label.item() if isinstance(label, np.generic) else label
            for label in labels[_by_users(_pairs(self.path, name))]
        ]

    def has(self, name: str) -> bool:
        return any((self.path / f"{name}.{kind}.parquet").is_file() for kind in ("counts", "events"))


@lru_cache(maxsize=8)
def _counts(path: Path, name: str) -> NDArray[np.int64]:
    file = path / f"{name}.counts.parquet"
    if file.is_file():
        counts = np.sort(_column(file, "count").astype(np.int64))[::-1].copy()
    else:
        counts = np.bincount(_events(path, name)[1])
    counts.setflags(write=False)
    return counts


@lru_cache(maxsize=4)
def _events(path: Path, name: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    pairs = _pairs(path, name)
    place = np.argsort(_by_users(pairs), kind="stable")
    return pairs[:, 0].copy(), place[pairs[:, 1]]


@lru_cache(maxsize=1)
def _pairs(path: Path, name: str) -> NDArray[np.int64]:
    """Distinct pairs of a user and an item, both numbered in the order of their labels."""
    file = path / f"{name}.events.parquet"
    users = _numbered(_column(file, "user"))
    if _has_column(file, "city"):  # users of the two cities share their numbers, and are different people
        users = users * 2 + _numbered(_column(file, "city"))
    return np.unique(np.stack([_numbered(users), _numbered(_column(file, "item"))], axis=1), axis=0)


def _by_users(pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """The items by their number of users, largest first; equal ones in the order of their labels."""
    return np.argsort(-np.bincount(pairs[:, 1]), kind="stable")


def _numbered(column: NDArray[Any]) -> NDArray[np.int64]:
    return np.unique(column, return_inverse=True)[1].astype(np.int64)


def _column(file: Path, name: str) -> NDArray[Any]:
    import pyarrow.parquet as parquet

    if not file.is_file():
        raise ParameterError(f"there is no file {file.name} in the data folder")
    column: NDArray[Any] = parquet.read_table(file, columns=[name])[name].to_numpy()
    return column


def _has_column(file: Path, name: str) -> bool:
    import pyarrow.parquet as parquet

    return name in parquet.read_schema(file).names
