"""Question: the fields that a user of crestline states, before anything is chosen or computed.

Every interface (Python, the command line, HTTP, the dashboard, files of questions) makes a `Question`; `prepare`
chooses the mechanism that answers it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from inspect import Parameter
from typing import TYPE_CHECKING, Any, Literal, Required, Self, TypedDict

from crestline.errors import ParameterError, QuestionError
from crestline.exact_numbers import (
    MOST_NAMED,
    Exact,
    whole_number,
    with_typed_dict_signature,
)
from crestline.histogram.view_kinds import KINDS, SLOTS, Kind
from crestline.label_text import HasShortRepr
from crestline.periods.calendar import Periods
from crestline.periods.requested import RequestedPeriods
from crestline.question_fields import AUTO as AUTO
from crestline.question_fields import FIELDS
from crestline.score import Sum
from crestline.words import NO_WORDS, Words, one_line, quote_name

if TYPE_CHECKING:
    from crestline.mechanisms.mechanism import Mechanism, PairMechanism

_PERIODS = ("period", "since", "until", "last", "open")  # one `RequestedPeriods`
_TOGETHER = ("score", "clip", *_PERIODS)  # one `Sum`, one `RequestedPeriods`
_NOT_WRITTEN = ("domain", *_PERIODS)
NO_SNAPSHOT = (
    "on this engine or table, or within a transaction of your own, several statements cannot read one state of the "
    "table, which all observed items and pairs need: take mechanism='auto' or another mechanism than Observed and "
    "Sieve, or ask outside of your transaction"
)
_AS_MANY = f"As many as can be named, at most {MOST_NAMED:,}, of the "  # where k is "all"
PUBLIC_GROUPS = "a public list"  # replaces the list of groups in a stored answer


@dataclass(frozen=True)
class Limits:
    """What a source or a service allows.

    Attributes:
        slots: Most items that a mechanism may see, unless the question states a number.
        public_list: Whether the source is itself a public list with counts, for mechanisms that need one.
        views: Kinds of view that the source provides; a histogram is already one of them.
        several: Whether several periods are read, so that what one user changes is bounded in each of them (P16.2).
        snapshots: Whether several statements can read one state of the table.
        users: Approximate number of users, where that is public; it changes no answer.
    """

    slots: int | None = None
    public_list: bool = False
    views: tuple[Kind, ...] = KINDS
    several: bool = False
    snapshots: bool = True
    users: int | None = None

    def __post_init__(self) -> None:
        if self.users is not None:
            whole_number(self.users, "users")

    def views_of(self, question: Question) -> tuple[Kind, ...]:
        """Kinds of view that a question may read.

        Without snapshots all observed items and pairs are there for groups alone, of one period.
        """
        return self.views if self.snapshots or (question.by and not self.several) else (SLOTS.kind,)


NO_LIMITS = Limits()


class QuestionFields(TypedDict, total=False):
    """Keyword arguments of a question, in `top_k`, `Dataset.top` and `Dataset.price`."""

    k: Required[int | Literal["all"]]
    user: str
    item: str | Sequence[str]
    where: str | None
    epsilon: Exact | None
    delta: Exact | None
    mechanism: Mechanism | PairMechanism | str
    k_bar: int | None
    contribution: int | None
    counts: bool
    coverage: bool
    score: str | None
    clip: int | None
    domain: object
    ordered: bool
    passes: int | None
    period: str | None
    since: str | None
    until: str | None
    last: int | None
    open: bool
    by: str | Sequence[str] | None
    groups_per_user: int
    groups: object
    floor: int


with_question_fields = with_typed_dict_signature(
    QuestionFields, {name: Parameter.empty if row.default is ... else row.default for name, row in FIELDS.items()}
)


@dataclass(frozen=True, kw_only=True, repr=False)
class Question(HasShortRepr):
    """One question on one table; it names columns and reads nothing.

    Attributes:
        k: Number of items wanted; `"all"` in the fields of a question means at most 1,000 (`MOST_NAMED`).
        item: One or several columns; the label of several is a tuple.
        user: Column that holds the user, the privacy unit.
        where: Boolean expression over columns, parsed and checked by the source.
        counts: Also release a noisy count for each item.
        score: Sum that items are ranked by; None ranks by the number of users.
        domain: Public list of all items: labels, or what the source accepts for them.
        contribution: Most items of one user that are counted (None: no bound).
        epsilon, delta: Total of this answer (None: the usual share of the budget).
        mechanism: "auto", a name of the catalogue, or a mechanism.
        k_bar: Number of items that the mechanism may see (None: chosen with the mechanism).
        ordered: Whether the answer is a list, the most popular item first; False also allows a set.
        passes: 1 allows one pass over the table, which returns `k_bar + 1` rows (None: as many as the mechanism needs).
        period: Periods that are read, where the budget is by period: as requested, then resolved by the clock. Bounds
            on a user hold for a user and a period.
        by: Columns that make groups, each of which gets a top k (empty: the whole table).
        groups_per_user: Most groups of one user that are counted.
        groups: Public list of all groups (None: a group is named only if an item in it is).
        floor: Public number of users below which an item is not read.
        coverage: Also release how many users have one of the named items, and how many have any item.
    """

    k: int
    item: tuple[str, ...] = ("item",)
    user: str = "user"
    where: str | None = None
    counts: bool = False
    score: Sum | None = None
    domain: object = field(default=None, compare=False)
    contribution: int | None = None
    epsilon: Fraction | None = None
    delta: Fraction | None = None
    mechanism: Mechanism | PairMechanism | str = field(default=AUTO, hash=False)
    k_bar: int | None = None
    ordered: bool = True
    passes: int | None = None
    period: RequestedPeriods | Periods | None = None
    by: tuple[str, ...] = ()
    groups_per_user: int = 1
    groups: object = field(default=None, compare=False)
    floor: int = 1
    coverage: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.passes, int) and self.passes > 1:
            raise ParameterError("passes must be 1, for one pass over the table, or left out")
        for attribute in fields(self):
            FIELDS[attribute.name].check(getattr(self, attribute.name))
        if self.k_bar is not None and self.k > self.k_bar:
            raise ParameterError(f"k_bar must be at least k: k is {self.k}, k_bar is {self.k_bar}")
        if not self.user or not isinstance(self.user, str):
            raise QuestionError("user must name the column that holds the user")
        if not self.item:
            raise QuestionError("item must name one or several columns")
        self._check_groups()

    def _check_groups(self) -> None:
        """Check the fields that concern groups."""
        twice = sorted({name for name in self.by if (*self.by, *self.item, self.user).count(name) > 1})
        if twice:
            raise QuestionError(
                f"{', '.join(twice)}: a column that groups are made by is named once, and is not the item"
            )
        if self.by and self.coverage:
            raise QuestionError(
                "coverage is for one list of items: leave by out, or ask about one group with where=… and coverage"
            )
        alone = [
            row.name for row in FIELDS.values() if row.goes_with == "by" and getattr(self, row.name) != row.default
        ]
        if alone and not self.by:
            raise QuestionError("groups_per_user, groups and floor go with by: the columns that make the groups")

    @classmethod
    def from_fields(cls, given: QuestionFields) -> Self:
        """Question from its keyword arguments: column names as text, ε and δ as any exact number.

        Raises:
            TypeError: An argument is unknown, or k is missing.
            ParameterError: A number is out of range.
            QuestionError: Fields do not go together.
        """
        unknown = sorted(given.keys() - FIELDS.keys())
        if unknown:
            raise TypeError(f"{', '.join(unknown)}: no such argument; known: {', '.join(sorted(FIELDS))}")
        if "k" not in given:
            raise TypeError("k is missing: how many items are wanted")
        plain: dict[str, Any] = {
            name: FIELDS[name].convert(value) for name, value in given.items() if name not in _TOGETHER
        }
        return cls(
            **plain,
            score=Sum.parse(given.get("score"), given.get("clip")),
            period=RequestedPeriods.from_fields(given),
        )

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Question from the result of `to_json`, of this version or an earlier one."""
        plain: dict[str, Any] = {
            name: row.from_json(values) for name, row in FIELDS.items() if name not in (*_TOGETHER, "domain")
        }
        return cls(
            **plain,
            score=Sum.parse(values.get("score"), values.get("clip")),
            period=_period_from_json(values.get("period")),
        )

    def to_json(self) -> dict[str, Any]:
        """The question as JSON values; a mechanism object and a public list are left out."""
        return {**self.to_record(), **self._to_values(identifies=False)}

    def to_record(self) -> dict[str, Any]:
        """Fields that determine what is read of the table, as JSON values; they identify the question in the ledger."""
        periods = {} if self.period is None else {"period": self.period.to_json()}
        return {**self._to_values(identifies=True), **periods}

    def _to_values(self, *, identifies: bool) -> dict[str, Any]:
        """JSON values of the fields that identify a question, or of the others; most only where they are given.

        A default that is left out lets the questions of earlier versions, which had no such field, keep their identity.
        """
        written: dict[str, Any] = {}
        for name, row in FIELDS.items():
            if row.identifies is not identifies or name in _NOT_WRITTEN:
                continue
            value = getattr(self, name)
            together = row.goes_with is not None and bool(getattr(self, row.goes_with))
            if row.always_written or together or not row.is_default(value):
                written |= row.to_json(str(value) if isinstance(value, Sum) else value)
        return written

    def to_fields(self) -> dict[str, Any]:
        """The keyword arguments that ask this question again, as JSON values; what is as usual is left out.

        Public lists and mechanism objects are left out, too.
        """
        given = {name: getattr(self, name) for name in FIELDS if name not in _NOT_WRITTEN and name != "groups"}
        found = {name: _as_argument(value) for name, value in given.items() if not FIELDS[name].is_default(value)}
        periods = {} if self.period is None else self.period.to_fields()
        return {name: value for name, value in found.items() if value is not None} | periods

    def words(self, words: Words | None = None) -> str:
        """The question as one sentence without a full stop: "The 10 products bought by the most customers".

        Args:
            words: The owner's words; without them, users are users and columns have their names.

        Returns:
            A sentence that depends on the question alone, for titles, lists and files.
        """
        return _in_words(self, words or NO_WORDS)

    def __str__(self) -> str:
        return self.words()

    @property
    def slots(self) -> int:
        """Number of items that the mechanism sees; requires a prepared question."""
        assert self.k_bar is not None, "a question is prepared before it is put to a source"
        return self.k_bar

    @property
    def periods(self) -> Periods | None:
        """Periods that are read; None where the budget is not by period. Requires a prepared question."""
        assert not isinstance(self.period, RequestedPeriods), "a question is prepared before it is put to a source"
        return self.period

    @property
    def clip(self) -> int | None:
        """Most that one user may add to one item's score; None where users are counted."""
        return None if self.score is None else self.score.clip

    @property
    def unit(self) -> str:
        """Unit of margins and noise: users, or the summed column."""
        return "users" if self.score is None else f"of {self.score}"


