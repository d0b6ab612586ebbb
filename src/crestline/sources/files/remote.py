"""Parquet from afar (S3, HTTPS and others) through fsspec, which DuckDB asks for the bytes that it needs.

DuckDB has an extension for this, which must be downloaded from its makers when it is first used; a library that pip
installs works where that host cannot be reached. Credentials and endpoints are those of the library: for S3 the
environment variables, profiles and roles that all tools for S3 know.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

from crestline.errors import QuestionError, SourceError
from crestline.sources.engine.connection import DuckDB
from crestline.sources.files.formats import is_parquet

FileSystem: TypeAlias = Any  # of fsspec, which has no types
Result = TypeVar("Result")

_PACKAGES = {
    "s3": "crestline[s3]",
    "http": "crestline[https]",
    "https": "crestline[https]",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "az": "adlfs",
    "abfss": "adlfs",
    "hf": "huggingface_hub",
}
_KNOWN_BY = ("name", "size", "ETag", "etag", "LastModified", "last_modified", "mtime", "generation", "VersionId")
_SOME_TIME = datetime(2000, 1, 1, tzinfo=UTC)
_CREDENTIALS = (
    "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (or AWS_PROFILE), and AWS_ENDPOINT_URL where the store is not "
    "Amazon's; for a public bucket set FSSPEC_S3_ANON=true"
)
# What libraries raise, by the names of the classes; their words may quote keys.
_REASONS = {
    "NoCredentialsError": f"no credentials were found: {_CREDENTIALS}",
    "PartialCredentialsError": f"the credentials are not complete: {_CREDENTIALS}",
    "PermissionError": f"the store does not let these credentials read it: check the rights, or {_CREDENTIALS}",
}


def is_remote_file(text: str) -> bool:
    """Whether this is the address of files from afar."""
    scheme, mark, _ = text.partition("://")
    return bool(mark) and scheme in _PACKAGES


@dataclass(frozen=True)
class Remote:
    """Addresses of Parquet files; with an asterisk, as far as the store can list."""

    addresses: tuple[str, ...]
    typed = True

    def __post_init__(self) -> None:
        for address in self.addresses:
            if not _shown(address).lower().endswith((".parquet", ".pq")):
                raise QuestionError(
                    f"{_shown(address)}: only Parquet is read from afar; the address must end in .parquet (for a "
                    f"folder write {_shown(address).rstrip('/')}/*.parquet). Fetch other files first, or convert them"
                )
            is_parquet(_shown(address))

    @property
    def name(self) -> str:
        """Without what follows a question mark: it may be a signature, which lets whoever knows it read the file."""
        return ", ".join(map(_shown, self.addresses))

    def files(self) -> list[str]:
        return [str(known["address"]) for known in self._known()]

    def state(self) -> str:
        return hashlib.sha256(json.dumps(self._known(), default=str, sort_keys=True).encode()).hexdigest()

    def version(self) -> str | None:
        """None: nobody promises that a store's times and tags say nothing of the rows."""
        return None

    def attach(self, engine: DuckDB) -> None:
        engine.con.register_filesystem(self._system)

    def opened(self, file: str) -> object:
        return self._system.open(file, "rb")

    @cached_property
    def _system(self) -> FileSystem:
        scheme = self.addresses[0].partition("://")[0]

        def connected() -> FileSystem:
            import fsspec

            system = fsspec.filesystem(scheme, use_listings_cache=False, skip_instance_cache=True)
            if scheme in ("http", "https"):  # has no times of change, which DuckDB asks for; `state` tells of changes
                system.modified = lambda path: _SOME_TIME
            return system

        try:
            return connected()
        except ImportError:
            pass
        raise SourceError(f"{scheme}: the driver is missing: pip install '{_PACKAGES[scheme]}'")

    def _known(self) -> list[Mapping[str, object]]:
        """What the store knows of each file."""
        return [known for address in self.addresses for known in self._asked(address)]

    def _asked(self, address: str) -> list[Mapping[str, object]]:
        system = self._system

        def found() -> list[Mapping[str, object]]:
            system.invalidate_cache()
            if "*" not in address:
                return [_of(address, system.info(address))]
            listed = system.glob(address, detail=True)
            return [_of(system.unstrip_protocol(name), listed[name]) for name in sorted(listed)]

        known = _told(_shown(address), found)
        if not known:
            raise QuestionError(f"no file matches {_shown(address)}")
        return known


def _of(address: str, info: Mapping[str, object]) -> Mapping[str, object]:
    return {"address": address} | {key: info[key] for key in _KNOWN_BY if key in info}


def _told(address: str, action: Callable[[], Result]) -> Result:
    """Run; what a library says is replaced by what it means."""
    try:
        return action()
    except FileNotFoundError:
        problem: Exception = QuestionError(f"there is no file {address}, or no such bucket")
    except Exception as failure:
        kinds = [kind.__name__ for kind in type(failure).__mro__]
        known = next((_REASONS[kind] for kind in kinds if kind in _REASONS), None)
        problem = SourceError(f"{address}: {known or _unreachable(kinds[0])}")
    raise problem


def _unreachable(kind: str) -> str:
    return f"the store did not answer ({kind}): check the address, the endpoint (AWS_ENDPOINT_URL) and the network"


def _shown(address: str) -> str:
    return address.partition("?")[0]
