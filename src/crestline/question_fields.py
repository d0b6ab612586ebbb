"""The fields of a question, one row each: options, request bodies, forms, files and bounds are made from this table.

A new field is a row here, an attribute of `Question` and a key of `QuestionFields`; every face then offers it, unless
the row says why not.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from types import MappingProxyType
from typing import Any, cast

from crestline.errors import ParameterError, QuestionError
from crestline.exact_numbers import (
    EXACT,
    LARGEST_CONTRIBUTION,
    LARGEST_K,
    LARGEST_K_BAR,
    MOST_NAMED,
    Exact,
    decimal_and_exact_fields,
    exact_number,
    positive_number,
    probability,
    whole_number,
)
from crestline.periods.calendar import MOST_PERIODS
from crestline.score import LARGEST_CLIP

AUTO = "auto"
ALL = "all"
"""A number of items: as many as can be named, up to a limit."""
MOST_COLUMNS = 16  # of one question to the service
LONGEST_COLUMN = 200  # characters of a column's name, for the service


class ValueKind(Enum):
    """The type of a field's value."""

    COUNT = "a whole number"
    EPSILON = "a positive number"
    DELTA = "a number between zero and one"
    FLAG = "true or false"
    TEXT = "text"
    COLUMNS = "a column, or several"
    LIST = "a public list"


class Face(Enum):
    """Where questions are written, apart from Python and files of questions, which take every field."""

    TOP = "crestline top"
    PRICE = "crestline price"
    PLAN = "crestline plan"
    HTTP = "HTTP"


@dataclass(frozen=True)
class QuestionField:
    """One field of a question.

    Attributes:
        name: What it is called in every face.
        kind: The type of its value.
        help: One sentence for help texts and reference pages.
        default: Its value where a question does not give it; `...` where a question must.
        at_most: The largest whole number (the smallest is 1).
        longest: The most characters that the service takes of a text.
        all_means: What the word "all" means; None: it is refused.
        most_labels: The most labels of a list that the service takes one by one; None: it takes a list's name alone.
        label: What a form calls it.
        goes_with: The field without which it has no meaning; with it, its default is written as well.
        identifies: Whether the ledger knows a question by it. The identity of a question has domain, groups and the
            parameters of the mechanism besides (`answer_key`).
        always_written: Whether its default is written as JSON, as earlier versions did.
        not_in: Faces that do not offer it, and why.
    """

    name: str
    kind: ValueKind
    help: str
    default: object = None
    at_most: int | None = None
    longest: int | None = None
    all_means: int | None = None
    most_labels: int | None = None
    label: str = ""
    goes_with: str | None = None
    identifies: bool = True
    always_written: bool = False
    not_in: Mapping[Face, str] = field(default_factory=dict)

    @property
    def in_form(self) -> str:
        """The label in a form: the name where the table has no other."""
        return self.label or self.name

    def check(self, value: object) -> None:
        """Refuse a value of a `Question` that this field cannot have.

        Raises:
            ParameterError: A number outside its bounds, or not a number; a flag that is not true or false.
            QuestionError: Columns that are not named.
        """
        if value is None and self.default is None:
            return
        if self.kind is ValueKind.COUNT:
            whole_number(value, self.name, at_most=self.at_most)
        elif self.kind is ValueKind.FLAG and not isinstance(value, bool):
            raise ParameterError(f"{self.name} must be true or false, not {value!r}")
        elif self.kind is ValueKind.COLUMNS and not all(isinstance(name, str) and name for name in _several(value)):
            raise QuestionError(f"{self.name} must name one or several columns")

    def convert(self, value: object) -> object:
        """Convert what a person writes to what a `Question` holds: exact numbers, and columns as a tuple.

        Raises:
            ParameterError: ε or δ is not a number in its range.
        """
        if self.kind is ValueKind.COLUMNS:
            return () if value is None else _several(value)
        if self.all_means is not None and value == ALL:
            return self.all_means
        if value is None or self.kind not in (ValueKind.EPSILON, ValueKind.DELTA):
            return value
        return (positive_number if self.kind is ValueKind.EPSILON else probability)(cast("Exact", value), self.name)

    def parse(self, text: object) -> object:
        """Read a value that may be written as text, as in a CSV file or a form.

        Raises:
            ParameterError: The text is not of the field's kind.
        """
        if text == ALL and self.all_means is not None:
            return self.all_means
        if self.kind is ValueKind.COUNT:
            number = exact_number(cast("Exact", text), self.name)
            if number.denominator != 1 or number < 1:
                raise ParameterError(f"{self.name} must be a whole number of at least 1, not {text!r}")
            return int(number)
        if self.kind is ValueKind.FLAG:
            found = _FLAGS.get(text.lower() if isinstance(text, str) else text) if isinstance(text, Hashable) else None
            if found is None:
                raise ParameterError(f"{self.name} must be true or false, not {text!r}")
            return found
        return text

    def is_default(self, value: object) -> bool:
        """Whether a value of a `Question` is the one that it has where nothing is given."""
        return self.default is not ... and value == self.convert(self.default)

    def to_json(self, value: object) -> dict[str, Any]:
        """JSON fields of a value: columns as a list, a number as a decimal and exactly; an object has none."""
        if isinstance(value, Fraction):
            return decimal_and_exact_fields(self.name, value)
        if self.kind is ValueKind.LIST:
            return {self.name: value if isinstance(value, str) else None}
        if self.kind is ValueKind.COLUMNS:
            return {self.name: list(_several(value))}
        return {
            self.name: value
            if value is None or self.kind is not ValueKind.TEXT or isinstance(value, str)
            else self.default
        }

    def from_json(self, values: Mapping[str, Any]) -> object:
        """The value from the result of `to_json`, of this version or an earlier one; the default where it is missing.

        Raises:
            KeyError: A field that has no default is missing.
        """
        if self.default is ...:
            return values[self.name]
        found = values.get(self.name + EXACT, values.get(self.name, self.default))
        if self.kind in (ValueKind.EPSILON, ValueKind.DELTA) and found is not None:
            return Fraction(found)
        if self.kind is ValueKind.COLUMNS:
            return () if found is None else _several(found)
        return bool(found) if self.kind is ValueKind.FLAG else found


