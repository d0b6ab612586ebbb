"""What a configuration serves: its ledger, and the source and the budgets of every data set, opened and checked."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace

from crestline.access.keys import Keys
from crestline.config import Config, DatasetConfig
from crestline.errors import BudgetMismatch, LedgerError, ParameterError, QuestionError, SourceError
from crestline.histogram.view_kinds import SLOTS, View
from crestline.ledger.balance_rules import check_user
from crestline.ledger.budget import Budget
from crestline.ledger.ledger import Ledger
from crestline.ledger.receipt import Clock, utc_now
from crestline.ledger.storage.store import Store
from crestline.periods.calendar import Periods
from crestline.question import Limits, Question
from crestline.score import Sum
from crestline.sources import Source, open_source
from crestline.sources.memory_copy import may_be_kept, with_memory_copy
from crestline.sources.pool import Pool, PoolLimits
from crestline.sources.source import Reading

_LOGGER = logging.getLogger("crestline.service")
_LOCK_SECONDS = 30.0


@dataclass(frozen=True)
class ServedSource:
    """A source under the name and version that its owner gave it: no path or address reaches an answer.

    `in_use` is entered while a question holds a connection, to count them. `refusal` replaces the words in which the
    source refuses a question, which may name columns that the asker did not.
    """

    name: str
    inner: Source
    stated_version: str | None
    in_use: Callable[[], AbstractContextManager[object]] = nullcontext
    refusal: str | None = None

    @property
    def limits(self) -> Limits:
        return self.inner.limits

    def check(self, question: Question, view: View = SLOTS) -> None:
        try:
            return self.inner.check(question, view)
        except QuestionError:
            if self.refusal is None:
                raise
        raise QuestionError(self.refusal)

    @contextmanager
    def ready(self) -> Iterator[Source]:
        with self.inner.ready() as connected, self.in_use():
            yield replace(self, inner=connected)

    def reading(self, question: Question, key: bytes = b"", view: View = SLOTS) -> AbstractContextManager[Reading]:
        return self.inner.reading(question, key, view)

    def version(self) -> str | None:
        return self.stated_version or self.inner.version()


@dataclass(frozen=True)
class OpenDataset:
    """The source and the ledger of one data set."""

    source: Source
    ledger: Ledger


def open_store(config: Config, clock: Clock = utc_now) -> Store:
    """Open the ledger of a configuration; create it if there is none."""
    return Store.create(config.ledger, clock, min(_LOCK_SECONDS, float(config.limits.seconds)), config.witness)


@contextmanager
def open_datasets(config: Config) -> Iterator[dict[str, OpenDataset]]:
    """Open every data set of a configuration, by name, until the context ends. No row is read."""
    opened = {name: open_served_source(config, part) for name, part in config.datasets.items()}
    store = open_store(config)
    try:
        store.refuse_damaged(Keys.read_or_create(config.key_file, store).signer("verified"))
        yield {
            name: OpenDataset(opened[name], open_budgets(config, part, store)) for name, part in config.datasets.items()
        }
    finally:
        store.close()


def open_budgets(config: Config, part: DatasetConfig, store: Store) -> Ledger:
    """Open the budgets of a data set and of its analysts, unless they are open already."""
    with _locate_error(config, ("datasets", part.name, "user")):
        for account in store.accounts(part.name):
            check_user(part.name, account.user, part.user)
    with _locate_error(config, ("datasets", part.name, "budget")):
        ledger = Ledger.in_store(store, part.budget, dataset=part.name, user=part.user)
    budgets = {one.name: one.budgets[part.name] for one in config.analysts.values() if part.name in one.budgets}
    missing = _missing_budgets(config, ledger, budgets)
    try:
        if missing:
            ledger.add_analysts(missing)
    except (BudgetMismatch, LedgerError):  # another server that starts now was first, or one of them is wrong
        for analyst, budget in _missing_budgets(config, ledger, budgets).items():
            with _locate_error(config, ("analysts", analyst, "budgets", part.name)):
                ledger.add_analyst(analyst, budget)
    return ledger


def open_served_source(
    config: Config,
    part: DatasetConfig,
    in_use: Callable[[], AbstractContextManager[object]] = nullcontext,
    *,
    copies: bool = False,
) -> ServedSource:
    """Open a source, and look every column up that may be named. Rows are read for a copy alone (`copies`)."""
    at = ("datasets", part.name)
    with _locate_error(config, (*at, "source")):
        inner = Pool(
            lambda: open_source(part.address, table=part.table, timeout=float(config.limits.seconds)),
            PoolLimits(config.limits.connections, config.limits.waiting, float(config.limits.seconds)),
        )
    simple = Question(user=part.user, item=part.items[:1], k=1, k_bar=1)
    with _locate_error(config, (*at, "user")):
        inner.check(replace(simple, item=(part.user,)))
    with _locate_error(config, (*at, "budget")):
        inner.check(replace(simple, period=_current_period(part.budget)))
    named = {
        "items": [replace(simple, item=(item,), contribution=part.contribution) for item in part.items],
        "filters": [replace(simple, where=_is_null_filter(name)) for name in part.filters],
        "sums": [replace(simple, score=Sum(name, 1)) for name in part.sums],
        "groups": [replace(simple, item=_other_items(part, name), by=(name,)) for name in part.groups],
    }
    for setting, questions in named.items():
        for question in questions:
            with _locate_error(config, (*at, setting)):
                inner.check(question)
    return ServedSource(part.name, _with_copy(config, part, inner, copies), part.version, in_use)


def _other_items(part: DatasetConfig, group: str) -> tuple[str, ...]:
    """A column of items beside one of groups, if there is another."""
    return (tuple(item for item in part.items if item != group) or part.items)[:1]


def _with_copy(config: Config, part: DatasetConfig, source: Source, copies: bool) -> Source:
    """The source, with a copy of its columns in memory where one is wanted.

    A copy that does not fit, or cannot be made, is reported in the log alone: questions are answered all the same.
    """
    if part.copy_limit is None:
        return source
    with _locate_error(config, ("datasets", part.name, "keep")):
        may_be_kept(source, part.user, part.items, part.other_columns)
    if not copies:
        return source
    try:
        copy = with_memory_copy(source, part.user, part.items, part.other_columns, part.copy_limit)
    except SourceError:
        copy = source
    if copy is source:
        _LOGGER.warning("data set %s is not kept in memory: its copy cannot be made within keep_limit", part.name)
    return copy


def _current_period(budget: Budget) -> Periods | None:
    """Some period, to look up the column of times."""
    return None if budget.calendar is None else Periods(budget.calendar, budget.calendar.running_period(utc_now()))


def _is_null_filter(column: str) -> str:
    quoted = column.replace('"', '""')
    return f'"{quoted}" is null'


def _missing_budgets(config: Config, ledger: Ledger, budgets: Mapping[str, Budget]) -> dict[str, Budget]:
    """The budgets of analysts that are not open.

    Raises:
        BudgetMismatch: One was opened with other terms.
    """
    known = {account.analyst: account for account in ledger.accounts}
    for analyst in known.keys() & budgets.keys():
        assert analyst is not None, "the data set's own budget is no analyst's"
        if not known[analyst].balance.budget.has_same_terms(budgets[analyst]):
            with _locate_error(config, ("analysts", analyst, "budgets", ledger.dataset)):
                raise BudgetMismatch(
                    f"{known[analyst].title} was opened as {known[analyst].balance.budget}, and is never changed: "
                    "write that budget, or give the analyst another name"
                )
    return {analyst: budget for analyst, budget in budgets.items() if analyst not in known}


@contextmanager
def _locate_error(config: Config, path: tuple[str, ...]) -> Iterator[None]:
    """Name the place in the file in what is refused."""
    try:
        yield
    except (ParameterError, QuestionError, BudgetMismatch) as error:
        raise type(error)(f"{config.location(path)}: {'.'.join(path)}: {error}") from None
