"""What is served, to whom, under which budgets: what `crestline.toml` says (docs/reference/service.md lists it all)."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    ParamSpec,
    Self,
    TypeAlias,
    TypeVar,
    cast,
    get_args,
    get_origin,
)

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails

from crestline.errors import CrestlineError, ParameterError
from crestline.ledger.budget import Budget, Window
from crestline.periods.calendar import KINDS
from crestline.plan.count_models import read_shape
from crestline.question import Question, QuestionFields
from crestline.reports.report import Report
from crestline.sources.files.s3 import S3, as_s3_source
from crestline.sources.lakes.open_lake import DELTA, ICEBERG
from crestline.sources.open import needs_table
from crestline.words import LONGEST_DESCRIPTION, LONGEST_TITLE, NO_WORDS, USER, VERB, Words, check_text

ANALYST, OWNER = "analyst", "owner"
DEFAULT_SHAPE = "power:1"

Place: TypeAlias = tuple[str, ...]
Mistake: TypeAlias = tuple[Place, str]  # where it is, from the section that is checked, and what is wrong
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_ADVICE = {
    "ledger": "add a text in double quotes",
    "user": "add a text in double quotes",
    "source": "add a text in double quotes",
    "items": 'list the columns that may be ranked, such as ["venue"]',
    "budget": "a budget is written { epsilon = 2, delta = 1e-7 }",
    "epsilon": "a budget is written { epsilon = 2, delta = 1e-7 }",
    "users": "write roughly how many users there are, such as users = 500000",
    "periods": "a cap is written cap = { periods = 12, epsilon = 4, delta = 1e-6 }",
    "datasets": "add a table such as [datasets.example]",
    "analysts": "add a table such as [analysts.example]",
}
_WORDS = {
    "string_type": "must be a text in double quotes",
    "string_too_short": "must not be empty; write a value, or leave the setting out",
    "string_pattern_mismatch": "must be a name of up to 64 letters, digits, - and _, which starts with neither sign",
    "tuple_type": 'must be a list of texts such as ["country", "day"]',
    "int_type": "must be a whole number of at least 1",
    "greater_than_equal": "must be a whole number of at least {ge}",
    "bool_type": "must be true or false",
    "model_type": "must be a table",
    "dict_type": "must be a table",
    "too_short": "must not be empty",
}


class _Mistakes(ValueError):
    """What is wrong with settings of one section."""

    def __init__(self, *found: Mistake) -> None:
        super().__init__("; ".join(words for _, words in found))
        self.found = found


def _call(make: Callable[Arguments, Result], *given: Arguments.args, **options: Arguments.kwargs) -> Result:
    """The result of a call; what it refuses is a mistake of the file."""
    try:
        return make(*given, **options)
    except (CrestlineError, TypeError) as error:
        raise _Mistakes(((), str(error))) from None


def _context(info: ValidationInfo) -> dict[str, Any]:
    """What `load_config` knows of the file."""
    assert info.context is not None, "a configuration is read by `load_config`"
    return cast(dict[str, Any], info.context)


def _absolute_address(address: object, info: ValidationInfo) -> object:
    """An address unchanged; a path from the directory of the file, also the one of a Delta table."""
    if not isinstance(address, str) or not address or "://" in address:
        return address
    kind = DELTA if address.startswith(DELTA) else ""
    return f"{kind}{_context(info)['folder'] / os.path.expanduser(address.removeprefix(kind))}"


Name: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}\z")]
Text: TypeAlias = Annotated[str, Field(min_length=1)]
Address: TypeAlias = Annotated[Text, BeforeValidator(_absolute_address)]
Columns: TypeAlias = tuple[Text, ...]
Positive: TypeAlias = Annotated[int, Field(ge=1, strict=True)]


class Section(BaseModel):
    """A table of the file, without settings that are not known."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


class NamedSection(Section):
    """A table that stands under a name."""

    _name: str = ""

    @property
    def name(self) -> str:
        """The name under which it stands."""
        return self._name


class _CapTable(Section):
    """What any consecutive periods may cost together."""

    periods: Annotated[int, Field(ge=2, strict=True)]
    epsilon: object
    delta: object = 0


