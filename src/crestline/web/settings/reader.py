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
from crestline.plan.shapes import read_shape
from crestline.question import Question, QuestionFields
from crestline.reports.report import Report
from crestline.sources.files.s3 import S3, stored
from crestline.sources.lakes.opening import DELTA, ICEBERG
from crestline.sources.opening import needs_table
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
from crestline.web.settings.toml import Mistake, Section, line_of, parsed

T = TypeVar("T")

_DATASET = (
    *("source", "s3", "table", "user", "items", "filters", "sums", "groups", "domains"),
    *("contribution", "version", "budget", "public", "keep", "keep_limit"),
)
KEEP_LIMIT = 2048
"""A copy of a data set may take so many MiB unless told otherwise."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def load_config(path: str | os.PathLike[str]) -> Config:
    """Read and check a file. Relative paths in it start at its own directory."""
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ParameterError(f"{file} cannot be read ({type(error).__name__}): give the path of a TOML file") from None
    try:
        return _Reader(text, file).config()
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(f"{file}: this is not TOML: {error}") from None


def _keep(part: Section) -> int | None:
    """How many bytes a copy may take, where one is wanted; it is of one version of the data, which must be stated."""
    megabytes = part.whole("keep_limit", KEEP_LIMIT) or KEEP_LIMIT
    if not part.boolean("keep"):
        return None
    if "version" not in part.values:
        raise part.mistake("keep", "needs a version: a copy is of one state of the data, which only you can name")
    return megabytes << 20


class _Reader:
    """Reads every section, and collects the first mistake of each."""

    def __init__(self, text: str, file: Path) -> None:
        self._text = text
        self._file = file
        self._mistakes: list[Mistake] = []

    def config(self) -> Config:
        root = Section((), parsed(self._text))
        self._try(lambda: root.only("ledger", "witness", "datasets", "analysts", "limits", "reports"))
        ledger = self._try(lambda: self._located(root.text("ledger")))
        witness = self._try(lambda: self._located(root.text("witness"))) if "witness" in root.values else None
        limits = self._try(lambda: _limits(root.section("limits")))
        datasets = self._each(root, "datasets", self._dataset)
        named = root.values.get("datasets")
        known = tuple(named) if isinstance(named, dict) else ()  # also those with a mistake: one word is enough
        analysts = self._each(root, "analysts", lambda name, part: _analyst(name, part, known))
        reports = self._each(root, "reports", partial(self._report, datasets)) if "reports" in root.values else {}
        if self._mistakes:
            raise ParameterError("\n".join(self._place(mistake) for mistake in self._mistakes))
        assert ledger is not None, "what could not be read is a mistake"
        assert limits is not None, "what could not be read is a mistake"
        return Config(ledger, datasets, analysts, limits, self._file, self._text, reports, witness)

    def _try(self, read: Callable[[], T]) -> T | None:
        try:
            return read()
        except Mistake as mistake:
            self._mistakes.append(mistake)
            return None

    def _each(self, root: Section, name: str, read: Callable[[str, Section], T]) -> dict[str, T]:
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

    def _dataset(self, name: str, part: Section) -> DatasetConfig:
        part.only(*_DATASET)
        items = part.texts("items")
        if not items:
            raise part.mistake("items", 'is missing; list the columns that may be ranked, such as ["venue"]')
        return DatasetConfig(
            name=name,
            source=self._source(part),
            table=part.optional_text("table"),
            user=part.text("user"),
            items=items,
            filters=part.texts("filters"),
            contribution=part.whole("contribution", None),
            version=part.optional_text("version"),
            budget=part.budget("budget"),
            public=_public(part.section("public")) if "public" in part.values else None,
            sums=part.texts("sums"),
            groups=part.texts("groups"),
            domains=self._domains(part),
            keep=_keep(part),
        )

    def _report(self, datasets: Mapping[str, DatasetConfig], name: str, part: Section) -> ReportConfig:
        part.only("dataset", "every", "since", "folder", "question", "ahead")
        dataset = datasets.get(part.text("dataset"))
        if dataset is None:
            raise part.mistake(
                "dataset", f"names no data set that is served; they are: {', '.join(datasets) or 'none'}"
            )
        calendar = dataset.budget.calendar
        if calendar is None:
            raise part.mistake(
                "dataset", "has a budget that is not by period: give it per and time, such as per = 'week'"
            )
        every, asked = part.choice("every", KINDS, calendar.per), part.section("question")
        try:
            question = Question.of(cast(QuestionFields, {"contribution": dataset.contribution, **asked.values}))
            question = replace(question, user=dataset.user, domain=_listed(dataset, asked))
            report = Report(name, question, every, part.text("since"), part.whole("ahead", None) or 0)
            report.check(calendar)
        except (CrestlineError, TypeError) as error:
            raise Mistake(asked.path, f"{'.'.join(part.path)}: {error}") from None
        return ReportConfig(dataset.name, report, Path(self._located(part.optional_text("folder") or "reports")))

    def _source(self, part: Section) -> str | S3:
        """Where the data are, and the way into a store. Secrets stand in a file of their own: this one is shown to
        people, and kept where versions are."""
        address, way = self._located(part.text("source")), part.section("s3")
        way.only("endpoint", "region", "credentials", "anonymous")
        credentials = way.optional_text("credentials")
        try:
            return stored(
                address,
                endpoint=way.optional_text("endpoint"),
                region=way.optional_text("region"),
                credentials=None if credentials is None else self._located(credentials),
                anonymous=way.boolean("anonymous"),
            )
        except CrestlineError as error:
            raise Mistake(way.path, f"{'.'.join(way.path)}: {error}") from None

    def _domains(self, part: Section) -> dict[str, str]:
        """Public lists: a file beside this one, or a table (or table.column) of the same database. A catalogue of lakes
        is no database here: its tables are copied, and lists beside them are files."""
        listed = part.section("domains")
        found = {_name(listed, name): listed.text(name) for name in listed.values}
        source = part.text("source")
        in_database = needs_table(source) and not source.startswith(ICEBERG)
        return {name: address if in_database else self._located(address) for name, address in found.items()}

    def _located(self, address: str) -> str:
        """An address as it stands; a path from the directory of the file, also the one of a Delta table."""
        if "://" in address:
            return address
        kind = DELTA if address.startswith(DELTA) else ""
        return f"{kind}{self._file.parent / os.path.expanduser(address.removeprefix(kind))}"

    def _place(self, mistake: Mistake) -> str:
        return f"{self._file}:{line_of(self._text, mistake.path)}: {mistake}"


def _read_one(whole: Section, key: str, read: Callable[[str, Section], T]) -> T:
    return read(_name(whole, key), whole.section(key))


def _listed(dataset: DatasetConfig, asked: Section) -> str | None:
    """The public list that a question names."""
    name = asked.optional_text("domain")
    if name is not None and name not in dataset.domains:
        raise asked.mistake(
            "domain", f"names no list of {dataset.name}; they are: {', '.join(dataset.domains) or 'none'}"
        )
    return None if name is None else dataset.domains[name]


def _public(part: Section) -> PublicFacts:
    part.only("users", "items", "per_user", "shape")
    users = part.whole("users", None)
    if users is None:
        raise part.mistake("users", "is missing; write roughly how many users there are, such as users = 500000")
    shape = part.optional_text("shape", DEFAULT_SHAPE) or DEFAULT_SHAPE
    try:
        read_shape(shape, users=users, items=1)
    except ParameterError as error:
        raise part.mistake("shape", f"cannot be used: {error}") from None
    return PublicFacts(users, part.whole("items", None), part.whole("per_user", None), shape)


def _limits(part: Section) -> Limits:
    defaults = {"requests_per_minute": 60, "k": 200, "k_bar": 20_000, "seconds": 60, "connections": 4, "waiting": 64}
    defaults["key_days"] = 30
    part.only(*defaults, "passes")
    passes = part.whole("passes", None) or 0
    if passes > 1:
        raise part.mistake("passes", "must be 1, for one pass over the table, or left out")
    return Limits(**{name: part.whole(name, default) or default for name, default in defaults.items()}, passes=passes)


def _analyst(name: str, part: Section, datasets: tuple[str, ...]) -> AnalystConfig:
    part.only("role", "budgets")
    role = part.choice("role", (ANALYST, OWNER), ANALYST)
    budgets = part.section("budgets")
    if role == OWNER and budgets.values:
        raise part.mistake("budgets", "is not for an owner, who asks at the expense of the data set itself; remove it")
    if role == ANALYST and not budgets.values:
        raise part.mistake(
            "budgets", f"is missing; add [analysts.{name}.budgets] with a line for each data set they may ask"
        )
    for dataset in budgets.values:
        if dataset not in datasets:
            listed = ", ".join(datasets) or "none"
            raise budgets.mistake(dataset, f"names a data set that is not served; the data sets are: {listed}")
    return AnalystConfig(name, role, {dataset: budgets.budget(dataset) for dataset in budgets.values})


def _name(part: Section, name: str) -> str:
    if not _NAME.fullmatch(name):
        raise part.mistake(name, "must be a name of up to 64 letters, digits, - and _, which starts with neither sign")
    return name
