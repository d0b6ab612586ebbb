"""What is served, to whom, under which budgets: what `crestline.toml` says (docs/reference/service.md lists it all)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from crestline.ledger.budget import Budget
from crestline.reports.report import Report
from crestline.sources.files.s3 import S3
from crestline.web.settings.toml import line_of_setting
from crestline.words import NO_WORDS, Words

ANALYST, OWNER = "analyst", "owner"
DEFAULT_SHAPE = "power:1"


@dataclass(frozen=True)
class PublicFacts:
    """What everybody may know about a data set, roughly; forecasts start from it. Words as in `crestline plan`."""

    users: int
    items: int | None
    per_user: int | None
    shape: str


@dataclass(frozen=True)
class DatasetConfig:
    """One table that can be asked, and what may be asked of it. `version` None: ask the source for one.

    items, filters, sums   the columns that may be ranked, compared with values, and added up
    groups                 the columns by which groups may be made: their values are published
    domains                public lists of items or of groups by name: what the source takes for them
    title, description     what the data set is called, and what its rows are
    words                  what the owner calls users and columns
    keep                   a copy of these columns is kept in memory if it takes at most so many bytes; None: no copy
    """

    name: str
    source: str | S3
    table: str | None
    user: str
    items: tuple[str, ...]
    filters: tuple[str, ...]
    contribution: int | None
    version: str | None
    budget: Budget
    public: PublicFacts | None = None
    sums: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    domains: Mapping[str, str] = field(default_factory=dict)
    keep: int | None = None
    title: str | None = None
    description: str | None = None
    words: Words = NO_WORDS

    @property
    def other_columns(self) -> tuple[str, ...]:
        """The columns besides users and items that a question may name."""
        time = () if self.budget.calendar is None else (self.budget.calendar.time,)
        return (*self.filters, *self.sums, *self.groups, *time)


@dataclass(frozen=True)
class ReportConfig:
    """A recurring report, paid for by its data set itself.

    dataset   the name of the data set
    report    what is asked of each period
    folder    where the answers are published
    """

    dataset: str
    report: Report
    folder: Path


@dataclass(frozen=True)
class AnalystConfig:
    """Somebody who may ask: an analyst of the data sets they have a budget for, an owner of all."""

    name: str
    role: str
    budgets: Mapping[str, Budget]


@dataclass(frozen=True)
class Limits:
    """What one token, one question, one statement and one data set may take.

    passes        1: every question reads its table in one pass; 0: as many as it takes
    connections   of a data set that are open at once
    waiting       questions that may wait: for a connection, and for their turn in this process
    """

    requests_per_minute: int
    k: int
    k_bar: int
    seconds: int
    connections: int
    waiting: int
    passes: int = 0


@dataclass(frozen=True)
class Config:
    """Everything the service needs to know.

    ledger     the address of the ledger
    witness    where the checksum of the ledger is kept, if it is
    key        the file of the key that signs tokens and sessions, if it is not beside the configuration
    datasets, analysts    by name
    limits     what one request may ask for
    file       where all this was written, for messages
    mcp_hosts  names under which agents reach the service, besides those of this machine
    """

    ledger: str
    datasets: Mapping[str, DatasetConfig]
    analysts: Mapping[str, AnalystConfig]
    limits: Limits
    file: Path
    text: str
    reports: Mapping[str, ReportConfig] = field(default_factory=dict)
    witness: str | None = None
    key: Path | None = None
    mcp_hosts: tuple[str, ...] = ()

    @property
    def key_file(self) -> Path:
        """The file of the key that signs tokens and sessions; beside the configuration, unless it says another."""
        return self.file.with_suffix(".key") if self.key is None else self.key

    def location(self, path: tuple[str, ...]) -> str:
        """The file and the line of a setting."""
        return f"{self.file}:{line_of_setting(self.text, path)}"
