"""Reads `crestline.toml` and names every mistake in it at once, each with its line."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar, cast

from crestline.errors import CrestlineError, ParameterError
from crestline.periods.calendar import KINDS
from crestline.plan.count_models import read_shape
from crestline.question import Question, QuestionFields
from crestline.reports.report import Report
from crestline.sources.files.s3 import S3, as_s3_source
from crestline.sources.lakes.open_lake import DELTA, ICEBERG
from crestline.sources.open import needs_table
from crestline.web.config import (
    ANALYST,
    DEFAULT_SHAPE,
    OWNER,
    AnalystConfig,
    Config,
    DatasetConfig,
    Limits,
    PublicFacts,
    ReportConfig,
)
from crestline.web.settings.toml import Mistake, Section, line_of_setting, parse_toml
from crestline.words import LONGEST_DESCRIPTION, LONGEST_TITLE, USER, VERB, Words, check_text

T = TypeVar("T")

_DATASET = (
    *("source", "s3", "table", "user", "items", "filters", "sums", "groups", "domains"),
    *("contribution", "version", "budget", "public", "keep", "keep_limit"),
    *("title", "description", "words"),
)
KEEP_LIMIT = 2048
"""A copy of a data set may take so many MiB unless told otherwise."""
_ROOT = ("ledger", "witness", "key", "mcp_hosts", "datasets", "analysts", "limits", "reports")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def load_config(path: str | os.PathLike[str]) -> Config:
    """Read and check a file. Relative paths in it start at its own directory."""
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ParameterError(f"{file} cannot be read ({type(error).__name__}): give the path of a TOML file") from None
    try:
        return _ConfigReader(text, file).read_config()
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(f"{file}: this is not TOML: {error}") from None


def _cache_limit(section: Section) -> int | None:
    """How many bytes a copy may take, where one is wanted; it is of one version of the data, which must be stated."""
    megabytes = section.whole_number("keep_limit", KEEP_LIMIT) or KEEP_LIMIT
    if not section.boolean("keep"):
        return None
    if "version" not in section.values:
        raise section.mistake_at("keep", "needs a version: a copy is of one state of the data, which only you can name")
    return megabytes << 20


class _ConfigReader:
    """Reads every section, and collects the first mistake of each."""

    def __init__(self, text: str, file: Path) -> None:
        self._text = text
        self._file = file
        self._mistakes: list[Mistake] = []

    def read_config(self) -> Config:
        root = Section((), parse_toml(self._text))
        self._try(lambda: root.refuse_unknown(*_ROOT))
        ledger = self._try(lambda: self._absolute_address(root.text("ledger")))
        witness = self._try(lambda: self._absolute_address(root.text("witness"))) if "witness" in root.values else None
        key = self._try(lambda: self._file.parent / root.text("key")) if "key" in root.values else None
        limits = self._try(lambda: _read_limits(root.section("limits")))
        hosts = self._try(lambda: root.texts("mcp_hosts")) or ()
        datasets = self._read_sections(root, "datasets", self._read_dataset)
        named = root.values.get("datasets")
        known = tuple(named) if isinstance(named, dict) else ()  # also those with a mistake: one word is enough
        analysts = self._read_sections(root, "analysts", lambda name, part: _read_analyst(name, part, known))
        reports = (
            self._read_sections(root, "reports", partial(self._read_report, datasets))
            if "reports" in root.values
            else {}
        )
        if self._mistakes:
            raise ParameterError("\n".join(self._mistake_text(mistake) for mistake in self._mistakes))
        assert ledger is not None, "what could not be read is a mistake"
        assert limits is not None, "what could not be read is a mistake"
        return Config(ledger, datasets, analysts, limits, self._file, self._text, reports, witness, key, hosts)

    def _try(self, read: Callable[[], T]) -> T | None:
        try:
            return read()
        except Mistake as mistake:
            self._mistakes.append(mistake)
            return None

    def _read_sections(self, root: Section, name: str, read: Callable[[str, Section], T]) -> dict[str, T]:
        whole = self._try(lambda: root.section(name))
        if whole is None:
            return {}
        if not whole.values:
            self._mistakes.append(Mistake((name,), f"there are no {name}; add a table such as [{name}.example]"))
        found: dict[str, T] = {}
        for key in whole.values:
            value = self._try(partial(_read_one, whole, key, read))
            if value is not None:
                found[key] = value
        return found

    def _read_dataset(self, name: str, section: Section) -> DatasetConfig:
        section.refuse_unknown(*_DATASET)
        items = section.texts("items")
        if not items:
            raise section.mistake_at("items", 'is missing; list the columns that may be ranked, such as ["venue"]')
        return DatasetConfig(
            name=name,
            source=self._source(section),
            table=section.optional_text("table"),
            user=section.text("user"),
            items=items,
            filters=section.texts("filters"),
            contribution=section.whole_number("contribution", None),
            version=section.optional_text("version"),
            budget=section.budget("budget"),
            public=_read_public_facts(section.section("public")) if "public" in section.values else None,
            sums=section.texts("sums"),
            groups=section.texts("groups"),
            domains=self._read_domains(section),
            keep=_cache_limit(section),
            title=_short_text(section, "title", LONGEST_TITLE),
            description=_short_text(section, "description", LONGEST_DESCRIPTION),
            words=_read_words(section),
        )

    def _read_report(self, datasets: Mapping[str, DatasetConfig], name: str, section: Section) -> ReportConfig:
        section.refuse_unknown("dataset", "every", "since", "folder", "question", "ahead")
        dataset = datasets.get(section.text("dataset"))
        if dataset is None:
            raise section.mistake_at(
                "dataset", f"names no data set that is served; they are: {', '.join(datasets) or 'none'}"
            )
        calendar = dataset.budget.calendar
        if calendar is None:
            raise section.mistake_at(
                "dataset", "has a budget that is not by period: give it per and time, such as per = 'week'"
            )
        every, asked = section.choice("every", KINDS, calendar.per), section.section("question")
        try:
            question = Question.from_fields(
                cast(QuestionFields, {"contribution": dataset.contribution, **asked.values})
            )
            question = replace(question, user=dataset.user, domain=_public_list_of(dataset, asked))
            report = Report(name, question, every, section.text("since"), section.whole_number("ahead", None) or 0)
            report.check(calendar)
        except (CrestlineError, TypeError) as error:
            raise Mistake(asked.path, f"{'.'.join(section.path)}: {error}") from None
        return ReportConfig(
            dataset.name, report, Path(self._absolute_address(section.optional_text("folder") or "reports"))
        )

    def _source(self, section: Section) -> str | S3:
        """Where the data are, and the way into a store. Secrets stand in a file of their own: this one is shown to
        people, and kept where versions are."""
        address, way = self._absolute_address(section.text("source")), section.section("s3")
        way.refuse_unknown("endpoint", "region", "credentials", "anonymous")
        credentials = way.optional_text("credentials")
        try:
            return as_s3_source(
                address,
                endpoint=way.optional_text("endpoint"),
                region=way.optional_text("region"),
                credentials=None if credentials is None else self._absolute_address(credentials),
                anonymous=way.boolean("anonymous"),
            )
        except CrestlineError as error:
            raise Mistake(way.path, f"{'.'.join(way.path)}: {error}") from None

    def _read_domains(self, section: Section) -> dict[str, str]:
        """Public lists: a file beside this one, or a table (or table.column) of the same database. A catalogue of lakes
        is no database here: its tables are copied, and lists beside them are files."""
        listed = section.section("domains")
        found = {_check_name(listed, name): listed.text(name) for name in listed.values}
        source = section.text("source")
        in_database = needs_table(source) and not source.startswith(ICEBERG)
        return {name: address if in_database else self._absolute_address(address) for name, address in found.items()}

    def _absolute_address(self, address: str) -> str:
        """An address as it stands; a path from the directory of the file, also the one of a Delta table."""
        if "://" in address:
            return address
        kind = DELTA if address.startswith(DELTA) else ""
        return f"{kind}{self._file.parent / os.path.expanduser(address.removeprefix(kind))}"

    def _mistake_text(self, mistake: Mistake) -> str:
        return f"{self._file}:{line_of_setting(self._text, mistake.path)}: {mistake}"


def _read_one(whole: Section, key: str, read: Callable[[str, Section], T]) -> T:
    return read(_check_name(whole, key), whole.section(key))


def _public_list_of(dataset: DatasetConfig, asked: Section) -> str | None:
    """The public list that a question names."""
    name = asked.optional_text("domain")
    if name is not None and name not in dataset.domains:
        raise asked.mistake_at(
            "domain", f"names no list of {dataset.name}; they are: {', '.join(dataset.domains) or 'none'}"
        )
    return None if name is None else dataset.domains[name]


def _read_public_facts(section: Section) -> PublicFacts:
    section.refuse_unknown("users", "items", "per_user", "shape")
    users = section.whole_number("users", None)
    if users is None:
        raise section.mistake_at("users", "is missing; write roughly how many users there are, such as users = 500000")
    shape = section.optional_text("shape", DEFAULT_SHAPE) or DEFAULT_SHAPE
    try:
        read_shape(shape, users=users, items=1)
    except ParameterError as error:
        raise section.mistake_at("shape", f"cannot be used: {error}") from None
    return PublicFacts(users, section.whole_number("items", None), section.whole_number("per_user", None), shape)


def _short_text(section: Section, name: str, longest: int) -> str | None:
    """A text that people read, on one line."""
    text = section.optional_text(name)
    try:
        return None if text is None else check_text(text, name, longest)
    except ParameterError as error:
        raise Mistake((*section.path, name), f"{'.'.join(section.path)}: {error}") from None


def _read_words(section: Section) -> Words:
    """What the owner calls users and columns. A word for a column that no question may name is a mistake."""
    part = section.section("words")
    columns = {name for setting in ("items", "filters", "sums", "groups") for name in section.texts(setting)}
    part.refuse_unknown(USER, VERB, *sorted(columns))
    try:
        return Words.from_mapping(part.values)
    except ParameterError as error:
        raise Mistake(part.path, f"{'.'.join(section.path)}: {error}") from None


def _read_limits(section: Section) -> Limits:
    defaults = {"requests_per_minute": 60, "k": 200, "k_bar": 20_000, "seconds": 60, "connections": 4, "waiting": 64}
    section.refuse_unknown(*defaults, "passes")
    passes = section.whole_number("passes", None) or 0
    if passes > 1:
        raise section.mistake_at("passes", "must be 1, for one pass over the table, or left out")
    return Limits(
        **{name: section.whole_number(name, default) or default for name, default in defaults.items()}, passes=passes
    )


def _read_analyst(name: str, section: Section, datasets: tuple[str, ...]) -> AnalystConfig:
    section.refuse_unknown("role", "budgets")
    role = section.choice("role", (ANALYST, OWNER), ANALYST)
    budgets = section.section("budgets")
    if role == OWNER and budgets.values:
        raise section.mistake_at(
            "budgets", "is not for an owner, who asks at the expense of the data set itself; remove it"
        )
    if role == ANALYST and not budgets.values:
        raise section.mistake_at(
            "budgets", f"is missing; add [analysts.{name}.budgets] with a line for each data set they may ask"
        )
    for dataset in budgets.values:
        if dataset not in datasets:
            listed = ", ".join(datasets) or "none"
            raise budgets.mistake_at(dataset, f"names a data set that is not served; the data sets are: {listed}")
    return AnalystConfig(name, role, {dataset: budgets.budget(dataset) for dataset in budgets.values})


def _check_name(section: Section, name: str) -> str:
    if not _NAME.fullmatch(name):
        raise section.mistake_at(
            name, "must be a name of up to 64 letters, digits, - and _, which starts with neither sign"
        )
    return name