class _BudgetTable(Section):
    """A budget as it is written; `Budget` says what each option means."""

    epsilon: object
    delta: object = 0
    kind: object = "zcdp"
    slack: object = None
    items: object = None
    questions: object = None
    item_epsilon: object = None
    question_delta: object = None
    per: object = None
    time: object = None
    zone: object = None
    cap: _CapTable | None = None

    def budget(self) -> Budget:
        """The budget; its cap is of the same kind."""
        options: dict[str, Any] = {name: getattr(self, name) for name in self.model_fields_set}
        if self.cap is not None:
            cap: dict[str, Any] = {"kind": str(self.kind), **vars(self.cap)}
            options["cap"] = _call(Window, **cap)
        return _call(Budget, **options)


if TYPE_CHECKING:
    BudgetSetting: TypeAlias = Budget
else:
    BudgetSetting = Annotated[_BudgetTable, AfterValidator(_BudgetTable.budget)]


class PublicFacts(Section):
    """What everybody may know about a data set, roughly; forecasts start from it. Words as in `crestline plan`."""

    users: Positive
    items: Positive | None = None
    per_user: Positive | None = None
    shape: Text = DEFAULT_SHAPE


class S3Settings(Section):
    """How a store of objects is reached. Secrets stand in a file of their own: this one is shown to people."""

    endpoint: Text | None = None
    region: Text | None = None
    credentials: Address | None = None
    anonymous: StrictBool = False


class DatasetConfig(NamedSection):
    """One table that can be asked, and what may be asked of it. `version` None: ask the source for one.

    Attributes:
        items, filters, sums: Columns that may be ranked, compared with values, and added up.
        groups: Columns by which groups may be made: their values are published.
        domains: Public lists of items or of groups by name: what the source takes for them.
        title, description: Title of the data set, and a sentence about its rows.
        words: Words of the owner for users and columns.
        keep, keep_limit: Whether a copy of these columns is kept in memory, and how many MiB it may take.
    """

    source: Address
    s3: S3Settings = S3Settings()
    table: Text | None = None
    user: Text
    items: Annotated[Columns, Field(min_length=1)]
    filters: Columns = ()
    sums: Columns = ()
    groups: Columns = ()
    domains: dict[Name, Text] = Field(default_factory=dict)
    contribution: Positive | None = None
    version: Text | None = None
    budget: BudgetSetting
    public: PublicFacts | None = None
    keep: StrictBool = False
    keep_limit: Positive = 2048
    title: Text | None = None
    description: Text | None = None
    words: Annotated[Words, BeforeValidator(lambda given: _call(Words.from_mapping, given))] = NO_WORDS
    _address: str | S3 = ""

    @model_validator(mode="before")
    @classmethod
    def _locate_domains(cls, values: object, info: ValidationInfo) -> object:
        """Public lists beside the file; in a database they are tables. A catalogue of lakes is no database here."""
        if not isinstance(values, dict):
            return values
        source, listed = values.get("source"), values.get("domains")
        if not isinstance(source, str) or not isinstance(listed, dict):
            return values
        if needs_table(source) and not source.startswith(ICEBERG):
            return values
        return {**values, "domains": {name: _absolute_address(place, info) for name, place in listed.items()}}

    @field_validator("title", "description")
    @classmethod
    def _check_text(cls, text: str | None, info: ValidationInfo) -> str | None:
        longest = LONGEST_TITLE if info.field_name == "title" else LONGEST_DESCRIPTION
        return None if text is None else _call(check_text, text, str(info.field_name), longest)

    @model_validator(mode="after")
    def _check_whole(self) -> Self:
        found = list(self._mistakes())
        if found:
            raise _Mistakes(*found)
        return self

    def _mistakes(self) -> Iterator[Mistake]:
        columns = {*self.items, *self.filters, *self.sums, *self.groups}
        for name in self.words.nouns.keys() - columns - {USER}:
            yield ("words", name), _unknown_words(name, [USER, VERB, *sorted(columns)])
        if self.keep and self.version is None:
            yield ("keep",), "needs a version: a copy is of one state of the data, which only you can name"
        if self.public is not None:
            try:
                read_shape(self.public.shape, users=self.public.users, items=1)
            except ParameterError as error:
                yield ("public", "shape"), f"cannot be used: {error}"
        try:
            self._address = as_s3_source(self.source, **self.s3.model_dump())
        except CrestlineError as error:
            yield ("s3",), f": {error}"

    @property
    def address(self) -> str | S3:
        """Address of the source, with the settings of a store of objects."""
        return self._address

    @property
    def copy_limit(self) -> int | None:
        """How many bytes a copy in memory may take; None where none is wanted."""
        return self.keep_limit << 20 if self.keep else None

    @property
    def other_columns(self) -> tuple[str, ...]:
        """The columns besides users and items that a question may name."""
        time = () if self.budget.calendar is None else (self.budget.calendar.time,)
        return (*self.filters, *self.sums, *self.groups, *time)


