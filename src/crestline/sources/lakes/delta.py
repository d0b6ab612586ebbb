"""Delta tables, through the library deltalake: a folder with a `_delta_log`, here or in a store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from crestline.sources.files.s3 import S3
from crestline.sources.lakes.lake import Lake

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Schema

Table: TypeAlias = Any  # of deltalake, which is imported when it is needed

_SPELLED = {
    "endpoint": "AWS_ENDPOINT_URL",
    "region": "AWS_REGION",
    "key": "AWS_ACCESS_KEY_ID",
    "secret": "AWS_SECRET_ACCESS_KEY",
    "token": "AWS_SESSION_TOKEN",
}


@dataclass(frozen=True)
class DeltaSnapshot:
    """One version of a table."""

    table: Table

    @property
    def label(self) -> str:
        return f"delta version {self.table.version()}"

    def schema(self) -> Schema:
        return self.table.to_pyarrow_dataset().schema

    def batches(self, columns: Sequence[str]) -> Iterator[RecordBatch]:
        yield from self.table.to_pyarrow_dataset().to_batches(columns=list(columns))


def delta_lake_at(name: str, path: str, version: int | None, store: S3 | None) -> Lake:
    """The table at a path or address, in one version if one is named."""

    def newest_snapshot() -> DeltaSnapshot:
        from deltalake import DeltaTable

        return DeltaSnapshot(DeltaTable(path, version=version, storage_options=_options(store)))

    return Lake(name, newest_snapshot, version is not None, store)


def _options(store: S3 | None) -> dict[str, str] | None:
    """How deltalake calls it."""
    if store is None:
        return None
    options = store.options_for(_SPELLED)
    if store.anonymous:
        options["AWS_SKIP_SIGNATURE"] = "true"
    if (store.endpoint or "").startswith("http://"):
        options["AWS_ALLOW_HTTP"] = "true"  # whoever writes such an endpoint means it
    return options


def delta_lake_of(table: Table) -> Lake:
    """A table that somebody has opened, at its version. Which one that is may depend on when rows came."""
    return Lake("Delta table", lambda: DeltaSnapshot(table))
