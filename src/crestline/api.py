"""The Python face: one question (`top_k`), or a connection with books (`connect`). No privacy logic lives here."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from crestline.answer.answer import Answer
from crestline.ask import ask
from crestline.choose import AUTO, Chosen, choose
from crestline.identity import find_stored, identify, stated_version
from crestline.ledger.budget import Budget
from crestline.ledger.ledger import Ledger
from crestline.parameters import Exact
from crestline.price.price import Price, price, question_share
from crestline.question import Question, item_columns
from crestline.randomness.entropy import Entropy, system
from crestline.sources import Source, open_source

if TYPE_CHECKING:
    from crestline.ledger.amount import Amount
    from crestline.ledger.store import Store

Address = str | os.PathLike[str]


def top_k(
    source: Any,
    *,
    user: str = "user",
    item: str | Sequence[str] = "item",
    k: int,
    epsilon: Exact | None = None,
    delta: Exact | None = None,
    mechanism: Any = AUTO,
    k_bar: int | None = None,
    contribution: int | None = None,
    where: str | None = None,
    counts: bool = False,
    score: str | None = None,
    clip: int | None = None,
    domain: Any = None,
    ledger: Ledger | Address | None = None,
    table: str | None = None,
    version: str | None = None,
    entropy: Entropy | None = None,
) -> Answer:
    """The most popular items of a source, as far as they can be named privately.

    `source` is a path or glob (Parquet, CSV, JSON lines), a database URL plus `table`, an Ibis, pandas, Polars or Arrow
    table, or a `Histogram`. `epsilon` and `delta` are the total for this answer. Items are ranked by their distinct
    users, or, with `score="sum(column)"`, by a sum to which each user adds at most `clip` (a public number) per item.
    With a `ledger` the release is charged to it before a row is read, and the same question on the same data is
    answered again at no cost. `version` is a public label of the data, such as the day they were loaded; without one
    a file's size and time tell whether the data are the same, and so whoever asks learns that it was touched.
    """
    opened = open_source(source, table=table)
    chosen = choose(
        mechanism,
        k=k,
        k_bar=k_bar,
        epsilon=epsilon,
        delta=delta,
        contribution=contribution,
        counts=counts,
        books=ledger is not None,
        known_domain=domain is not None or getattr(opened, "whole_universe", False),
        scored=score is not None,
        most_slots=getattr(opened, "most_slots", None),
    )
    question = _question(user, item, k, chosen, where, contribution, score, clip)
    books = ledger if ledger is None or isinstance(ledger, Ledger) else Ledger.open(ledger)
    try:
        return ask(
            question,
            source=opened,
            chosen=chosen,
            entropy=entropy or system(),
            ledger=books,
            domain=domain,
            version=version,
        )
    finally:
        if books is not None and books is not ledger:
            books.close()


def connect(source: Any, *, ledger: Address | None = None) -> Connection:
    """A database (or a file, or a table in memory) whose questions are charged to one ledger.

    Without `ledger` the books end with the connection: all its data sets share them.
    """
    return Connection(source, ledger)


@dataclass(frozen=True)
class Connection:
    """Where the data are, and where the books are."""

    source: Any
    ledger: Address | None = None
    _memory: Store | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_memory", None if self.ledger is not None else _books_in_memory())

    def dataset(
        self,
        name: str,
        *,
        user: str,
        budget: Budget,
        contribution: int | None = None,
        version: str | None = None,
        entropy: Entropy | None = None,
    ) -> Dataset:
        """One table with its user column and its budget. Both are fixed once, and never change: whoever asks for the
        data set again gets the same books, and other users or another budget are refused.

        `version` is a public label of the data, such as the day they were loaded: answers are stored under it, and
        served again until it changes.
        """
        stated = None if version is None else stated_version(version)
        in_database = isinstance(self.source, str) and "://" in self.source
        source = open_source(self.source, table=name if in_database else None)
        return Dataset(source, user, self._books(name, budget, user), contribution, entropy or system(), stated)

    def _books(self, name: str, budget: Budget, user: str) -> Ledger:
        if self._memory is not None:
            return Ledger.in_store(self._memory, budget, dataset=name, user=user)
        assert self.ledger is not None, "a connection has an address for its books, or keeps them itself"
        return Ledger.open_or_create(self.ledger, budget, dataset=name, user=user)


@dataclass(frozen=True)
class Dataset:
    """One table that can be asked, with books."""

    source: Source
    user: str
    ledger: Ledger
    contribution: int | None
    entropy: Entropy
    version: str | None = None

    def top(
        self,
        *,
        k: int,
        item: str | Sequence[str],
        where: str | None = None,
        epsilon: Exact | None = None,
        delta: Exact | None = None,
        mechanism: Any = AUTO,
        k_bar: int | None = None,
        contribution: int | None = None,
        counts: bool = False,
        score: str | None = None,
        clip: int | None = None,
        domain: Any = None,
        analyst: str | None = None,
    ) -> Answer:
        """The most popular items, charged to this data set's budget.

        Unless `epsilon` and `delta` are given, a question may cost a tenth of the budget's ε and a twentieth of its δ.
        """
        question, chosen = self._prepared(
            k, item, where, epsilon, delta, mechanism, k_bar, contribution, counts, domain, score, clip
        )
        return ask(
            question,
            source=self.source,
            chosen=chosen,
            entropy=self.entropy,
            ledger=self.ledger,
            analyst=analyst,
            domain=domain,
            version=self.version,
        )

    def price(
        self,
        *,
        k: int,
        item: str | Sequence[str],
        where: str | None = None,
        epsilon: Exact | None = None,
        delta: Exact | None = None,
        mechanism: Any = AUTO,
        k_bar: int | None = None,
        contribution: int | None = None,
        counts: bool = False,
        score: str | None = None,
        clip: int | None = None,
        domain: Any = None,
        analyst: str | None = None,
    ) -> Price:
        """What `top` with these arguments would cost at most and at least. Nothing is asked and no row is read."""
        question, chosen = self._prepared(
            k, item, where, epsilon, delta, mechanism, k_bar, contribution, counts, domain, score, clip
        )
        self.source.check(question)
        known = identify(question, self.source, chosen, self.entropy, domain=domain, version=self.version)
        stored = find_stored(self.ledger, known, analyst, record=False)
        payers = [(payer.analyst or "the data set", payer.balance) for payer in self.ledger.payers(analyst)]
        return price(chosen, payers, stored=stored is not None)

    def _prepared(
        self,
        k: int,
        item: str | Sequence[str],
        where: str | None,
        epsilon: Exact | None,
        delta: Exact | None,
        mechanism: Any,
        k_bar: int | None,
        contribution: int | None,
        counts: bool,
        domain: Any,
        score: str | None,
        clip: int | None,
    ) -> tuple[Question, Chosen]:
        """The question and the mechanism for it; what is not given comes from the data set and its budget."""
        bound = self.contribution if contribution is None else contribution
        loss, failure = question_share(self.ledger.budget, epsilon, delta)
        chosen = choose(
            mechanism,
            k=k,
            k_bar=k_bar,
            epsilon=loss,
            delta=failure,
            contribution=bound,
            counts=counts,
            books=True,
            known_domain=domain is not None or getattr(self.source, "whole_universe", False),
            scored=score is not None,
            most_slots=getattr(self.source, "most_slots", None),
        )
        return _question(self.user, item, k, chosen, where, bound, score, clip), chosen

    @property
    def remaining(self) -> Amount:
        """What is left of the budget."""
        return self.ledger.remaining()


def _books_in_memory() -> Store:
    from crestline.ledger.store import Store

    return Store.in_memory(lambda: datetime.now(UTC))


def _question(
    user: str,
    item: str | Sequence[str],
    k: int,
    chosen: Chosen,
    where: str | None,
    contribution: int | None,
    score: str | None,
    clip: int | None,
) -> Question:
    return Question(
        user, item_columns(item), k, chosen.k_bar, where=where, contribution=contribution, score=score, clip=clip
    )
