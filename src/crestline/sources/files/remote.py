"""Parquet from afar (S3, HTTPS and others) through fsspec, which DuckDB asks for the bytes that it needs.

DuckDB has an extension for this, which must be downloaded from its makers when it is first used; a library that pip
installs works where that host cannot be reached. Credentials and endpoints are those of the library (for S3 the
environment variables, profiles and roles that all tools for S3 know), unless an `S3` says others.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, BinaryIO, TypeAlias, TypeVar, cast

from crestline.errors import QuestionError, SourceError
from crestline.sources.engine.connection import DuckDB
from crestline.sources.files.formats import is_parquet
from crestline.sources.files.s3 import S3

FileSystem: TypeAlias = Any  # of fsspec, which has no types
Result = TypeVar("Result")

_PACKAGES = {
    "s3": "crestline[s3]",
    "s3a": "crestline[s3]",
    "http": "crestline[https]",
    "https": "crestline[https]",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "az": "adlfs",
    "abfss": "adlfs",
    "hf": "huggingface_hub",
}
_KNOWN_BY = ("name", "size", "ETag", "etag", "LastModified", "last_modified", "mtime", "generation", "VersionId")
_SPELLED = {"endpoint": "endpoint_url", "key": "key", "secret": "secret", "token": "token"}
_SOME_TIME = datetime(2000, 1, 1, tzinfo=UTC)
_CREDENTIALS = (
    "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (or AWS_PROFILE), or give --s3-credentials FILE (Python: cl.S3); "
    "where the store is not Amazon's also AWS_ENDPOINT_URL or --s3-endpoint; a public bucket needs --s3-anonymous"
)
# What libraries raise, by the names of the classes; their words may quote keys.
_REASONS = {
    "NoCredentialsError": f"no credentials were found: {_CREDENTIALS}",
    "PartialCredentialsError": f"the credentials are not complete: {_CREDENTIALS}",
    "ProfileNotFound": "AWS_PROFILE names a profile that is in none of your files of credentials",
    "PermissionError": (
        "the store does not let you read it with these credentials (or with none): check key, secret and your rights "
        "to the bucket"
    ),
}


def is_remote_file(text: str) -> bool:
    """Whether this is the address of files from afar."""
    scheme, mark, _ = text.partition("://")
    return bool(mark) and scheme in _PACKAGES


@dataclass(frozen=True)
class RemoteFiles:
    """Addresses of Parquet files; with an asterisk, as far as the store can list."""

    addresses: tuple[str, ...]
    store: S3 | None = None
    has_types = True

    def __post_init__(self) -> None:
        for address in self.addresses:
            if not _without_query(address).lower().endswith((".parquet", ".pq")):
                raise QuestionError(
                    f"{_without_query(address)}: only Parquet is read from afar; the address must end in .parquet "
                    f"(for a "
                    f"folder write {_without_query(address).rstrip('/')}/*.parquet). Fetch other files first, or "
                    f"convert them"
                )
            is_parquet(_without_query(address))

    @property
    def name(self) -> str:
        """Without what follows a question mark: it may be a signature, which lets whoever knows it read the file."""
        return ", ".join(map(_without_query, self.addresses))

    def files(self) -> list[str]:
        return [str(known["address"]) for known in self._known_facts()]

    def state(self) -> str:
        return hashlib.sha256(json.dumps(self._known_facts(), default=str, sort_keys=True).encode()).hexdigest()

    def version(self) -> str | None:
        """None: nobody promises that a store's times and tags say nothing of the rows."""
        return None

    def attach(self, engine: DuckDB) -> list[str]:
        """The addresses. Registered once for each kind of address: a public list may be in the same store."""
        names = self._filesystem.protocol  # one, or several of which DuckDB remembers the first
        if not engine.con.filesystem_is_registered(names if isinstance(names, str) else names[0]):
            engine.con.register_filesystem(self._filesystem)
        return self.files()

    def open_stream(self, file: str) -> BinaryIO:
        return cast(BinaryIO, self._filesystem.open(file, "rb"))

    @cached_property
    def _filesystem(self) -> FileSystem:
        scheme = self.addresses[0].partition("://")[0]

        def connect_filesystem() -> FileSystem:
            import fsspec

            options = _options(self.store) if scheme in ("s3", "s3a") else {}
            system = fsspec.filesystem(scheme, use_listings_cache=False, skip_instance_cache=True, **options)
            if scheme in ("http", "https"):  # has no times of change, which DuckDB asks for; `state` tells of changes
                system.modified = lambda path: _SOME_TIME
            return system

        try:
            return connect_filesystem()
        except ImportError:
            pass
        raise SourceError(f"{scheme}: the driver is missing: pip install '{_PACKAGES[scheme]}'")

    def _known_facts(self) -> list[Mapping[str, object]]:
        """What the store knows of each file."""
        return [known for address in self.addresses for known in self._list_address(address)]

    def _list_address(self, address: str) -> list[Mapping[str, object]]:
        system = self._filesystem

        def find_files() -> list[Mapping[str, object]]:
            system.invalidate_cache()
            if "*" not in address:
                return [_file_facts(address, system.info(address))]
            listed = system.glob(address, detail=True)
            return [_file_facts(system.unstrip_protocol(name), listed[name]) for name in sorted(listed)]

        known = _translate_errors(_without_query(address), find_files)
        if not known:
            raise QuestionError(f"no file matches {_without_query(address)}")
        return known


def _options(store: S3 | None) -> dict[str, object]:
    """How s3fs calls it. Whoever gives credentials means them, also where the environment says that there are none.

    s3fs tries everything five times, and the library below it five times each of them: a store that takes calls and
    says nothing would be waited for seven minutes.
    """
    options: dict[str, object] = {}
    if "AWS_MAX_ATTEMPTS" not in os.environ:
        options["config_kwargs"] = {"retries": {"total_max_attempts": 2}}
    if store is None:
        return options
    options |= store.options_for(_SPELLED)
    if store.region is not None:
        options["client_kwargs"] = {"region_name": store.region}
    if store.anonymous or store.key is not None:
        options["anon"] = store.anonymous
    return options


def _file_facts(address: str, info: Mapping[str, object]) -> Mapping[str, object]:
    return {"address": address} | {key: info[key] for key in _KNOWN_BY if key in info}


def _translate_errors(address: str, action: Callable[[], Result]) -> Result:
    """Run; what a library says is replaced by what it means."""
    try:
        return action()
    except FileNotFoundError:
        problem: Exception = QuestionError(f"there is no file {address}, or no such bucket")
    except Exception as failure:
        kinds = [kind.__name__ for kind in type(failure).__mro__]
        known = next((_REASONS[kind] for kind in kinds if kind in _REASONS), None)
        problem = SourceError(f"{address}: {known or _unreachable_message(kinds[0])}")
    raise problem


def _unreachable_message(kind: str) -> str:
    return (
        f"the store did not answer ({kind}): check the address, the endpoint (AWS_ENDPOINT_URL, --s3-endpoint) and the "
        "network"
    )


def _without_query(address: str) -> str:
    return address.partition("?")[0]
