"""Python interface: one question (`top_k`), or a connection with a ledger (`connect`). It holds no privacy logic."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypedDict, Unpack, overload

from crestline.answer.answer import Answer
from crestline.answer_key import Identity, check_version, find_stored
from crestline.ask import ask, create_charging
from crestline.errors import ParameterError, QuestionError
from crestline.exact_numbers import whole_number, with_typed_dict_signature
from crestline.label_text import HasShortRepr, html_text
from crestline.ledger.budget import Budget
from crestline.ledger.budget_fractions import Remaining
from crestline.ledger.ledger import Ledger
from crestline.prepare import Prepared, prepare
from crestline.price.price import Price, paying_accounts, price
from crestline.question import Question, QuestionFields, with_question_fields
from crestline.randomness.entropy import Entropy, system
from crestline.sources import Source, open_source
from crestline.sources.files.s3 import S3
from crestline.sources.open import needs_table
from crestline.sources.pool import Pool
from crestline.sql_questions.statement import SqlOptions
from crestline.words import LONGEST_DESCRIPTION, LONGEST_TITLE, NO_WORDS, Words, check_text

if TYPE_CHECKING:
    from crestline.client.remote import RemoteConnection, RemoteDataset
    from crestline.ledger.storage.store import Store
    from crestline.reports.report import ReportRun
    from crestline.sql_questions.result import SqlResult
    from crestline.sql_questions.statement import Parameter

_SHOWN_PERIODS = 12
_RECENT = 20  # entries of a ledger that are searched for the last answer
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
    """Release the most popular items of a source, as far as privacy permits.

    Args:
        source: Path or glob (Parquet, CSV, JSON lines), database URL, Ibis, pandas, Polars or Arrow table, address in a
            store (`S3` adds its endpoint and credentials), or `Histogram`.
        table: Table to ask, with a database URL.
        k: Number of items wanted, or "all": as many as can be named, at most 1,000.
        user, item: Columns of the user, whose presence is hidden, and of the item (one or several).
        epsilon, delta: Total of this answer; with a ledger they may be left out, and are then the usual share of its
            budget (see `Dataset.top`).
        where: Filter, such as "country = 'DE' and day >= '2026-01-01'".
        counts: True also releases a noisy count for each item.
        coverage: True also releases how many users have one of the named items, and how many have any item.
        contribution: Most items of one user that are counted.
        score, clip: Rank by a sum instead of by users, such as "sum(price)", to which each user adds at most `clip`, a
            public number, per item.
        domain: Public list of all items.
        by: Columns that make groups, each of which gets a top k.
        groups_per_user, groups, floor: Most groups of one user that are counted; a public list of all groups; a public
            number of users below which an item is not read.
        period, since, until, last, open: Periods that are read, where the ledger's budget is by period; one that has
            not ended is refused unless `open=True`.
        ordered: True returns a list, the most popular item first; False also allows a set.
        passes: 1 allows one pass over the table, which returns `k_bar + 1` rows.
        mechanism: "auto", a name of the catalogue, or a mechanism.
        k_bar: Number of items that the mechanism may see.
        ledger: Ledger, or its address. It is charged before a row is read, and serves the answer to the same question
            on the same data again at no cost.
        dataset: Data set in the ledger, where there are several.
        analyst: Analyst who pays.
        version: Public label of the data, such as the day they were loaded. Without it the size and time of files
            identify the data, which reveals to the analyst that a file was touched.
        entropy: Source of random bits; the operating system's generator by default.

    Returns:
        The answer, with its guarantee, and with a bill if there is a ledger.

    Raises:
        ParameterError: A number or an option is not usable.
        QuestionError: The source cannot answer the question.
        MechanismError: The mechanism is unknown, or cannot answer the question.
        BudgetError: The ledger refuses the cost.
        SourceError: The source cannot be reached, or failed.
        LedgerError: The ledger cannot be read or written.
    """
    if ledger is None and (analyst is not None or dataset is not None):
        raise ParameterError("analyst and dataset are names in a ledger: give ledger, too, or leave them out")
    parsed, rows = Question.from_fields(question), open_source(source, table=table)
    payer = ledger if ledger is None or isinstance(ledger, Ledger) else Ledger.open(ledger, dataset=dataset)
    try:
        now = None if payer is None else payer.now()
        prepared = prepare(parsed, budget=_paying_budget(payer, analyst), limits=rows.limits, now=now)
        charge = create_charging(payer, analyst=analyst)
        return ask(prepared, source=rows, entropy=_check_entropy(entropy), charge=charge, version=version)
    finally:
        if payer is not None and payer is not ledger:
            payer.close()


class DatasetTexts(TypedDict, total=False):
    """What an owner calls a data set, its users and its columns."""

    title: str | None
    description: str | None
    words: Mapping[str, object] | None


class SqlCallOptions(SqlOptions, total=False):
    """The same, and arguments of `top_k` that no question states."""

    dataset: str | None
    analyst: str | None
    version: str | None
    entropy: Entropy | None


def sql(
    text: str,
    data: object,
    *,
    user: str,
    parameters: Sequence[Parameter] = (),
    table: str | None = None,
    ledger: Ledger | Address | None = None,
    **options: Unpack[SqlCallOptions],
) -> SqlResult:
    """Answer a SQL query as a question; nothing of the text is executed.

    `SELECT item, COUNT(DISTINCT user) FROM t GROUP BY item ORDER BY 2 DESC LIMIT 10` is `top_k(k=10, counts=True)`. The
    same text with EXPLAIN is not answered here: a price is that of a ledger, see `Dataset.sql`.

    Args:
        text: The query; `$1` or `?` are parameters.
        data: Source of the rows, as in `top_k`.
        user: Column of the user, whose presence is hidden.
        parameters: Values of the parameters.
        table: Table to ask, with a database URL; the text may use any name where there is one table.
        ledger: Ledger, or its address, as in `top_k`.
        **options: Arguments of `top_k` that the text does not state, such as epsilon, delta and clip.

    Returns:
        Columns and rows as the text names them, and the answer.

    Raises:
        SqlError: The text is no question; the message says what to write instead.
        CrestlineError: As `top_k`.
    """
    from crestline.sql_questions.reader import SqlTable
    from crestline.sql_questions.result import answer_result, known_result
    from crestline.sql_questions.statement import Kind, join_options, read_statement

    statement = read_statement(text, SqlTable(user, table), parameters=parameters)
    if statement.kind is Kind.NOTHING:
        return known_result(statement)
    if statement.kind is Kind.PRICE:
        raise QuestionError("EXPLAIN shows a price, and a price is that of a ledger: connect(…).dataset(…).sql(…)")
    fields = join_options(statement.fields, {**options, "user": user})
    answer = top_k(data, table=table, ledger=ledger, **fields)
    return answer_result(statement, answer)


@overload
def connect(source: str, *, token: str) -> RemoteConnection: ...
@overload
def connect(source: object, *, ledger: Address | None = None) -> Connection: ...
def connect(
    source: object, *, ledger: Address | None = None, token: str | None = None
) -> Connection | RemoteConnection:
    """Connect to data whose questions are charged to one ledger; nothing is opened before a data set is asked for.

    Args:
        source: Database URL, or a file or table as in `top_k`; with `token`, the address of a service.
        ledger: Path of a SQLite file, or address of a PostgreSQL database. Without it, charges are recorded in memory,
            for all data sets of the connection, and lost with it.
        token: Token for a service, which has a ledger of its own.

    Raises:
        ParameterError: The address of the service or the token is not usable.
    """
    if token is None:
        return Connection(source, ledger)
    if ledger is not None:
        raise ParameterError("a service has a ledger of its own: leave ledger out")
    from crestline.client.http import Service
    from crestline.client.remote import RemoteConnection

    return RemoteConnection(Service.open(str(source), token))


@dataclass(frozen=True, repr=False)
class Connection(HasShortRepr):
    """A source and the ledger of its data sets.

    Attributes:
        source: Database URL, or a file or table as in `top_k`.
        ledger: Address of the ledger; None for one in memory.
    """

    source: object
    ledger: Address | None = None
    _memory: Store | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_memory", None if self.ledger is not None else _store_in_memory())

    def __str__(self) -> str:
        where = "in memory" if self.ledger is None else _address_text(self.ledger)
        return f"{_address_text(self.source)}, ledger {where}"

    @with_typed_dict_signature(DatasetTexts, {})
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
        **texts: Unpack[DatasetTexts],
    ) -> Dataset:
        """Open a data set: one table with its user column and its budget, which are fixed when it is first opened.

        Args:
            name: Table of a database, and name of the data set in the ledger.
            user: Column of the user, whose presence is hidden.
            budget: Budget for all answers together.
            contribution: Most items of one user that are counted, for questions that do not state it.
            version: Public label of the data, such as the day they were loaded; answers are stored under it, and served
                again until it changes.
            entropy: Source of random bits; the operating system's generator by default.
            users: Approximate number of users, if that is public: answers and prices then warn of a δ that is not far
                below one divided by it.
            title: What the data set is called in titles; its name by default.
            description: What its rows are, in a sentence or two.
            words: What users and columns are called, such as {"user": "customers", "sku": ["product", "products"],
                "verb": "bought by"}: one word (a plural if it ends in s), or singular and plural. `Answer.heading` says
                the question in these words.

        Returns:
            The data set; opened again, it has the same ledger.

        Raises:
            ParameterError: A number or the version is not usable.
            QuestionError: There is no such source.
            BudgetMismatch: The ledger has this data set with another user column or another budget.
            LedgerError: The ledger cannot be read or written.
        """
        label = None if version is None else check_version(version)
        shown, in_database = _read_texts(name, **texts), needs_table(self.source)
        source = Pool(lambda: open_source(self.source, table=name)) if in_database else open_source(self.source)
        number = None if users is None else whole_number(users, "users")
        random_bits, ledger = _check_entropy(entropy), self._ledger(name, budget, user)
        return Dataset(source, user, ledger, contribution, random_bits, label, number, *shown)

    def _ledger(self, name: str, budget: Budget, user: str) -> Ledger:
        """Ledger of a data set, created if there is none."""
        if self._memory is not None:
            return Ledger.in_store(self._memory, budget, dataset=name, user=user)
        assert self.ledger is not None, "a connection has an address of a ledger, or a ledger in memory"
        return Ledger.open_or_create(self.ledger, budget, dataset=name, user=user)


@dataclass(frozen=True, repr=False)
class Dataset:
    """One table with its ledger.

    Attributes:
        source: Source of the rows.
        user: Column of the user.
        ledger: Ledger that pays.
        contribution: Most items of one user that are counted, for questions that do not state it.
        entropy: Source of random bits.
        version: Public label of the data.
        users: Approximate number of users, if that is public.
        title: What the data set is called in titles.
        description: What its rows are.
        words: What the owner calls users and columns.
    """

    source: Source
    user: str
    ledger: Ledger
    contribution: int | None
    entropy: Entropy
    version: str | None = None
    users: int | None = None
    title: str | None = None
    description: str | None = None
    words: Words = NO_WORDS

    @with_question_fields
    def top(self, *, analyst: str | None = None, **question: Unpack[QuestionFields]) -> Answer:
        """Release the most popular items, charged to the budget of this data set.

        Without `epsilon` and `delta` a question may cost a tenth of the unit that the budget is counted in (ρ, or ε for
        a budget of kind "pure") and a 500th of its δ; the budget is the analyst's own where there is one.

        Args:
            analyst: Analyst who pays.
            **question: Arguments of `top_k` that state a question.

        Returns:
            The answer, with its guarantee and its bill.

        Raises:
            CrestlineError: As `top_k`.
        """
        answer = ask(
            self._prepare_question(question, analyst),
            source=self.source,
            entropy=self.entropy,
            charge=create_charging(self.ledger, analyst=analyst),
            version=self.version,
        )
        return answer.replace_fields(title=answer.question.words(self.words))

    @with_question_fields
    def price(self, *, analyst: str | None = None, **question: Unpack[QuestionFields]) -> Price:
        """Price of `top` with the same arguments, at most and at least; nothing is charged and no row is read.

        Args:
            analyst: Analyst who would pay.
            **question: Arguments of `top_k` that state a question.

        Raises:
            CrestlineError: As `top_k`, except that a cost above the remaining budget is priced, not refused.
        """
        prepared = self._prepare_question(question, analyst)
        self.source.check(prepared.question, prepared.view)
        known = Identity(prepared, self.source, self.entropy, self.version)
        stored = find_stored(self.ledger, known, analyst, record=False)
        payers = paying_accounts(self.ledger, analyst, prepared.period_charge)
        return price(prepared, payers, stored=stored is not None)

    def sql(
        self,
        text: str,
        *,
        parameters: Sequence[Parameter] = (),
        analyst: str | None = None,
        **options: Unpack[SqlOptions],
    ) -> SqlResult:
        """Answer a SQL query as a question, charged to the budget of this data set; with EXPLAIN, its price.

        Args:
            text: The query, on the table with the name of this data set; `$1` or `?` are parameters.
            parameters: Values of the parameters.
            analyst: Analyst who pays.
            **options: Arguments of `top` that the text does not state, such as epsilon, delta and clip.

        Returns:
            Columns and rows as the text names them, and the answer.

        Raises:
            SqlError: The text is no question; the message says what to write instead. Nothing is charged.
            CrestlineError: As `top`.
        """
        from crestline.sql_questions.reader import SqlTable
        from crestline.sql_questions.result import answer_result, known_result, price_result
        from crestline.sql_questions.statement import Kind, join_options, read_statement

        table = SqlTable(self.user, self.ledger.dataset)
        calendar = self.ledger.budget.calendar
        statement = read_statement(text, table, parameters=parameters, calendar=calendar)
        if statement.kind is Kind.NOTHING:
            return known_result(statement)
        fields = join_options(statement.fields, options)
        if statement.kind is Kind.PRICE:
            return price_result(statement, str(self.price(analyst=analyst, **fields)))
        return answer_result(statement, self.top(analyst=analyst, **fields))

    def _prepare_question(self, fields: QuestionFields, analyst: str | None) -> Prepared:
        """The question with its mechanism; what it does not state comes from the data set and its budget."""
        question = Question.from_fields({"user": self.user, **fields})
        if question.contribution is None:
            question = replace(question, contribution=self.contribution)
        budget = _paying_budget(self.ledger, analyst)
        limits = replace(self.source.limits, users=self.users)
        return prepare(question, budget=budget, limits=limits, now=self.ledger.now())

    def __repr__(self) -> str:
        return f"<Dataset: {self.title or self.ledger.dataset}, users of column {self.user!r}>"

    def __str__(self) -> str:
        budget = self.ledger.budget
        left = f": {self.remaining}" if budget.calendar is None else ""
        about = [self.title or self.ledger.dataset, *([self.description] if self.description else [])]
        return "\n".join([*about, f"Users of column {self.user!r}", f"Budget {budget}{left}"])

    def _repr_html_(self) -> str:
        budget = self.ledger.budget
        parts = [self.remaining] if budget.calendar is None else self._remaining_by_period()
        meters = "".join(part._repr_html_() for part in parts)
        lines = [self.description or "", f"Users of column {self.user!r}; budget {budget}"]
        return (
            f"<b>{html_text(self.title or self.ledger.dataset)}</b><p>{'<br>'.join(map(html_text, lines))}</p>{meters}"
        )

    def _remaining_by_period(self) -> list[Remaining]:
        """What is left of the last periods that a question was charged to."""
        single = [one for one in self.ledger.periods() if one.span == 1][-_SHOWN_PERIODS:]
        return [
            replace(Remaining.from_balance(one.balance.budget, one.balance.remaining, None), period=one.period_text)
            for one in single
        ]

    @property
    def remaining(self) -> Remaining:
        """Remaining budget: as a part of the whole, as an ε, and as a number of answers at the price of the last.

        Where the budget is by period, use `ledger.remaining(period=…)`.
        """
        payments = [entry.charge_of(None) for entry in self.ledger.history(_RECENT) if entry.kind == "settled"]
        return Remaining.from_balance(self.ledger.budget, self.ledger.remaining(), payments[-1] if payments else None)


@with_question_fields
def report(
    data: Dataset | RemoteDataset,
    name: str = "report",
    *,
    every: str,
    ahead: int = 0,
    **question: Unpack[QuestionFields],
) -> ReportRun:
    """Ask a recurring question: each period that has ended is asked once, and later calls ask what is due since.

    Args:
        data: Data set whose budget is by period.
        name: Name under which the answers are stored in the ledger.
        every: Period of the report: day, week, month, quarter or year.
        ahead: Number of periods, beginning with the one that is running, for which the cost is reserved, so that no
            other question can take it.
        **question: Arguments of `top_k` that state a question; `since` is the first period of the report.

    Returns:
        The editions of the report. A notebook shows their chart; `rows()`, `to_pandas()` and `svg()` return them.

    Raises:
        ParameterError: A number or an option is not usable.
        QuestionError: The budget is not by period, or its periods do not make up those of the report.
        MechanismError: The mechanism is unknown, or cannot answer the question.
        LedgerError: The ledger cannot be read or written.
    """
    from crestline.client.remote import RemoteDataset, run_remote_report
    from crestline.reports.report import Report, run_report

    if not isinstance(data, Dataset | RemoteDataset):
        raise ParameterError("a report asks a data set: report(connect(…).dataset(…), every='month', …)")
    since = question.pop("since", None)
    parsed = Question.from_fields({"user": data.user, "contribution": data.contribution, **question})
    parsed_report = Report(name, parsed, every, since or "", ahead)
    if isinstance(data, RemoteDataset):
        return run_remote_report(parsed_report, data, question)
    return run_report(parsed_report, source=data.source, ledger=data.ledger, entropy=data.entropy)


def _read_texts(
    name: str,
    *,
    title: str | None = None,
    description: str | None = None,
    words: Mapping[str, object] | None = None,
) -> tuple[str, str | None, Words]:
    """Title, description and words of a data set, checked.

    Raises:
        ParameterError: A text is empty or too long.
    """
    return (
        name if title is None else check_text(title, "title", LONGEST_TITLE),
        None if description is None else check_text(description, "description", LONGEST_DESCRIPTION),
        Words.from_mapping(words),
    )


def _check_entropy(entropy: Entropy | None) -> Entropy:
    """The source of random bits, the operating system's unless one is given; anything else is refused."""
    if entropy is not None and not callable(getattr(entropy, "words", None)):
        raise ParameterError("entropy is a source of random bits, such as crestline.entropy.system()")
    return entropy or system()


def _address_text(source: object) -> str:
    """What a source or a ledger is, without its rows, and without name and password of a URL."""
    if isinstance(source, S3):
        source = source.address
    if isinstance(source, str | os.PathLike):
        kind, mark, rest = os.fsdecode(source).partition("://")
        return f"{kind}{mark}{rest.rpartition('@')[2].partition('?')[0]}" if mark else kind
    library = type(source).__module__.partition(".")[0]
    return f"{library} {type(source).__name__}".removeprefix("builtins ")


def _store_in_memory() -> Store:
    """Store of a ledger in memory, with the clock of this machine."""
    from crestline.ledger.storage.store import Store

    return Store.in_memory(lambda: datetime.now(UTC))


def _paying_budget(ledger: Ledger | None, analyst: str | None) -> Budget | None:
    """Budget that pays: the analyst's own, or the data set's; None without a ledger."""
    return None if ledger is None else ledger.payers(analyst)[-1].balance.budget
