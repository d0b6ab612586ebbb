"""Schemas of requests and responses, for the OpenAPI description."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from crestline.question_fields import LONGEST_COLUMN, MOST_COLUMNS, Face, QuestionField, ValueKind, fields_of
from crestline.sql_questions.statement import LONGEST, SqlOptions

_Column = Annotated[str, Field(min_length=1, max_length=LONGEST_COLUMN)]
_Label = Annotated[str, Field(max_length=1_000)] | int | bool
_Number = Annotated[str, Field(max_length=40)] | int | float
_TYPES: dict[ValueKind, Any] = {
    ValueKind.COUNT: int,
    ValueKind.EPSILON: _Number,
    ValueKind.DELTA: _Number,
    ValueKind.FLAG: bool,
    ValueKind.COLUMNS: _Column | Annotated[list[_Column], Field(min_length=1, max_length=MOST_COLUMNS)],
}


def _request_field(field: QuestionField) -> tuple[Any, Any]:
    """The type and the default of a field in the body of a request."""
    kind = _TYPES.get(field.kind, Annotated[str, Field(max_length=field.longest)])
    if field.most_labels is not None:
        kind = kind | Annotated[list[_Label], Field(max_length=field.most_labels)]
    if field.kind is ValueKind.COUNT:
        kind = Annotated[int, Field(ge=1, le=field.at_most)]
        kind = kind if field.all_means is None else kind | Literal["all"]
    if field.default is None:
        kind = kind | None
    required = field.default is ... or field.name == "item"
    return kind, Field(... if required else field.default, description=field.help)


_FIELDS: dict[str, Any] = {field.name: _request_field(field) for field in fields_of(Face.HTTP)}


def _fields_model(names: Iterable[str]) -> type[BaseModel]:
    """A model with these fields of a question."""
    return create_model("_Fields", **{name: _FIELDS[name] for name in names})


class TopRequest(_fields_model(_FIELDS)):  # type: ignore[misc] # a base that is made
    """A question. What is left out comes from the data set and its budget."""

    model_config = ConfigDict(extra="forbid", strict=True)


_Parameter = Annotated[str, Field(max_length=1_000)] | int | float | bool | None


class SqlRequest(_fields_model(SqlOptions.__annotations__)):  # type: ignore[misc] # likewise
    """A query on one data set, and fields of the question that it does not state."""

    model_config = ConfigDict(extra="forbid", strict=True)

    dataset: Annotated[str, Field(min_length=1, max_length=200)]
    sql: Annotated[str, Field(min_length=1, max_length=LONGEST)]
    parameters: Annotated[list[_Parameter], Field(default_factory=list, max_length=100)]


class SqlBody(BaseModel):
    """Columns and rows as the query names them, what it says differently from what was counted, and the answer."""

    columns: list[str]
    rows: list[list[Any]]
    notes: list[str]
    answer: dict[str, Any] | None


class ErrorDetail(BaseModel):
    code: str
    message: str
    request_id: str


class Error(BaseModel):
    """The one shape of everything that is not an answer."""

    error: ErrorDetail


class Health(BaseModel):
    status: str


class DatasetBody(BaseModel):
    """What may be asked of a data set."""

    name: str
    title: str | None
    description: str | None
    user: str
    items: list[str]
    filters: list[str]
    sums: list[str]
    domains: list[str]
    groups: list[str]
    contribution: int | None
    version: str | None
    most_k: int


class Datasets(BaseModel):
    datasets: list[DatasetBody]


class CapBody(BaseModel):
    """What several consecutive periods may cost together."""

    periods: int
    kind: str
    epsilon: float
    delta: float


class BudgetBody(BaseModel):
    """What may be spent: the total ε and δ, how they are added up, and by which periods, if by any."""

    kind: str
    epsilon: float
    delta: float
    calendar: dict[str, Any] | None = None
    cap: CapBody | None = None


_AMOUNT = "In the units of the budget, as decimals."


class AccountBody(BaseModel):
    """A budget, what is charged to it and what is left."""

    dataset: str
    analyst: Annotated[str | None, Field(description="null: the budget of the data set itself.")]
    period: Annotated[str | None, Field(description="One period of a budget by period.")] = None
    periods: Annotated[int | None, Field(description="1, or how many periods the cap holds for.")] = None
    budget: BudgetBody
    settled: Annotated[dict[str, float], Field(description=f"What answers have cost. {_AMOUNT}")]
    held: Annotated[dict[str, float], Field(description=f"What is reserved, and not settled. {_AMOUNT}")]
    remaining: Annotated[dict[str, float], Field(description=f"What is left. {_AMOUNT}")]
    used: Annotated[float, Field(description="The part of the budget that is settled or held, by the scarcer unit.")]
    used_epsilon: Annotated[float, Field(description="What is charged is worth a budget of this ε.")]
    left_epsilon: Annotated[float, Field(description="What is left is worth a budget of this ε.")]
    usual_questions: Annotated[int | None, Field(description="How many usual questions what is left pays for.")]
    exact: Annotated[
        dict[str, dict[str, Any]],
        Field(description="budget, settled, held and remaining as exact fractions, as the ledger keeps them."),
    ]


class Budgets(BaseModel):
    """The budgets you may see: your own, or, for an owner, all."""

    budgets: list[AccountBody]


class PriceBody(BaseModel):
    """What a question would cost: each charge at most (`most`) and at least, as exact fractions of the budget's units.

    `share` is the most as a part of the budget, and `left` the part that is left now.
    """

    text: Annotated[str, Field(description="The price in words.")]
    fits: Annotated[bool, Field(description="Whether your accounts can pay the most.")]
    stored: Annotated[bool, Field(description="The answer is stored, and free.")]
    margin: float | None
    spread: float | None
    threshold: int | None
    unit: str
    coverage_spread: float | None
    counts: bool
    warnings: list[str]
    mechanism: dict[str, Any]
    guarantee: dict[str, Any]
    charges: list[dict[str, Any]]


class AnswerBody(BaseModel):
    """An answer: its items in order, the promise, the bill, and why it stopped."""

    model_config = ConfigDict(extra="allow")

    id: int | None
    title: Annotated[str, Field(description="The question as one sentence, in the words of the owner.")]
    items: list[Any]
    ordered: bool
    counts: list[int | str] | None
    intervals: list[list[float]] | None = None
    rank_intervals: list[list[int]] | None = None
    count_unit: str | None = None
    stopped: bool
    stored: bool
    guarantee: dict[str, Any]
    mechanism: dict[str, Any]
    bill: dict[str, Any] | None
    explanation: str
    groups: list[dict[str, Any]] | None = None
    coverage: dict[str, Any] | None = None
