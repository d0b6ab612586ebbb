"""Options that commands share: those of a question, made from the table of fields, and those of a store."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from crestline.question_fields import FIELDS, Face, QuestionField, ValueKind, fields_of

if TYPE_CHECKING:
    from crestline.ledger.ledger import Ledger
    from crestline.sources.files.s3 import S3

TableOption = Annotated[str | None, typer.Option(help="The table, with a database.")]
DatasetOption = Annotated[str | None, typer.Option(help="The data set in the ledger, where there are several.")]
LedgerOption = Annotated[str | None, typer.Option(help="Charge the answer to this ledger (a file or database URL).")]
AnalystOption = Annotated[str | None, typer.Option(help="The analyst in the ledger who pays.")]
WitnessOption = Annotated[
    str | None, typer.Option(help="Where the ledger's checksum is kept (default: $CRESTLINE_WITNESS).")
]
PlotOption = Annotated[str | None, typer.Option(help="Also draw it; the name ends in .svg, .png or .pdf.")]

_STORE = {
    "s3_endpoint": (str | None, None, "A store that speaks S3 and is not Amazon's: https://host:9000."),
    "s3_region": (str | None, None, "The region of the store."),
    "s3_credentials": (
        Path | None,
        None,
        "A file like ~/.aws/credentials with key and secret for s3://; those of the environment unless given.",
    ),
    "s3_anonymous": (bool, False, "Read a public bucket, without credentials."),
}
_TYPES = {ValueKind.COUNT: int, ValueKind.FLAG: bool, ValueKind.COLUMNS: list[str]}
_NAMES = {"k": ("-k", "--k"), "ordered": ("--ordered/--set",)}
_GIVEN = "question"

Command = Callable[..., None]


def with_question_options(
    face: Face, *, required: Collection[str] = (), leaving_out: Collection[str] = (), only: Collection[str] = FIELDS
) -> Callable[[Command], Command]:
    """Give a command the options of a question.

    The command has a parameter `question`: a dict of what was given on the command line. What was left out, or given as
    its default, is not in it.

    Args:
        face: The command; the table says which fields it does not offer.
        required: Fields that have to be given.
        leaving_out: Fields for which the command has options of its own.
        only: Fields that the command does not read from elsewhere.
    """
    offered = [field for field in fields_of(face) if field.name in only and field.name not in leaving_out]
    options = [_option(field, required=field.name in required) for field in offered]

    def question(given: dict[str, object]) -> dict[str, object]:
        return {field.name: given[field.name] for field in offered if _is_given(field, given)}

    return _with_options(_GIVEN, options, question)


def with_store_options(command: Command) -> Command:
    """Give a command the options of a store of files.

    The command has a parameter `in_store`: a function from an address to a source in that store, or to the address.
    """
    options = [
        Parameter(
            name,
            Parameter.KEYWORD_ONLY,
            default=typer.Option(default, f"--{name.replace('_', '-')}", help=text),
            annotation=kind,
        )
        for name, (kind, default, text) in _STORE.items()
    ]

    def in_store(given: dict[str, Any]) -> Callable[[str | list[str]], str | list[str] | S3]:
        from crestline.sources.files.s3 import as_s3_source

        return partial(as_s3_source, **{name.removeprefix("s3_"): value for name, value in given.items()})

    return _with_options("in_store", options, in_store)(command)


def open_paying_ledger(
    address: str | None, dataset: str | None, witness: str | None
) -> AbstractContextManager[Ledger | None]:
    """The ledger that pays, closed at the end; None where no address is given."""
    from crestline.ledger.ledger import Ledger

    return nullcontext() if address is None else Ledger.open(address, dataset=dataset, witness=witness)


def _with_options(
    name: str, options: Sequence[Parameter], make: Callable[[dict[str, Any]], object]
) -> Callable[[Command], Command]:
    """Replace a parameter of a command by options, from whose values its argument is made."""

    def add_options(command: Command) -> Command:
        own = list(signature(command, eval_str=True).parameters.values())
        place = next(number for number, parameter in enumerate(own) if parameter.name == name)

        @wraps(command)
        def run(**values: object) -> None:
            given = {option.name: values.pop(option.name) for option in options}
            command(**{name: make(given)}, **values)

        made = Signature([*own[:place], *options, *own[place + 1 :]])
        run.__signature__ = made  # type: ignore[attr-defined] # read by Typer
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in made.parameters.values()}
        return run

    return add_options


def _option(field: QuestionField, *, required: bool) -> Parameter:
    """A field as an option. Numbers are checked by `Question`, with the same words in every face."""
    kind: object = _TYPES.get(field.kind, str)
    names = _NAMES.get(field.name, (f"--{field.name.replace('_', '-')}",))
    default = _default(field)
    if not required and default is None:
        kind = or_(kind, None)
    parser = None if field.all_means is None else _read_count_or_all
    option = typer.Option(... if required else default, *names, help=_help(field), parser=parser)
    return Parameter(field.name, Parameter.KEYWORD_ONLY, default=option, annotation=kind)


def _read_count_or_all(text: str) -> int:
    """A number of items; the word "all" is the limit that the field states."""
    return cast(int, FIELDS["k"].parse(text))


def _help(field: QuestionField) -> str:
    return f"{field.help} Repeat it for several." if field.kind is ValueKind.COLUMNS else field.help


def _default(field: QuestionField) -> object:
    """The default that a help text shows: none of a column, which a command may have to be given."""
    shown = field.name == "mechanism" or field.kind in (ValueKind.FLAG, ValueKind.COUNT)
    return field.default if shown and field.default is not ... else None


def _is_given(field: QuestionField, given: dict[str, object]) -> bool:
    value = given[field.name]
    return value not in (None, []) and value != _default(field)
