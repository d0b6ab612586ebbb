"""Schemas of requests and responses, for the OpenAPI description."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Column = Annotated[str, Field(min_length=1, max_length=200)]
Label = Annotated[str, Field(max_length=1_000)] | int | bool
Number = Annotated[str, Field(max_length=40)] | int | float


class TopRequest(BaseModel):
    """A question. What is left out comes from the data set and its budget."""

    model_config = ConfigDict(extra="forbid", strict=True)

    k: Annotated[int, Field(ge=1, le=2**31 - 1, description="How many items are wanted.")]
    item: Annotated[
        Column | Annotated[list[Column], Field(min_length=1, max_length=16)],
        Field(description="The column that holds the item, or several."),
    ]
    where: Annotated[
        str | None, Field(max_length=20_000, description="A filter, such as country = 'DE' and day >= '2026-01-01'.")
    ] = None
    epsilon: Annotated[
        Number | None, Field(description="The total ε; what takes a tenth of your budget unless given.")
    ] = None
    delta: Annotated[Number | None, Field(description="The total δ; a 500th of your budget's unless given.")] = None
    mechanism: Annotated[str, Field(max_length=60, description="auto, or a name of the catalogue.")] = "auto"
    k_bar: Annotated[int | None, Field(ge=1, le=2**31 - 1, description="How many items the mechanism may see.")] = None
    counts: Annotated[bool, Field(description="Also release a noisy count for each item.")] = False
    coverage: Annotated[
        bool, Field(description="Also release how many users have one of the named items, and how many have items.")
    ] = False
    contribution: Annotated[
        int | None, Field(ge=1, le=2**31 - 1, description="Count at most this many items of each user.")
    ] = None
    score: Annotated[
        str | None, Field(max_length=220, description="Rank by a sum, such as sum(price), instead of by users.")
    ] = None
    clip: Annotated[
        int | None, Field(ge=1, le=2**63 - 1, description="The most that one user may add to one item's sum.")
    ] = None
    domain: Annotated[
        str | None, Field(max_length=64, description="The name of a public list of all items, if the owner gave one.")
    ] = None
    ordered: Annotated[bool, Field(description="A list, the most popular first; false: a set will do.")] = True
    passes: Annotated[
        int | None, Field(ge=1, le=1, description="1: one pass over the table, of which k_bar + 1 rows come back.")
    ] = None
    period: Annotated[
        str | None, Field(max_length=10, description="The period to read, where the budget is by period: 2026-10.")
    ] = None
    since: Annotated[str | None, Field(max_length=10, description="The first of several periods.")] = None
    until: Annotated[str | None, Field(max_length=10, description="The last of them; with since.")] = None
    last: Annotated[int | None, Field(ge=1, le=1000, description="The last so many periods that have ended.")] = None
    open: Annotated[bool, Field(description="Also a period that has not ended.")] = False
    by: Annotated[
        Column | Annotated[list[Column], Field(min_length=1, max_length=16)] | None,
        Field(description="The top k of every group that this column makes, or several columns."),
    ] = None
    groups_per_user: Annotated[
        int, Field(ge=1, le=2**31 - 1, description="With by: each user counts in at most this many groups.")
    ] = 1
    groups: Annotated[
        Annotated[str, Field(max_length=64)] | Annotated[list[Label], Field(max_length=10_000)] | None,
        Field(description="With by: a public list of all groups, by its name or one by one; each is listed."),
    ] = None
    floor: Annotated[
        int, Field(ge=1, le=2**31 - 1, description="With by: what fewer users than this have is not looked at.")
    ] = 1


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


class AnswerBody(BaseModel):
    """An answer: its items in order, the promise, the bill, and why it stopped."""

    model_config = ConfigDict(extra="allow")

    id: int | None
    items: list[Any]
    ordered: bool
    counts: list[int | str] | None
    stopped: bool
    stored: bool
    guarantee: dict[str, Any]
    mechanism: dict[str, Any]
    bill: dict[str, Any] | None
    explanation: str
    groups: list[dict[str, Any]] | None = None
    coverage: dict[str, Any] | None = None
