"""State: everything one process of the service holds open (sources, ledgers, tokens, limits, counts)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from crestline.access.keys import Keys
from crestline.access.tokens import Tokens
from crestline.config import Config, DatasetConfig
from crestline.errors import ParameterError
from crestline.ledger.ledger import Ledger
from crestline.ledger.receipt import Clock, utc_now
from crestline.ledger.storage.store import Store
from crestline.serving import open_budgets, open_served_source, open_store
from crestline.sources import Source
from crestline.web.access.rate_limit import RateLimit
from crestline.web.access.sessions import Sessions
from crestline.web.metrics import DatasetMetrics, Metrics
from crestline.web.readiness import LedgerFault, damage_of, readiness_of
from crestline.web.requests.cancellation import Tickets
from crestline.web.requests.prepared_cache import PreparedCache
from crestline.web.requests.queue import QuestionQueue
from crestline.web.requests.recent_timeouts import RecentTimeouts

_REFUSAL = (
    "the question cannot be asked of this data set: compare a column with values of its own type (text and dates "
    "in single quotes, such as '2026-01-31'; numbers and true/false without), and name each item column once"
)


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
    rate_limit, free_work, metrics, timeouts    what is counted in this process; free_work: seconds of the processor
    readiness, damage    why questions cannot be answered, and whether the ledger holds
    store            the ledger
    tickets          the questions that wait or run in this process
    """

    config: Config
    datasets: dict[str, ServedDataset]
    tokens: Tokens
    rate_limit: RateLimit
    free_work: RateLimit
    metrics: Metrics
    sessions: Sessions
    timeouts: RecentTimeouts
    store: Store
    readiness: LedgerFault
    damage: LedgerFault
    tickets: Tickets = field(default_factory=Tickets)

    def close(self) -> None:
        """Close the ledger's database; sources end with the process."""
        self.store.close()


def open_state(
    config: Config,
    *,
    clock: Clock = utc_now,
    seconds: Callable[[], float] = time.monotonic,
    copies: bool = False,
) -> ServiceState:
    """Open everything a configuration names, and open budgets that are not open yet. Rows are read only for `copies` of
    data sets that are to be kept in memory."""
    metrics = Metrics()
    counted = {name: metrics.dataset(name) for name in config.datasets}
    sources = {name: _open_source(config, part, counted[name], copies) for name, part in config.datasets.items()}
    store = open_store(config, clock)
    keys = Keys.read_or_create(config.key_file, store)
    store.refuse_damaged(keys.signer("verified"))
    ledgers = {name: open_budgets(config, part, store) for name, part in config.datasets.items()}
    tokens = Tokens(store, keys)
    return ServiceState(
        config,
        {
            name: ServedDataset(part, sources[name], ledgers[name], _build_queue(config, counted[name]), counted[name])
            for name, part in config.datasets.items()
        },
        tokens,
        RateLimit(config.limits.requests_per_minute, seconds),
        RateLimit(config.limits.free_seconds, seconds),
        metrics,
        Sessions(store, keys, tokens),
        RecentTimeouts(seconds),
        store,
        readiness_of(store),
        damage_of(store, keys.signer("verified")),
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
        name: same[name].source if name in same else _open_source(config, part, counted[name], copies=True)
        for name, part in config.datasets.items()
    }
    ledgers = {name: open_budgets(config, part, state.store) for name, part in config.datasets.items()}
    served = {
        name: same.get(name)
        or ServedDataset(part, sources[name], ledgers[name], _build_queue(config, counted[name]), counted[name])
        for name, part in config.datasets.items()
    }
    limit = state.rate_limit.with_limit(config.limits.requests_per_minute)
    free = state.free_work.with_limit(config.limits.free_seconds)
    keys = Keys.read_or_create(config.key_file, state.store)
    tokens = Tokens(state.store, keys)
    sessions = Sessions(state.store, keys, tokens)
    return replace(
        state, config=config, datasets=served, rate_limit=limit, free_work=free, tokens=tokens, sessions=sessions
    )


def _is_unchanged(state: ServiceState, config: Config, name: str) -> bool:
    """Whether a data set can be asked as before: its own settings, and what limits a question, are the same."""
    shared = {"requests_per_minute": 1, "free_seconds": 1}
    old, new = (one.limits.model_copy(update=shared) for one in (state.config, config))
    return state.config.datasets[name] == config.datasets.get(name) and old == new


def _open_source(config: Config, part: DatasetConfig, metrics: DatasetMetrics, copies: bool) -> Source:
    source = open_served_source(config, part, metrics.track_connection, copies=copies)
    return replace(source, refusal=_REFUSAL)


def _build_queue(config: Config, metrics: DatasetMetrics) -> QuestionQueue:
    limits = config.limits
    return QuestionQueue(limits.connections, limits.waiting, limits.seconds / 2, metrics.track_wait)
