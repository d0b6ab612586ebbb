"""Options of a question: made from the table of fields, with the same words on every command."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import wraps
from inspect import Parameter, signature
from operator import or_

import typer

from crestline.question_fields import Face, QuestionField, ValueKind, fields_of

_TYPES = {ValueKind.COUNT: int, ValueKind.FLAG: bool, ValueKind.COLUMNS: list[str]}
_NAMES = {"k": ("-k", "--k"), "ordered": ("--ordered/--set",)}
_GIVEN = "question"

Command = Callable[..., None]


def with_question_options(
    face: Face, *, required: Collection[str] = (), leaving_out: Collection[str] = ()
) -> Callable[[Command], Command]:
    """Give a command the options of a question.

    The command has a parameter `question`: a dict of what was given on the command line. What was left out, or given as
    its default, is not in it.

    Args:
        face: The command; the table says which fields it does not offer.
        required: Fields that have to be given.
        leaving_out: Fields for which the command has options of its own.
    """
    offered = [field for field in fields_of(face) if field.name not in leaving_out]

    def add_options(command: Command) -> Command:
        own = list(signature(command, eval_str=True).parameters.values())
        place = next(number for number, parameter in enumerate(own) if parameter.name == _GIVEN)
        options = [_option(field, required=field.name in required) for field in offered]

        @wraps(command)
        def run(**values: object) -> None:
            given = {field.name: values.pop(field.name) for field in offered}
            command(question={field.name: given[field.name] for field in offered if _is_given(field, given)}, **values)

        made = signature(command).replace(parameters=[*own[:place], *options, *own[place + 1 :]])
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
    option = typer.Option(... if required else default, *names, help=_help(field))
    return Parameter(field.name, Parameter.KEYWORD_ONLY, default=option, annotation=kind)


def _help(field: QuestionField) -> str:
    return f"{field.help} Repeat it for several." if field.kind is ValueKind.COLUMNS else field.help


def _default(field: QuestionField) -> object:
    """The default that a help text shows: none of a column, which a command may have to be given."""
    shown = field.name == "mechanism" or field.kind in (ValueKind.FLAG, ValueKind.COUNT)
    return field.default if shown and field.default is not ... else None


def _is_given(field: QuestionField, given: dict[str, object]) -> bool:
    value = given[field.name]
    return value not in (None, []) and value != _default(field)