_FLAGS = {True: True, False: False, "true": True, "false": False, "yes": True, "no": False, "1": True, "0": False}
_NO_ROWS = {Face.PLAN: "a plan reads no rows"}
_USERS_ONLY = {Face.PLAN: "a plan is about numbers of users"}
_ONE_GROUP = {Face.PLAN: "a plan is for one group: --users says how many are in it"}

_ROWS = (
    QuestionField(
        "k",
        ValueKind.COUNT,
        f"The number of items wanted, or all: as many as can be named, at most {MOST_NAMED:,}.",
        ...,
        LARGEST_K,
        all_means=MOST_NAMED,
        label="How many",
        always_written=True,
    ),
    QuestionField(
        "user",
        ValueKind.TEXT,
        "The column that holds the user.",
        "user",
        not_in={
            Face.PRICE: "a price does not depend on whose presence is hidden: the ledger knows the column",
            Face.HTTP: "the owner says in the configuration which column holds the user",
        },
        always_written=True,
    ),
    QuestionField(
        "item",
        ValueKind.COLUMNS,
        "The column that holds the item; several columns make a tuple.",
        "item",
        always_written=True,
    ),
    QuestionField(
        "where",
        ValueKind.TEXT,
        "A filter, such as \"country = 'DE' and day >= '2026-01-01'\".",
        longest=20_000,
        label="Filter",
        not_in=_NO_ROWS,
        always_written=True,
    ),
    QuestionField(
        "epsilon",
        ValueKind.EPSILON,
        "The total ε of this answer, such as 1 or 0.5; with a ledger: a tenth of the budget unless given.",
        longest=40,
        label="ε of this answer",
        identifies=False,
        always_written=True,
    ),
    QuestionField(
        "delta",
        ValueKind.DELTA,
        "The total δ of this answer, such as 1e-8; with a ledger: a 500th of the budget's unless given.",
        longest=40,
        label="δ of this answer",
        identifies=False,
        always_written=True,
    ),
    QuestionField(
        "mechanism",
        ValueKind.TEXT,
        "A name from `crestline mechanisms`, or auto.",
        AUTO,
        longest=60,
        label="Mechanism",
        identifies=False,
        always_written=True,
    ),
    QuestionField(
        "k_bar",
        ValueKind.COUNT,
        "The number of items that the mechanism may see.",
        None,
        LARGEST_K_BAR,
        label="k_bar",
        always_written=True,
    ),
    QuestionField(
        "contribution",
        ValueKind.COUNT,
        "Count at most this many items of each user.",
        None,
        LARGEST_CONTRIBUTION,
        label="Items counted of each user",
        always_written=True,
    ),
    QuestionField(
        "counts",
        ValueKind.FLAG,
        "Also publish a noisy count for each item.",
        False,
        label="Release noisy counts, too",
        not_in={Face.PLAN: "a plan compares selections"},
        identifies=False,
        always_written=True,
    ),
    QuestionField(
        "coverage",
        ValueKind.FLAG,
        "Also publish how many users have one of the named items.",
        False,
        label="Release how many users the items reach, too",
    ),
    QuestionField(
        "score",
        ValueKind.TEXT,
        "Rank by a sum instead of by users, such as sum(price); needs clip.",
        longest=220,
        label="Rank by",
        not_in=_USERS_ONLY,
        always_written=True,
    ),
    QuestionField(
        "clip",
        ValueKind.COUNT,
        "The most that one user may add to one item; a public number.",
        None,
        LARGEST_CLIP,
        label="Clip",
        not_in=_USERS_ONLY,
        always_written=True,
        goes_with="score",
    ),
    QuestionField(
        "domain",
        ValueKind.LIST,
        "A public list of all items: a table or a file, or the name of a list of the owner.",
        longest=64,
        label="All items are",
        not_in={Face.PLAN: "a public list has no rows to read: --public-items says that there is one"},
        identifies=False,
    ),
    QuestionField(
        "ordered",
        ValueKind.FLAG,
        "A list, the most popular first; or a set, if that names more.",
        True,
        identifies=False,
    ),
    QuestionField(
        "passes",
        ValueKind.COUNT,
        "1: one pass over the table, of which k_bar + 1 rows come back.",
        None,
        1,
        label="Read the table in one pass",
        identifies=False,
    ),
    QuestionField(
        "period",
        ValueKind.TEXT,
        "Read this period, where the budget is by period: 2026-10, 2026-W41, …",
        longest=10,
        not_in=_NO_ROWS,
    ),
    QuestionField(
        "since",
        ValueKind.TEXT,
        "Read from this period on, up to `until` or the last that has ended.",
        longest=10,
        label="From",
        not_in=_NO_ROWS,
    ),
    QuestionField(
        "until",
        ValueKind.TEXT,
        "The last period to read; with since.",
        longest=10,
        label="To",
        not_in=_NO_ROWS,
        goes_with="since",
    ),
    QuestionField(
        "last",
        ValueKind.COUNT,
        "Read the last periods that have ended, this many.",
        None,
        MOST_PERIODS,
        not_in=_NO_ROWS,
    ),
    QuestionField(
        "open",
        ValueKind.FLAG,
        "Also a period that has not ended: its rows are not all there.",
        False,
        not_in=_NO_ROWS,
    ),
    QuestionField(
        "by",
        ValueKind.COLUMNS,
        "The top k of every group that this column makes, or several columns.",
        None,
        label="For every group",
        not_in=_ONE_GROUP,
    ),
    QuestionField(
        "groups_per_user",
        ValueKind.COUNT,
        "With by: each user counts in at most this many groups, and as many releases are paid for.",
        1,
        LARGEST_CONTRIBUTION,
        label="Groups of each user",
        goes_with="by",
    ),
    QuestionField(
        "groups",
        ValueKind.LIST,
        "With by: a public list of all groups: a table or a file, or the name of a list of the owner.",
        longest=64,
        most_labels=10_000,
        label="All groups are",
        not_in=_ONE_GROUP,
        goes_with="by",
        identifies=False,
    ),
    QuestionField(
        "floor",
        ValueKind.COUNT,
        "With by: leave out what fewer users than this have; a public number.",
        1,
        LARGEST_CONTRIBUTION,
        label="Users that an item of a group needs",
        not_in=_NO_ROWS,
        goes_with="by",
    ),
)
FIELDS: Mapping[str, QuestionField] = MappingProxyType({row.name: row for row in _ROWS})


def fields_of(face: Face) -> Iterator[QuestionField]:
    """The fields that a face offers, in the order of the table."""
    return (row for row in _ROWS if face not in row.not_in)


def _several(columns: object) -> tuple[object, ...]:
    """One column name, or several, as a tuple.

    Raises:
        QuestionError: What is given is neither a name nor a sequence of names.
    """
    if isinstance(columns, str):
        return (columns,)
    if isinstance(columns, Sequence):
        return tuple(columns)
    raise QuestionError(f"columns are named by text, or by several texts, not {columns!r}")