class ReportConfig(NamedSection):
    """A recurring report, paid for by its data set itself; its answers are published in `folder`."""

    dataset: Text
    every: Literal[KINDS] | None = None  # type: ignore[valid-type] # a tuple of texts
    since: Text
    folder: Annotated[Path, BeforeValidator(_absolute_address)] = Field(default="reports", validate_default=True)
    question: dict[str, Any] = Field(default_factory=dict)
    ahead: Positive | None = None
    _report: Report | None = None

    @property
    def report(self) -> Report:
        """What is asked of each period."""
        assert self._report is not None, "set when the file was read"
        return self._report

    def _mistakes(self, datasets: Mapping[str, DatasetConfig]) -> Iterator[Mistake]:
        """What does not fit its data set; without any, the report is known afterwards."""
        dataset, listed = datasets.get(self.dataset), self.question.get("domain")
        if dataset is None:
            served = ", ".join(datasets) or "none"
            yield ("dataset",), f"names no data set that is served; they are: {served}"
        elif dataset.budget.calendar is None:
            wanted = "give it per and time, such as per = 'week'"
            yield ("dataset",), f"has a budget that is not by period: {wanted}"
        elif listed is not None and not (isinstance(listed, str) and listed in dataset.domains):
            known = ", ".join(dataset.domains) or "none"
            yield ("question", "domain"), f"names no list of {dataset.name}; they are: {known}"
        else:
            domain = {} if listed is None else {"domain": dataset.domains[listed]}
            asked = {"contribution": dataset.contribution, **self.question, "user": dataset.user, **domain}
            try:
                question = Question.from_fields(cast(QuestionFields, asked))
                every = self.every or dataset.budget.calendar.per
                self._report = Report(self.name, question, every, self.since, self.ahead or 0)
                self._report.check(dataset.budget.calendar)
            except (CrestlineError, TypeError) as error:
                yield ("question",), f": {error}"


class AnalystConfig(NamedSection):
    """A person who may ask: an analyst of the data sets they have a budget for, an owner of all."""

    role: Literal["analyst", "owner"] = "analyst"
    budgets: dict[Name, BudgetSetting] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check_budgets(self, info: ValidationInfo) -> Self:
        if self.role == OWNER and self.budgets:
            words = "is not for an owner, who asks at the expense of the data set itself; remove it"
            raise _Mistakes((("budgets",), words))
        if self.role == ANALYST and not self.budgets:
            words = "is missing; add a table [analysts.NAME.budgets] with a line for each data set they may ask"
            raise _Mistakes((("budgets",), words))
        served = _context(info)["datasets"]
        words = f"names a data set that is not served; the data sets are: {', '.join(served) or 'none'}"
        unknown = [name for name in self.budgets if name not in served]
        if unknown:
            raise _Mistakes(*((("budgets", name), words) for name in unknown))
        return self


class Limits(Section):
    """What one token, one question, one statement and one data set may take.

    Attributes:
        passes: 1: every question reads its table in one pass; 0: as many as it takes.
        connections: Connections of a data set that are open at once.
        free_seconds: Processor seconds a minute for the forecasts and the refused questions of one token.
        waiting: Questions that may wait: for a connection, and for their turn in this process.
    """

    requests_per_minute: Positive = 60
    free_seconds: Positive = 15
    k: Positive = 200
    k_bar: Positive = 20_000
    seconds: Positive = 60
    connections: Positive = 4
    waiting: Positive = 64
    passes: Literal[0, 1] = 0


class Config(Section):
    """Everything the service needs to know.

    Attributes:
        ledger: Address of the ledger.
        witness: Address of the checksum of the ledger, if one is kept.
        key: File of the key that signs tokens and sessions, if it is not beside the configuration.
        datasets, analysts, reports: By name.
        limits: What one request may ask for.
        mcp_hosts: Names under which agents reach the service, besides those of this machine.
    """

    ledger: Address
    witness: Address | None = None
    key: Address | None = None
    datasets: Annotated[dict[Name, DatasetConfig], Field(min_length=1)]
    analysts: Annotated[dict[Name, AnalystConfig], Field(min_length=1)]
    limits: Limits = Limits()
    reports: dict[Name, ReportConfig] = Field(default_factory=dict)
    mcp_hosts: Columns = ()
    _file: Path = Path()
    _text: str = ""

    @model_validator(mode="after")
    def _check_whole(self, info: ValidationInfo) -> Self:
        context = _context(info)
        self._file, self._text = context["file"], context["text"]
        for tables in (self.datasets, self.analysts, self.reports):
            for name, table in tables.items():
                table._name = name
        found = [
            (("reports", name, *place), words)
            for name, report in self.reports.items()
            for place, words in report._mistakes(self.datasets)
        ]
        if found:
            raise _Mistakes(*found)
        return self

    @property
    def file(self) -> Path:
        """The file where all this is written, for messages."""
        return self._file

    @property
    def key_file(self) -> Path:
        """The file of the key that signs tokens and sessions; beside the configuration, unless it says another."""
        return self.file.with_suffix(".key") if self.key is None else Path(self.key)

    def location(self, path: Place) -> str:
        """The file and the line of a setting."""
        return f"{self.file}:{line_of_setting(self._text, path)}"


