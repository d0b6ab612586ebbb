"""What makes two questions the same, and which of them may be answered from the ledger.

The ledger serves an answer again, free of charge, to the same question on the same version of the data. So a question's
identity names everything an answer depends on besides the data, and where one part of it cannot be named, nothing is
ever served again: to pay twice is a nuisance, to be served the answer to another question is wrong.
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
_PLAIN = (str, bytes, int, float, Decimal, date, time, timedelta, type(None))  # their text tells them apart


@dataclass(frozen=True)
class Identity:
    """What makes two questions the same. `stated_version` is a public label of the data; without one the source is
    asked for
    its version. With a label nothing of the source is looked at, so that what is stored depends on no row.
    """

    prepared: Prepared
    source: Source
    entropy: Entropy
    stated_version: str | None = None

    @cached_property
    def question(self) -> dict[str, Any]:
        """Everything an answer depends on besides the data, as plain JSON."""
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
        """A public list of groups; a question without groups is written down as it always was."""
        question = self.prepared.question
        return {"groups": _list_identity(question.groups)} if question.by else {}

    @property
    def _coverage(self) -> dict[str, Any]:
        """The noise of the coverage, where it is asked for: the mechanism's parameters do not tell it."""
        coverage = self.prepared.coverage
        return {} if coverage is None else {"coverage": {"scale": str(coverage.scale), "moved": coverage.moved}}

    @cached_property
    def version(self) -> str | None:
        """Which data were asked. Without a version nothing is served again."""
        stated = None if self.stated_version is None else check_version(self.stated_version)
        told = self.prepared.identity is not None and UNNAMED not in (
            self.question["domain"],
            self._groups.get("groups"),
        )
        # Whoever knows the key of a replayable source can undo its noise: such an answer must not stand in for a real
        # one.
        if not told or self.entropy.replayable:
            return None
        question, version = self.prepared.question, _version(self.source, self.prepared.question.domain, stated)
        return version if version is None else _version_with_list(version, question.groups, stated)


def find_stored(ledger: Ledger, identity: Identity, analyst: str | None, *, record: bool) -> StoredAnswer | None:
    """The answer to the same question, if it may be served again; serving it is recorded."""
    return ledger.find_answer(identity.question, identity.version, analyst=analyst, record=record, usable=may_be_served)


def may_be_served(answer: object) -> bool:
    """Whether a stored answer is an answer of a question; earlier versions kept replayed ones like all others."""
    return isinstance(answer, Mapping) and not answer.get("replayed")


def check_version(version: str) -> str:
    """A label of the data, checked."""
    if not isinstance(version, str) or not version or len(version) > 200 or not version.isprintable():
        raise ParameterError("version must be a text of 1 to 200 printable characters, such as '2026-01-31'")
    return version


def _version(source: Source, domain: object, stated: str | None) -> str | None:
    """The version of the data, and of a public list that is kept in files; for one in a table only a label speaks."""
    data = source.version() if stated is None else stated
    return data if data is None else _version_with_list(data, domain, stated)


def _version_with_list(data: str, listed: object, stated: str | None) -> str | None:
    """The version of the data, and of a public list that is kept in files."""
    if not isinstance(listed, str):
        return data
    files = _list_files_version(listed)
    # The word stands in the ledgers of earlier versions: with another, what was paid for would not be found again.
    return stated if files is None else f"{data}, universe {files}"


def _list_files_version(domain: str) -> str | None:
    """What the file system knows of the files that a public list names; None where it names none."""
    from crestline.sources.files.locations import fingerprint

    try:
        return fingerprint(domain)
    except (QuestionError, OSError, ValueError):
        return None


def _list_identity(domain: object) -> str | None:
    """What tells one public list from another: its text, or a hash of its items. What follows a question mark in an
    address may be a signature, which no ledger must hold, and may be what tells two lists apart: such a list has no
    name."""
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
    return all(isinstance(item, _PLAIN) or (isinstance(item, tuple) and _holds_plain_values(item)) for item in items)


def _hash(items: Iterable[Any]) -> str:
    return hashlib.sha256(repr(list(items)).encode("utf-8", "surrogatepass")).hexdigest()