def _in_words(question: Question, words: Words) -> str:
    """What is ranked: k, items, users or sum, then periods, groups, filter and bounds."""
    number = "The " if question.k == 1 else f"The {question.k:,} " if question.k != MOST_NAMED else _AS_MANY
    parts = [f"{number}{words.value_of(question.item, number=question.k)} {_ranked_by(question, words)}"]
    if question.period is not None:
        parts[0] += f" {question.period.in_words()}"
    if question.by:
        parts.append(f"for every {words.value_of(question.by)}")
    if question.where:
        parts.append(f"where {one_line(question.where)}")
    if question.contribution is not None:
        many, each = question.contribution, f"each {words.user}{' and group' if question.by else ''}"
        parts.append(f"counting at most {many:,} {words.value_of(question.item, number=many)} of {each}")
    if question.groups_per_user > 1:
        many = question.groups_per_user
        groups = words.value_of(question.by, number=many) if question.by else "groups"
        parts.append(f"with each {words.user} in at most {many:,} {groups}")
    if question.floor > 1:
        parts.append(
            f"without {words.value_of(question.item, number=2)} of fewer than {question.floor:,} {words.users}"
        )
    return ", ".join(parts)


def _ranked_by(question: Question, words: Words) -> str:
    """Words for the score: users, or a sum with its clip."""
    if question.score is None:
        return f"{words.verb or 'with'} the most {words.users}"
    column = question.score.column
    summed = words.nouns[column][0] if column in words.nouns else quote_name(column)
    return f"with the largest sum of {summed} (at most {question.score.clip:,} from each {words.user})"


def _as_argument(value: object) -> object:
    """A value as an argument of `top`: an exact number as text, one column by its name; None for an object."""
    if isinstance(value, Fraction):
        decimal = f"{float(value):g}"
        return decimal if Fraction(decimal) == value else str(value)
    if isinstance(value, tuple):
        return value[0] if len(value) == 1 else list(value)
    return str(value) if isinstance(value, Sum) else value if isinstance(value, str | int) else None


def _period_from_json(values: Mapping[str, Any] | None) -> RequestedPeriods | Periods | None:
    """Periods from JSON values, as requested or resolved."""
    if values is None:
        return None
    return Periods.from_json(values) if "per" in values else RequestedPeriods(**values)


def as_columns(item: str | Sequence[str]) -> tuple[str, ...]:
    """One column name, or several, as a tuple."""
    return (item,) if isinstance(item, str) else tuple(item)
