"""Iceberg tables, through the library pyiceberg and its catalogues."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from crestline.sources.files.s3 import S3
from crestline.sources.lakes.lake import Lake

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Schema

Table: TypeAlias = Any  # of pyiceberg, which is imported when it is needed

_SPELLED = {
    "endpoint": "s3.endpoint",
    "region": "s3.region",
    "key": "s3.access-key-id",
    "secret": "s3.secret-access-key",
    "token": "s3.session-token",
}


@dataclass(frozen=True)
class IcebergSnapshot:
    """One snapshot of a table; a table without any has no row."""

    table: Table
    snapshot: int | None

    @property
    def label(self) -> str:
        return f"iceberg snapshot {self.snapshot}"

    def schema(self) -> Schema:
        from pyiceberg.io.pyarrow import schema_to_pyarrow

        scan = self.table.scan(snapshot_id=self.snapshot)
        return schema_to_pyarrow(scan.projection(), include_field_ids=False)

    def batches(self, columns: Sequence[str]) -> Iterator[RecordBatch]:
        scan = self.table.scan(snapshot_id=self.snapshot, selected_fields=tuple(columns))
        yield from scan.to_arrow_batch_reader()


def iceberg_lake_named(catalogue: str, table: str, snapshot: int | None, store: S3 | None) -> Lake:
    """A table of a catalogue, at one snapshot if one is named."""

    def newest_snapshot() -> IcebergSnapshot:
        from pyiceberg.catalog import load_catalog

        return find_snapshot(load_catalog(catalogue, **_options(store)).load_table(table), snapshot)

    return Lake(table, newest_snapshot, snapshot is not None, store)


def _options(store: S3 | None) -> dict[str, str]:
    """How pyiceberg calls it; what is not given stays as the catalogue says."""
    if store is None:
        return {}
    return store.options_for(_SPELLED) | ({"s3.anonymous": "true"} if store.anonymous else {})


def iceberg_lake_of(table: Table) -> Lake:
    """A table that somebody has opened, at the snapshot that it is at."""
    return Lake(".".join(table.name()), lambda: find_snapshot(table, None))


def find_snapshot(table: Table, snapshot: int | None) -> IcebergSnapshot:
    """The snapshot with this number, or the newest."""
    current = table.current_snapshot()
    if snapshot is None:
        return IcebergSnapshot(table, None if current is None else current.snapshot_id)
    if table.snapshot_by_id(snapshot) is None:
        raise LookupError("no such snapshot")
    return IcebergSnapshot(table, snapshot)