def load_config(path: str | os.PathLike[str]) -> Config:
    """Read and check a file. Relative paths in it start at its own directory.

    Raises:
        ParameterError: It cannot be read, or holds mistakes; each is named with its line.
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
        values = _parse_toml(text)
    except (OSError, UnicodeDecodeError) as error:
        raise ParameterError(f"{file} cannot be read ({type(error).__name__}): give the path of a TOML file") from None
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(f"{file}: this is not TOML: {error}") from None
    named = values.get("datasets")  # also those with a mistake: one word is enough
    context = {"file": file, "folder": file.parent, "text": text, "datasets": named if isinstance(named, dict) else ()}
    try:
        return Config.model_validate(values, context=context)
    except ValidationError as refused:
        found = [mistake for error in refused.errors() for mistake in _mistakes_of(error)]
    lines = [f"{file}:{line_of_setting(text, place)}: {'.'.join(place)}{words}" for place, words in found]
    raise ParameterError("\n".join(lines))


def _mistakes_of(error: ErrorDetails) -> Iterator[Mistake]:
    """Where the mistakes of an error are, and what to write instead, with the sign between the two."""
    steps = [step for step in error["loc"] if step != "[key]"]
    place, kind, given = tuple(str(step) for step in steps if isinstance(step, str)), error["type"], error["input"]
    details = error.get("ctx", {})
    if isinstance(details.get("error"), _Mistakes):
        for inner, words in details["error"].found:
            yield (*place, *inner), words if words.startswith(":") else f" {words}" if inner else f": {words}"
    elif kind == "missing":
        yield place, f" is missing; {_ADVICE[place[-1]]}" if place[-1] in _ADVICE else " is missing"
    elif kind == "extra_forbidden":
        yield place, " " + _unknown_words(place[-1], list(_section_of(place).model_fields))
    elif kind == "literal_error":
        yield place, f" must be one of {details['expected'].replace(' or ', ', ')}, not {given!r}"
    elif len(place) < len(steps):  # one of a list
        yield place, " " + _WORDS["tuple_type"]
    else:
        yield place, " " + _WORDS.get(kind, error["msg"]).format(**details)


def _unknown_words(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, 1)
    return f"is not a setting; {f'did you mean {close[0]!r}?' if close else 'it may hold: ' + ', '.join(known)}"


def _section_of(place: Place) -> type[Section]:
    """The section in which a setting stands."""
    found: type[Section] = Config
    steps = iter(place[:-1])
    for step in steps:
        annotation = found.model_fields[step].annotation
        if get_origin(annotation) is dict:
            next(steps, None)  # the name of a table
        sections = (one for one in _types_in(annotation) if isinstance(one, type) and issubclass(one, Section))
        found = next(sections, found)
    return found


def _types_in(annotation: object) -> Iterator[object]:
    yield annotation
    for part in get_args(annotation):
        yield from _types_in(part)


def _parse_toml(text: str) -> dict[str, Any]:
    """The values of a TOML text; numbers with a point stay exact."""
    return tomllib.loads(text, parse_float=Decimal)


def line_of_setting(text: str, path: Place) -> int:
    """The line where a setting is written; for one that is missing, the line of the table it belongs to.

    The text must be valid TOML. It is read line by line: a setting stands where it first appears in what was read.
    """
    lines = text.splitlines()
    while path:
        complete = 0  # lines that are whole statements
        for end in range(1, len(lines) + 1):
            try:
                values: object = _parse_toml("\n".join(lines[:end]))
            except tomllib.TOMLDecodeError:
                continue
            for name in path:
                values = values.get(name) if isinstance(values, Mapping) else None
            if values is not None:
                return complete + 1
            complete = end
        path = path[:-1]
    return 1
