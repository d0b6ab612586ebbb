"""State: everything one process of the service holds open (sources, ledgers, tokens, limits, counts)."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime

from crestline.errors import BudgetMismatch, LedgerError, ParameterError, QuestionError, SourceError
from crestline.histogram.view_kinds import SLOTS, View
from crestline.ledger.balance_rules import check_user
from crestline.ledger.budget import Budget
from crestline.ledger.ledger import Ledger
from crestline.ledger.storage.store import Store
from crestline.periods.calendar import Periods
from crestline.question import Limits, Question
from crestline.score import Sum
from crestline.sources import Source, open_source
from crestline.sources.memory_copy import may_be_kept, with_memory_copy
from crestline.sources.pool import Pool, PoolLimits
from crestline.sources.source import Reading
from crestline.web.access.keys import Keys
from crestline.web.access.rate_limit import RateLimit
from crestline.web.access.sessions import Sessions
from crestline.web.access.tokens import Tokens
from crestline.web.config import Config, DatasetConfig
from crestline.web.metrics import DatasetMetrics, Metrics
from crestline.web.requests.cancellation import Tickets, may_be_charged
from crestline.web.requests.prepared_cache import PreparedCache
from crestline.web.requests.queue import QuestionQueue
from crestline.web.requests.recent_timeouts import RecentTimeouts
from crestline.web.utc_clock import utc_now

_LOGGER = logging.getLogger("crestline.service")


@dataclass(frozen=True)
class ServedSource:
    """A source under the name and version that its owner gave it: no path or address reaches an answer.

    `in_use` is entered while a question holds a connection, by whoever counts them.
    """

    name: str
    inner: Source
    stated_version: str | None
    in_use: Callable[[], AbstractContextManager[object]] = nullcontext

    @property
    def limits(self) -> Limits:
        return self.inner.limits

    def check(self, question: Question, view: View = SLOTS) -> None:
        self.inner.check(question, view)

    @contextmanager
    def ready(self) -> Iterator[Source]:
        with self.inner.ready() as connected, self.in_use():
            may_be_charged()
            yield replace(self, inner=connected)

    def reading(self, question: Question, key: bytes = b"", view: View = SLOTS) -> AbstractContextManager[Reading]:
        return self.inner.reading(question, key, view)

    def version(self) -> str | None:
        return self.stated_version or self.inner.version()


@dataclass(frozen=True)
class ServedDataset:
    """One data set, ready to be asked."""

    config: DatasetConfig
    source: Source
    ledger: Ledger
    queue: QuestionQueue
    metrics: DatasetMetrics
    prepared_cache: PreparedCache = field(default_factory=PreparedCache)


@dataclass(frozen=True)
class ServiceState:
    """What every request finds.

    config       the configuration it was opened with
    datasets     every data set by its name, ready to be asked
    tokens, sessions    who may ask, who is signed in
    rate_limit, metrics, timeouts    what is counted in this process
    store            the ledger
    tickets          the questions that wait or run in this process
    """

    config: Config
    datasets: dict[str, ServedDataset]
    tokens: Tokens
    rate_limit: RateLimit
    metrics: Metrics
    sessions: Sessions
    timeouts: RecentTimeouts
    store: Store
    tickets: Tickets = field(default_factory=Tickets)

    def close(self) -> None:
        """Close the ledger's database; sources end with the process."""
        self.store.close()


def open_state(
    config: Config,
    *,
    clock: Callable[[], datetime] = utc_now,
    seconds: Callable[[], float] = time.monotonic,
    copies: bool = False,
) -> ServiceState:
    """Open everything a configuration names, and open budgets that are not open yet. Rows are read only for `copies` of
    data sets that are to be kept in memory."""
    metrics = Metrics()
    counted = {name: metrics.dataset(name) for name in config.datasets}
    sources = {name: _source(config, part, counted[name], copies) for name, part in config.datasets.items()}
    store = Store.create(config.ledger, clock, 30.0, config.witness)
    keys = Keys.read_or_create(config.key_file, store)
    store.refuse_damaged(keys.signer("verified"))
    ledgers = {name: _ledger(config, part, store) for name, part in config.datasets.items()}
    tokens = Tokens(store, keys)
    return ServiceState(
        config,
        {
            name: ServedDataset(part, sources[name], ledgers[name], _build_queue(config, counted[name]), counted[name])
            for name, part in config.datasets.items()
        },
        tokens,
        RateLimit(config.limits.requests_per_minute, seconds),
        metrics,
        Sessions(store, keys, tokens),
        RecentTimeouts(seconds),
        store,
    )


def reopen_state(state: ServiceState, config: Config) -> ServiceState:
    """The state of a changed configuration, beside the one that requests still use; nothing of that one is closed.

    What did not change is kept, with its connections; so are sessions, tokens, limits and counts. The ledger cannot be
    another one.
    """
    if config.ledger != state.config.ledger:
        raise ParameterError(f"{config.location(('ledger',))}: ledger is another one: restart the service for that")
    if config.witness is not None and config.witness != state.config.witness:
        state.store.attach_witness(config.witness)
    counted = {name: state.metrics.dataset(name) for name in config.datasets}
    same = {name: served for name, served in state.datasets.items() if _is_unchanged(state, config, name)}
    sources = {
        name: same[name].source if name in same else _source(config, part, counted[name], copies=True)
        for name, part in config.datasets.items()
    }
    ledgers = {name: _ledger(config, part, state.store) for name, part in config.datasets.items()}
    served = {
        name: same.get(name)
        or ServedDataset(part, sources[name], ledgers[name], _build_queue(config, counted[name]), counted[name])
        for name, part in config.datasets.items()
    }
    limit = state.rate_limit.with_limit(config.limits.requests_per_minute)
    keys = Keys.read_or_create(config.key_file, state.store)
    tokens = Tokens(state.store, keys)
    sessions = Sessions(state.store, keys, tokens)
    return replace(state, config=config, datasets=served, rate_limit=limit, tokens=tokens, sessions=sessions)


