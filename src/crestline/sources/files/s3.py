"""S3: an address in a store that speaks S3, with the way in. What is secret there is in no text that anybody sees.

Credentials belong to a source, and not to a question: two who ask the same of the same data ask one question, whoever
opened the door. So they are part of no name, no version and no identity.
"""

from __future__ import annotations

import configparser
import os
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import TypeVar
from urllib.parse import urlsplit

from crestline.errors import ParameterError, QuestionError

Address = TypeVar("Address", bound=str | list[str])

_ADDRESSES = ("s3://", "s3a://", "delta:s3://", "delta:s3a://", "iceberg://")
_WRITTEN = {"key": "aws_access_key_id", "secret": "aws_secret_access_key", "token": "aws_session_token"}


@dataclass(frozen=True)
class S3:
    """Files or a table of a lake in a store that speaks S3, and how to get in; a source like its address alone.

    address             what is asked: "s3://lake/sales/*.parquet", a list of such, "delta:s3://lake/sales", or
                        "iceberg://catalogue"
    endpoint            the store, where it is not Amazon's: "https://minio.example:9000"
    region              the store's region, where it has any
    key, secret, token  the credentials (a token where they are temporary); without them those of the environment
    anonymous           True: a public bucket, for which nobody needs credentials
    """

    address: str | list[str] | tuple[str, ...]
    _: KW_ONLY
    endpoint: str | None = None
    region: str | None = None
    key: str | None = field(default=None, repr=False)
    secret: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    anonymous: bool = False

    def __post_init__(self) -> None:
        for address in self.address if isinstance(self.address, list | tuple) else [self.address]:
            if not isinstance(address, str) or not address.startswith(_ADDRESSES):
                raise QuestionError(
                    "how to get into a store that speaks S3 (endpoint, region, credentials) goes with an address in "
                    "one: s3://bucket/sales/*.parquet, delta:s3://bucket/sales or iceberg://catalogue"
                )
        if self.endpoint is not None and not _is_endpoint(self.endpoint):
            raise ParameterError(
                "an endpoint of S3 is written https://minio.example:9000: http or https, a host, and nothing of a "
                "user or a bucket"
            )
        if (self.key is None) != (self.secret is None) or (self.token is not None and self.key is None):
            raise ParameterError("credentials of S3 are a key and a secret, and a token only beside both")
        if self.anonymous and self.key is not None:
            raise ParameterError("a bucket of S3 is read with credentials, or anonymously; not both")

    def options_for(self, names: Mapping[str, str]) -> dict[str, str]:
        """What was given, under the names that a library has for our fields."""
        return {theirs: getattr(self, ours) for ours, theirs in names.items() if getattr(self, ours) is not None}


def as_s3_source(
    address: Address,
    *,
    endpoint: str | None = None,
    region: str | None = None,
    credentials: str | os.PathLike[str] | None = None,
    anonymous: bool = False,
) -> Address | S3:
    """A source as people write it in options and settings, where secrets only stand in files: the address itself, or
    with the way in where something is said about it. `credentials` is a file like `~/.aws/credentials`."""
    if not (endpoint or region or credentials or anonymous):
        return address
    keys = {} if credentials is None else read_credentials(credentials)
    return S3(address, endpoint=endpoint, region=region, anonymous=anonymous, **keys)


def read_credentials(path: str | os.PathLike[str]) -> dict[str, str]:
    """Key, secret and token out of a file: its section [default], or the only one. No error quotes a line of it."""
    parser = configparser.ConfigParser(interpolation=None, default_section="")
    try:
        with open(os.path.expanduser(path), encoding="utf-8") as file:
            parser.read_file(file)
    except (OSError, UnicodeDecodeError, configparser.Error) as error:
        kind = type(error).__name__
    else:
        sections = parser.sections()
        chosen = "default" if "default" in sections else sections[0] if len(sections) == 1 else None
        found = (
            {} if chosen is None else {ours: parser.get(chosen, name, fallback="") for ours, name in _WRITTEN.items()}
        )
        if found.get("key") and found.get("secret"):
            return {ours: value for ours, value in found.items() if value}
        kind = "no key, or no secret"
    raise ParameterError(
        f"{os.fspath(path)} holds no credentials of S3 that can be read ({kind}): write aws_access_key_id = … and "
        "aws_secret_access_key = … under [default], as in ~/.aws/credentials"
    )


def _is_endpoint(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return (
            parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc and not parts.query
        )
    except ValueError:
        return False
