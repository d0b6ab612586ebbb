"""`crestline explain`: the promise of an answer, and its limits."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import asdict
from enum import StrEnum
from importlib import metadata
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crestline.cli.output import make_console, print_json

if TYPE_CHECKING:
    from rich.console import Console

    from crestline.answer.answer import Answer

# Numbers of theorems and accountants in a guarantee, such as P5.1 or B6.
_NUMBER = re.compile(r"\b[PB]\d+(?:\.\d+)?\b")
_THEOREMS = "reference/theorems"


class TextFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


def explain(
    answer: Annotated[
        str, typer.Argument(help="An answer as `crestline top --format json` writes it; - reads a pipe.")
    ],
    form: Annotated[
        TextFormat, typer.Option("--format", help="Text for people, also in a pipe; or JSON.")
    ] = TextFormat.TEXT,
) -> None:
    """Explain the promise of an answer in words and in formulas, and what the promise does not include.

    Example: crestline top … --format json > answer.json && crestline explain answer.json
    """
    from crestline.answer.answer import Answer

    read = Answer.from_dict(_read_answer(answer))
    if form is TextFormat.JSON:
        print_json(explanation_to_dict(read))
    else:
        _print(read, make_console())


def explanation_to_dict(answer: Answer) -> dict[str, Any]:
    """JSON values of the explanation."""
    from crestline.answer.belief_bounds import belief_bounds, best_guess_rate
    from crestline.answer.promise_text import exclusions, promise_in_formulas, promise_in_words

    return {
        "guarantee": str(answer.guarantee),
        "summary": answer.explain().splitlines(),
        "words": list(promise_in_words(answer)),
        "formulas": list(promise_in_formulas(answer)),
        "theorems": theorem_links(answer),
        "odds": [asdict(line) for line in belief_bounds(answer.guarantee)],
        "best_guess": best_guess_rate(answer.guarantee),
        "not_promised": list(exclusions(answer)),
    }


def theorem_links(answer: Answer) -> dict[str, str]:
    """Address of the entry of each theorem of the guarantee: claim, proof, code and test."""
    base = _documentation_address()
    numbers = dict.fromkeys(_NUMBER.findall(answer.guarantee.theorem))
    return {number: f"{base}/{_THEOREMS}/#{number.lower()}" for number in numbers}


def _documentation_address() -> str:
    """Address of the documentation, as the installed package states it."""
    pages = metadata.metadata("crestline").get_all("Project-URL") or []
    found = [address for label, _, address in (page.partition(", ") for page in pages) if label == "Documentation"]
    return found[0].rstrip("/") if found else "docs"


def _print(answer: Answer, out: Console) -> None:
    from rich.table import Table

    from crestline.answer.belief_bounds import belief_bounds
    from crestline.answer.promise_text import (
        exclusions,
        percent_rounded_down,
        percent_rounded_up,
        promise_in_formulas,
        promise_in_words,
    )

    table = Table()
    for heading in ("belief before that a user is in", "after, at least", "after, at most"):
        table.add_column(heading, justify="right")
    for line in belief_bounds(answer.guarantee):
        table.add_row(percent_rounded_up(line.before), percent_rounded_down(line.low), percent_rounded_up(line.high))
    _print_section(out, "In words", promise_in_words(answer))
    _print_section(out, "The odds an attacker can gain")
    out.print(table)
    _print_section(out, "In formulas", promise_in_formulas(answer))
    proven = theorem_links(answer)
    if proven:
        _print_section(out, "Where it is proven")
    for number, address in proven.items():
        out.print(f"- {number}: {address}", markup=False, soft_wrap=True)  # unwrapped, so that terminals link it
    _print_section(out, "Not promised", exclusions(answer))


def _print_section(out: Console, title: str, lines: tuple[str, ...] = ()) -> None:
    out.print(f"\n[bold]{title}[/bold]")
    for line in lines:
        out.print(fill(line, min(out.width, 100), initial_indent="- ", subsequent_indent="  "), markup=False)


def _read_answer(path: str) -> dict[str, Any]:
    from crestline.errors import ParameterError

    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
        value = json.loads(text)
    except (OSError, UnicodeDecodeError):
        raise ParameterError(f"{path} cannot be read: is it there, and is it text?") from None
    except json.JSONDecodeError:
        raise ParameterError(f"{path} is not JSON: write the answer with `crestline top … --format json`") from None
    if not isinstance(value, dict):
        raise ParameterError(f"{path} holds no answer: write one with `crestline top … --format json`")
    return value
