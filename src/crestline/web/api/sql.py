"""`POST /v1/sql`: a SQL query as a question. What is read of the text is asked like any other question."""

from __future__ import annotations

from datetime import date
from math import isfinite
from typing import Any

from crestline.answer.answer import Answer
from crestline.question import Question
from crestline.sql_questions.reader import SqlTable
from crestline.sql_questions.result import SqlResult, answer_result, known_result, price_result
from crestline.sql_questions.statement import Kind, Statement, join_options, read_statement
from crestline.web.api.schemas import SqlRequest
from crestline.web.service_state import ServedDataset


def read_request(request: SqlRequest, dataset: ServedDataset, most_items: int) -> Statement:
    """The statement of a request; it may name the columns that analysts are told of.

    Raises:
        SqlError: The text is no question that this service answers.
    """
    config = dataset.config
    columns = tuple(dict.fromkeys([*config.items, *config.other_columns]))
    table = SqlTable(config.user, config.name, columns)
    return read_statement(
        request.sql,
        table,
        parameters=request.parameters,
        calendar=dataset.ledger.budget.calendar,
        most_items=most_items,
    )


def question_of(statement: Statement, request: SqlRequest) -> Question:
    """The question of a statement."""
    given = request.model_dump(exclude={"dataset", "sql", "parameters"}, exclude_unset=True)
    return Question.from_fields(join_options(statement.fields, given))


def result_json(statement: Statement, body: dict[str, Any] | None = None, price: str = "") -> dict[str, Any]:
    """The result of a statement as JSON values, from the body of its answer, or its price."""
    if statement.kind is Kind.PRICE:
        result = price_result(statement, price)
    elif body is None:
        result = known_result(statement)
    else:
        result = answer_result(statement, Answer.from_dict({**body, "bill": None}))
    return {
        "columns": list(result.columns),
        "rows": _rows_json(result),
        "notes": list(result.notes),
        "answer": body,
    }


def _rows_json(result: SqlResult) -> list[list[Any]]:
    """Values that JSON has stay as they are; others are text."""
    return [[_json_value(value) for value in row] for row in result.rows]


def _json_value(value: object) -> object:
    if isinstance(value, date):
        return value.isoformat()
    has_json = value is None or isinstance(value, str | int) or (isinstance(value, float) and isfinite(value))
    return value if has_json else str(value)
