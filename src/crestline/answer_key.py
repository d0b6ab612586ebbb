"""Identity of a question, by which the ledger finds a stored answer to the same question.

The ledger serves an answer again, at no cost, to the same question on the same version of the data. So the identity
holds everything besides the data on which an answer depends. Where a part of it has no name, no answer is served again:
a second payment is a nuisance, the answer to another question would be wrong.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any

from crestline.errors import ParameterError, QuestionError
from crestline.ledger.ledger import Ledger
from crestline.ledger.receipt import StoredAnswer
from crestline.prepare import Prepared
from crestline.randomness.entropy import Entropy
from crestline.sources.files.remote import is_remote_file
from crestline.sources.source import Source

UNNAMED = "a table"
_PLAIN = (str, bytes, int, float, Decimal, date, time, timedelta, type(None))  # types whose `repr` is unambiguous


@dataclass(frozen=True)
class Identity:
    """Identity of a question, and version of its data.

    `stated_version` is a public label of the data; without one the source is asked for its version. With a label the
    source is not read, so that the identity depends on no row.
    """

    prepared: Prepared
    source: Source
    entropy: Entropy
    stated_version: str | None = None

    @cached_property
    def question(self) -> dict[str, Any]:
        """Everything besides the data on which an answer depends, as JSON values."""
        return {
            "source": self.source.name,
            "domain": _list_identity(self.prepared.question.domain),
            **self.prepared.question.to_record(),
            **self._groups,
            **self._coverage,
            "mechanism": self.prepared.choice.name,
            "parameters": dict(self.prepared.identity or {}),
        }

    @cached_property
    def _groups(self) -> dict[str, Any]:
        """Identity of the groups; empty without groups, so that questions of earlier versions keep their identity."""
        question = self.prepared.question
        return {"groups": _list_identity(question.groups)} if question.by else {}

    @property
    def _coverage(self) -> dict[str, Any]:
        """Noise of the coverage, where the question asks for one: it is not among the mechanism's parameters."""
        coverage = self.prepared.coverage
        return {} if coverage is None else {"coverage": {"scale": str(coverage.scale), "moved": coverage.moved}}

    @cached_property
    def version(self) -> str | None:
        """Version of the data and of public lists in files; None where no answer may be served again."""
        stated = None if self.stated_version is None else check_version(self.stated_version)
        is_named = self.prepared.identity is not None and UNNAMED not in (
            self.question["domain"],
            self._groups.get("groups"),
        )
        # The noise of replayable entropy can be undone with its key, so its answers must not be served as private ones.
        if not is_named or self.entropy.replayable:
            return None
        question, version = self.prepared.question, _version(self.source, self.prepared.question.domain, stated)
        return version if version is None else _version_with_list(version, question.groups, stated)


def find_stored(ledger: Ledger, identity: Identity, analyst: str | None, *, record: bool) -> StoredAnswer | None:
    """The stored answer to the same question, if it may be served again; `record` writes the serving to the ledger."""
    return ledger.find_answer(identity.question, identity.version, analyst=analyst, record=record, usable=may_be_served)


def may_be_served(answer: object) -> bool:
    """Whether a stored answer may be served again; ledgers of earlier versions hold replayed ones, which may not."""
    return isinstance(answer, Mapping) and not answer.get("replayed")


def check_version(version: str) -> str:
    """Return a label of the data; raise ParameterError if it is not one."""
    if not isinstance(version, str) or not version or len(version) > 200 or not version.isprintable():
        raise ParameterError("version must be a text of 1 to 200 printable characters, such as '2026-01-31'")
    return version


def _version(source: Source, domain: object, stated: str | None) -> str | None:
    """Version of the data and of the public list of items; None where one of them has none."""
    data = source.version() if stated is None else stated
    return data if data is None else _version_with_list(data, domain, stated)


def _version_with_list(data: str, listed: object, stated: str | None) -> str | None:
    """Version of the data and of a public list in files; for a list in a table, the stated version."""
    if not isinstance(listed, str):
        return data
    files = _list_files_version(listed)
    # Ledgers of earlier versions hold this word; with another, their stored answers would not be found.
    return stated if files is None else f"{data}, universe {files}"


def _list_files_version(domain: str) -> str | None:
    """Fingerprint of the files of a public list; None where the text names no files."""
    from crestline.sources.files.locations import fingerprint

    try:
        return fingerprint(domain)
    except (QuestionError, OSError, ValueError):
        return None


def _list_identity(domain: object) -> str | None:
    """Identity of a public list: its text, or a hash of its items.

    The query string of an address may be a signature, which no ledger may hold, or may be what distinguishes two lists:
    such a list has no identity, and neither have items of other types.
    """
    if isinstance(domain, str) and "?" in domain and is_remote_file(domain):
        return UNNAMED
    if domain is None or isinstance(domain, str):
        return domain
    if isinstance(domain, list | tuple) and _holds_plain_values(domain):
        return _hash(domain)
    if isinstance(domain, set | frozenset) and _holds_plain_values(domain):
        return _hash(sorted(domain, key=repr))
    return UNNAMED


def _holds_plain_values(items: Iterable[Any]) -> bool:
    """Whether all items are plain values, or tuples of them."""
    return all(isinstance(item, _PLAIN) or (isinstance(item, tuple) and _holds_plain_values(item)) for item in items)


def _hash(items: Iterable[Any]) -> str:
    """SHA-256 of the items in their order."""
    return hashlib.sha256(repr(list(items)).encode("utf-8", "surrogatepass")).hexdigest()
