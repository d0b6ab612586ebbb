"""A service's data sets, with the methods of local ones: `price`, `top`, `sql`, `remaining`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, Unpack, cast
from urllib.parse import quote

from crestline.answer.answer import Answer
from crestline.client.http import Service
from crestline.errors import BudgetExhausted, ParameterError, QuestionError, SourceError
from crestline.exact_numbers import decimal_text
from crestline.histogram.label_order import Label
from crestline.ledger.amount import Amount
from crestline.ledger.budget import Budget
from crestline.ledger.budget_fractions import Remaining
from crestline.periods.calendar import label_days
from crestline.price.encoding import decode_price
from crestline.price.price import Price
from crestline.question import Question, QuestionFields, with_question_fields
from crestline.question_fields import FIELDS, Face
from crestline.reports.report import Edition, Report, ReportRun
from crestline.sql_questions.result import SqlResult
from crestline.sql_questions.statement import Parameter, SqlOptions


@dataclass(frozen=True)
class RemoteConnection:
    """A service and the token of one analyst.

    Attributes:
        service: The service.
    """

    service: Service

    def datasets(self) -> dict[str, RemoteDataset]:
        """The data sets that the analyst may ask, by name.

        Raises:
            CrestlineError: The token is not valid, or the service did not answer.
        """
        found = self.service.call("GET", "/v1/datasets")["datasets"]
        return {one["name"]: RemoteDataset(self.service, one["name"], one) for one in found}

    def dataset(self, name: str) -> RemoteDataset:
        """Open a data set; its user column and its budget are those of its owner.

        Raises:
            QuestionError: There is no such data set, or it is not for this token.
            CrestlineError: The service did not answer.
        """
        known = self.datasets()
        if name not in known:
            raise QuestionError(f"there is no data set {name!r} for this token; there are: {', '.join(sorted(known))}")
        return known[name]

    def answer(self, receipt: int) -> Answer:
        """An answer that the analyst was given before, at no cost; `receipt` is the number in its bill.

        Raises:
            CrestlineError: There is no such answer, or the service did not answer.
        """
        return _decode_answer(self.service.call("GET", f"/v1/answers/{int(receipt)}"), self.service.url)


@dataclass(frozen=True)
class RemoteDataset:
    """A data set of a service.

    Attributes:
        service: The service.
        name: Name of the data set.
        description_fields: What its owner states of it: title, columns, bounds.
    """

    service: Service
    name: str
    description_fields: Mapping[str, Any]

    @property
    def user(self) -> str:
        """Column of the user."""
        return str(self.description_fields["user"])

    @property
    def title(self) -> str:
        """What the data set is called in titles."""
        return str(self.description_fields["title"] or self.name)

    @property
    def description(self) -> str | None:
        """What its rows are."""
        return cast("str | None", self.description_fields["description"])

    @property
    def contribution(self) -> int | None:
        """Most items of one user that are counted, for questions that do not state it."""
        return cast("int | None", self.description_fields["contribution"])

    @property
    def version(self) -> str | None:
        """Public label of the data."""
        return cast("str | None", self.description_fields["version"])

    @with_question_fields
    def top(self, **question: Unpack[QuestionFields]) -> Answer:
        """Release the most popular items, charged to the analyst's budget.

        A request that is not answered is sent again, and charged once.

        Args:
            **question: Arguments of `top_k` that state a question.

        Returns:
            The answer, with its guarantee and its bill.

        Raises:
            CrestlineError: As `Dataset.top`.
        """
        body = self.service.call("POST", self._path("top"), self._question_body(question))
        return _decode_answer(body, self.service.url)

    @with_question_fields
    def price(self, **question: Unpack[QuestionFields]) -> Price:
        """Price of `top` with the same arguments, at most and at least; nothing is charged and no row is read.

        Args:
            **question: Arguments of `top_k` that state a question.

        Raises:
            CrestlineError: As `Dataset.price`.
        """
        return decode_price(self.service.call("POST", self._path("price"), self._question_body(question)))

    def sql(self, text: str, *, parameters: Sequence[Parameter] = (), **options: Unpack[SqlOptions]) -> SqlResult:
        """Answer a SQL query as a question, charged to the analyst's budget; with EXPLAIN, its price.

        Args:
            text: The query, on the table with the name of this data set; `$1` or `?` are parameters.
            parameters: Values of the parameters.
            **options: Arguments of `top` that the text does not state, such as epsilon, delta and clip.

        Returns:
            Columns and rows as the text names them, and the answer.

        Raises:
            SqlError: The text is no question; the message says what to write instead. Nothing is charged.
            CrestlineError: As `top`.
        """
        written = [one.isoformat() if isinstance(one, date) else one for one in parameters]
        body: dict[str, object] = {"dataset": self.name, "sql": text, "parameters": written}
        body |= {name: _json_value(name, value) for name, value in options.items()}
        found = self.service.call("POST", "/v1/sql", body)
        answer = None if found["answer"] is None else _decode_answer(found["answer"], self.service.url)
        rows = tuple(tuple(row) for row in found["rows"])
        return SqlResult(tuple(found["columns"]), rows, answer, tuple(found["notes"]))

    @property
    def budget(self) -> Budget:
        """Budget of the analyst, or, for an owner, of the data set."""
        return Budget.from_json(self._account["exact"]["budget"])

    @property
    def remaining(self) -> Remaining:
        """Remaining budget: as a part of the whole, and as an ε."""
        exact = self._account["exact"]
        left = Amount.from_entry(exact["remaining"])
        return Remaining.from_balance(Budget.from_json(exact["budget"]), left, None)

    @property
    def _account(self) -> Mapping[str, Any]:
        """The account that pays for questions: an analyst sees their own, an owner that of the data set as well."""
        accounts = self.service.call("GET", "/v1/budget")["budgets"]
        own = [one for one in accounts if one["dataset"] == self.name and one.get("period") is None]
        if not own:
            raise QuestionError(f"there is no budget of {self.name!r} for this token")
        return cast("Mapping[str, Any]", min(own, key=lambda one: one["analyst"] is not None))

    def _path(self, action: str) -> str:
        return f"/v1/datasets/{quote(self.name, safe='')}/{action}"

    def _question_body(self, given: QuestionFields) -> dict[str, Any]:
        """The fields of a question as JSON values; what is not usable anywhere is refused before it is sent."""
        Question.from_fields({"user": self.user, **given})
        if given.get("user", self.user) != self.user:
            raise QuestionError(f"the user column of {self.name!r} is {self.user!r}: leave user out")
        offered = {name: value for name, value in given.items() if Face.HTTP not in FIELDS[name].not_in}
        return {name: _json_value(name, value) for name, value in offered.items()}


def run_remote_report(report: Report, data: RemoteDataset, question: QuestionFields) -> ReportRun:
    """Ask each period that has ended, by the clock of this machine; what was asked before is stored, and free.

    Raises:
        QuestionError: The budget is not by period, or its periods do not make up those of the report.
        CrestlineError: As `RemoteDataset.top`, but for a budget that is exhausted and data that did not answer: these
            make a missed edition.
    """
    calendar = data.budget.calendar
    if calendar is None:
        raise QuestionError("a report needs a budget by period, such as per='week', time='day': its periods pay")
    if report.ahead:
        raise QuestionError("the owner of a service reserves ahead, in its configuration: leave ahead out")
    report.check(calendar)
    editions, asked = list[Edition](), 0
    for label in report.due_periods(calendar, datetime.now(UTC)):
        periods = calendar.covering_periods(*label_days(label)).labels
        asking = cast("QuestionFields", {**question, "since": periods[0], "until": periods[-1]})
        try:
            answer = data.top(**asking)
        except (BudgetExhausted, SourceError) as error:
            editions.append(Edition(label, "missed", reason=str(error)))
            continue
        editions.append(Edition(label, "stopped" if answer.stopped else "published", answer))
        asked += not answer.stored
    return ReportRun(report, tuple(editions), asked)


def _json_value(name: str, value: object) -> object:
    """The value of a field as the service reads it: exact numbers as text."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Fraction):
        exact = decimal_text(value, 40)
        return exact if Fraction(exact) == value else f"{value.numerator}/{value.denominator}"
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, list | tuple | set | frozenset):
        return list(cast("Sequence[Label]", value))
    raise ParameterError(f"{name} is sent as a name or as numbers and texts, not as {type(value).__name__}")


def _decode_answer(body: Mapping[str, Any], url: str) -> Answer:
    """The answer of a response; its bill names the service in place of the address of the ledger."""
    bill = body.get("bill")
    return Answer.from_dict({**body, "bill": None if bill is None else {**bill, "ledger": url}})
