"""The Python face: one question (`top_k`), or a connection with a ledger (`connect`). No privacy logic lives here."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Unpack

from crestline.answer.answer import Answer
from crestline.answer_key import Identity, check_version, find_stored
from crestline.ask import ask
from crestline.exact_numbers import whole_number
from crestline.ledger.budget import Budget
from crestline.ledger.budget_fractions import Remaining
from crestline.ledger.ledger import Ledger
from crestline.prepare import Prepared, prepare
from crestline.price.price import Price, paying_accounts, price
from crestline.question import Question, QuestionFields, with_question_fields
from crestline.randomness.entropy import Entropy, system
from crestline.sources import Source, open_source
from crestline.sources.open import needs_table
from crestline.sources.pool import Pool

if TYPE_CHECKING:
    from crestline.ledger.storage.store import Store
    from crestline.reports.report import ReportRun

_RECENT = 20  # entries of a ledger in which the last answer is looked for
Address = str | os.PathLike[str]


@with_question_fields
def top_k(
    source: object,
    *,
    ledger: Ledger | Address | None = None,
    table: str | None = None,
    dataset: str | None = None,
    analyst: str | None = None,
    version: str | None = None,
    entropy: Entropy | None = None,
    **question: Unpack[QuestionFields],
) -> Answer:
    """The most popular items of a source, as far as they can be named privately.

    source          a path or glob (Parquet, CSV, JSON lines), a database URL, an Ibis, pandas, Polars or Arrow table,
                    an address in a store (`S3` adds its endpoint and credentials), or a `Histogram`
    table           with a database URL: the table that is asked
    k               how many items are wanted
    user, item      the columns that hold the user, whose presence is hidden, and the item (one or several)
    epsilon, delta  the total for this answer; with a ledger they may be left out, and are then the usual share of its
                    budget (see `Dataset.top`)
    where           a filter, such as "country = 'DE' and day >= '2026-01-01'"
    counts          True: also publish a noisy count for each item
    coverage        True: also publish how many users have one of the named items, and how many have items at all
    contribution    count at most so many items of each user
    score, clip     rank by a sum instead of by users, such as "sum(price)", to which each user adds at most `clip`, a
                    public number, per item
    domain          a public list of all items
    by              one or several columns: the top k of every group that they make
    groups_per_user, groups, floor   each user counts in so many groups; a public list of all groups; what fewer users
                    than `floor` have is not looked at
    period, since, until, last, open   where the ledger's budget is by period: which periods are read; one that has not
                    ended is refused unless `open=True`
    ordered         True: a list, the most popular first; False: a set will do
    passes          1: one pass over the table, of which `k_bar + 1` rows come back
    mechanism       "auto", a name of the catalogue, or a mechanism
    k_bar           how many items the mechanism may see
    ledger          charged before a row is read; the same question on the same data is then answered again at no cost
    dataset         the data set in the ledger, where there are several
    analyst         who pays
    version         a public label of the data, such as the day they were loaded; without one a file's size and time
                    tell whether the data are the same, and so whoever asks learns that it was touched
    entropy         where random bits come from: the operating system's generator unless given
    """
    asked, opened = Question.from_fields(question), open_source(source, table=table)
    paying = ledger if ledger is None or isinstance(ledger, Ledger) else Ledger.open(ledger, dataset=dataset)
    try:
        now = None if paying is None else paying.now()
        prepared = prepare(asked, budget=_paying_budget(paying, analyst), limits=opened.limits, now=now)
        return ask(
            prepared, source=opened, entropy=entropy or system(), ledger=paying, analyst=analyst, version=version
        )
    finally:
        if paying is not None and paying is not ledger:
            paying.close()


def connect(source: object, *, ledger: Address | None = None) -> Connection:
    """A database (or a file, or a table in memory: `source`) whose questions are charged to one ledger.

    `ledger` is the path of a SQLite file or the address of a PostgreSQL database. Without it, spending is recorded
    in memory for all data sets of the connection, and forgotten with it.
    """
    return Connection(source, ledger)


@dataclass(frozen=True)
class Connection:
    """Where the data are, and where the ledger is."""

    source: object
    ledger: Address | None = None
    _memory: Store | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_memory", None if self.ledger is not None else _store_in_memory())

    def dataset(
        self,
        name: str,
        *,
        user: str,
        budget: Budget,
        contribution: int | None = None,
        version: str | None = None,
        entropy: Entropy | None = None,
        users: int | None = None,
    ) -> Dataset:
        """One table with its user column and its budget. Both are fixed once, and never change: whoever asks for the
        data set again gets the same ledger, and other users or another budget are refused.

        `name` is the table of a database, and the name of the data set in the ledger; `user` the column that holds the
        user; `budget` what may ever be spent. `contribution` counts at most so many items of each user in every
        question that does not say otherwise. `entropy` is where random bits come from: the operating system unless
        given. `users` is roughly how many users there are, if that is public: answers and prices then warn of a δ that
        is not far below one in so many. `version` is a public label of the data, such as the day they were loaded:
        answers are stored under it, and served again until it changes.
        """
        stated = None if version is None else check_version(version)
        in_database = needs_table(self.source)
        source = Pool(lambda: open_source(self.source, table=name)) if in_database else open_source(self.source)
        told = None if users is None else whole_number(users, "users")
        paying = self._ledger(name, budget, user)
        return Dataset(source, user, paying, contribution, entropy or system(), stated, told)

    def _ledger(self, name: str, budget: Budget, user: str) -> Ledger:
        if self._memory is not None:
            return Ledger.in_store(self._memory, budget, dataset=name, user=user)
        assert self.ledger is not None, "a connection has an address for its ledger, or keeps it itself"
        return Ledger.open_or_create(self.ledger, budget, dataset=name, user=user)


@dataclass(frozen=True)
class Dataset:
    """One table that can be asked, with a ledger."""

    source: Source
    user: str
    ledger: Ledger
    contribution: int | None
    entropy: Entropy
    version: str | None = None
    users: int | None = None

    @with_question_fields
    def top(self, *, analyst: str | None = None, **question: Unpack[QuestionFields]) -> Answer:
        """The most popular items, charged to this data set's budget; the arguments are those of `top_k`.

        Unless `epsilon` and `delta` are given, a question may cost a tenth of what the budget is counted in (ρ, or ε
        for a budget of kind "pure") and a 500th of its δ; the budget is the analyst's own where there is one.
        """
        return ask(
            self._prepare_question(question, analyst),
            source=self.source,
            entropy=self.entropy,
            ledger=self.ledger,
            analyst=analyst,
            version=self.version,
        )

    @with_question_fields
    def price(self, *, analyst: str | None = None, **question: Unpack[QuestionFields]) -> Price:
        """What `top` with these arguments would cost at most and at least. Nothing is asked and no row is read."""
        prepared = self._prepare_question(question, analyst)
        self.source.check(prepared.question, prepared.view)
        known = Identity(prepared, self.source, self.entropy, self.version)
        stored = find_stored(self.ledger, known, analyst, record=False)
        payers = paying_accounts(self.ledger, analyst, prepared.period_charge)
        return price(prepared, payers, stored=stored is not None)

    def _prepare_question(self, fields: QuestionFields, analyst: str | None) -> Prepared:
        """The question and the mechanism for it; what is not given comes from the data set and its budget."""
        question = Question.from_fields({"user": self.user, **fields})
        if question.contribution is None:
            question = replace(question, contribution=self.contribution)
        budget = _paying_budget(self.ledger, analyst)
        limits = replace(self.source.limits, users=self.users)
        return prepare(question, budget=budget, limits=limits, now=self.ledger.now())

    @property
    def remaining(self) -> Remaining:
        """What is left of the budget: as a part of it, and how many more like the last answer it pays for.

        Where the budget is by period, ask `ledger.remaining(period=…)`.
        """
        paid = [entry.charge_of(None) for entry in self.ledger.history(_RECENT) if entry.kind == "settled"]
        return Remaining.from_balance(self.ledger.budget, self.ledger.remaining(), paid[-1] if paid else None)


@with_question_fields
def report(
    data: Dataset, name: str = "report", *, every: str, ahead: int = 0, **question: Unpack[QuestionFields]
) -> ReportRun:
    """A recurring report on a data set whose budget is by period: each period that has ended is asked once.

    `every` is day, week, month, quarter or year, and `since` the first period; the other arguments are those of
    `top_k`, without periods. For the next `ahead` periods, the running one among them, its cost is reserved, so that no
    other question can take it. Called again, it asks only what has become due since. Show it in a notebook, or take
    `rows()`, `to_pandas()`, `svg()`.
    """
    from crestline.reports.report import Report, run_report

    since = question.pop("since", None)
    asked = Question.from_fields({"user": data.user, "contribution": data.contribution, **question})
    made = Report(name, asked, every, since or "", ahead)
    return run_report(made, source=data.source, ledger=data.ledger, entropy=data.entropy)


def _store_in_memory() -> Store:
    from crestline.ledger.storage.store import Store

    return Store.in_memory(lambda: datetime.now(UTC))


def _paying_budget(ledger: Ledger | None, analyst: str | None) -> Budget | None:
    """The budget that pays: the analyst's own, or the data set's; None without a ledger."""
    return None if ledger is None else ledger.payers(analyst)[-1].balance.budget