def _is_unchanged(state: ServiceState, config: Config, name: str) -> bool:
    """Whether a data set can be asked as before: its own settings, and what limits a question, are the same."""
    old, new = (replace(one.limits, requests_per_minute=1) for one in (state.config, config))
    return state.config.datasets[name] == config.datasets.get(name) and old == new


def _ledger(config: Config, part: DatasetConfig, store: Store) -> Ledger:
    """The ledger of a data set, with the budgets of its analysts."""
    with _with_location(config, ("datasets", part.name, "user")):
        for account in store.accounts(part.name):
            check_user(part.name, account.user, part.user)
    with _with_location(config, ("datasets", part.name, "budget")):
        ledger = Ledger.in_store(store, part.budget, dataset=part.name, user=part.user)
    _open_analysts(config, part.name, ledger)
    return ledger


def _source(config: Config, part: DatasetConfig, metrics: DatasetMetrics, copies: bool) -> Source:
    """The source, with every column that may be named looked up. No row is read, but for a copy."""
    at = ("datasets", part.name)
    with _with_location(config, (*at, "source")):
        inner = Pool(
            lambda: open_source(part.source, table=part.table, timeout=float(config.limits.seconds)),
            PoolLimits(config.limits.connections, config.limits.waiting, float(config.limits.seconds)),
        )
    with _with_location(config, (*at, "user")):
        inner.check(Question(user=part.user, item=(part.user,), k=1, k_bar=1))
    with _with_location(config, (*at, "budget")):
        inner.check(Question(user=part.user, item=part.items[:1], k=1, k_bar=1, period=_current_period(part.budget)))
    for item in part.items:
        with _with_location(config, (*at, "items")):
            inner.check(Question(user=part.user, item=(item,), k=1, k_bar=1, contribution=part.contribution))
    for name in part.filters:
        with _with_location(config, (*at, "filters")):
            inner.check(Question(user=part.user, item=part.items[:1], k=1, k_bar=1, where=_is_null_filter(name)))
    for name in part.sums:
        with _with_location(config, (*at, "sums")):
            inner.check(Question(user=part.user, item=part.items[:1], k=1, k_bar=1, score=Sum(name, 1)))
    for name in part.groups:
        others = tuple(item for item in part.items if item != name) or part.items
        with _with_location(config, (*at, "groups")):
            inner.check(Question(user=part.user, item=others[:1], k=1, k_bar=1, by=(name,)))
    return ServedSource(
        part.name, _cache_if_wanted(config, part, inner, copies), part.version, metrics.track_connection
    )


def _cache_if_wanted(config: Config, part: DatasetConfig, source: Source, copies: bool) -> Source:
    """The source with a copy of its columns where one is wanted. A copy that does not fit, or cannot be made, is told
    to the owner in the log, and to nobody else: questions are answered all the same."""
    if part.keep is None:
        return source
    with _with_location(config, ("datasets", part.name, "keep")):
        may_be_kept(source, part.user, part.items, part.other_columns)
    if not copies:
        return source
    try:
        copy = with_memory_copy(source, part.user, part.items, part.other_columns, part.keep)
    except SourceError:
        copy = source
    if copy is source:
        _LOGGER.warning("data set %s is not kept in memory: its copy cannot be made within keep_limit", part.name)
    return copy


def _current_period(budget: Budget) -> Periods | None:
    """Some period, to look the column up that says when."""
    return None if budget.calendar is None else Periods(budget.calendar, budget.calendar.running_period(utc_now()))


def _is_null_filter(column: str) -> str:
    quoted = column.replace('"', '""')
    return f'"{quoted}" is null'


def _open_analysts(config: Config, dataset: str, ledger: Ledger) -> None:
    for analyst in config.analysts.values():
        if dataset in analyst.budgets:
            with _with_location(config, ("analysts", analyst.name, "budgets", dataset)):
                _ensure_analyst(ledger, analyst.name, analyst.budgets[dataset])


def _ensure_analyst(ledger: Ledger, analyst: str, budget: Budget) -> None:
    if not _is_open(ledger, analyst, budget):
        try:
            ledger.add_analyst(analyst, budget)
        except LedgerError:  # another server that starts now was first, or something is really wrong
            if not _is_open(ledger, analyst, budget):
                raise


def _is_open(ledger: Ledger, analyst: str, budget: Budget) -> bool:
    for account in ledger.accounts:
        if account.analyst == analyst:
            if not account.balance.budget.has_same_terms(budget):
                raise BudgetMismatch(
                    f"{account.title} was opened as {account.balance.budget}, and is never changed: write that budget, "
                    "or give the analyst another name"
                )
            return True
    return False


def _build_queue(config: Config, metrics: DatasetMetrics) -> QuestionQueue:
    limits = config.limits
    return QuestionQueue(limits.connections, limits.waiting, float(limits.seconds), metrics.track_wait)


@contextmanager
def _with_location(config: Config, path: tuple[str, ...]) -> Iterator[None]:
    """Name the place in the file in what is refused."""
    try:
        yield
    except (ParameterError, QuestionError, BudgetMismatch) as error:
        raise type(error)(f"{config.location(path)}: {'.'.join(path)}: {error}") from None
